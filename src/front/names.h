/* SPDX-License-Identifier: MIT
 *
 * What: what ties family.c to the file of names that its libc has besides, and what the two tell the rest.
 *
 * Why this way: out of an archive a linker takes the members that something refers to. family.c refers to this symbol,
 * so that the file that defines it, glibc_names.c or no_more_names.c, comes along.
 *
 * Invariants: exactly one file of the library defines each of these.
 *
 * Concurrency: a constant.
 */
#ifndef SJ_FRONT_NAMES_H
#define SJ_FRONT_NAMES_H

#include "base/compiler.h"

/* Our own malloc, whoever's the process's is. */
SJ_HIDDEN void *sj__names_malloc(size_t size);

/* The name of the libc's function for aligned memory that calls none of its others by their names. */
extern const char sj__names_aligned[];

/* The names of what fortified programs call for vsprintf and vsnprintf, "" with a libc that has none. */
extern const char sj__names_vsprintf_chk[];
extern const char sj__names_vsnprintf_chk[];

#endif
