/* SPDX-License-Identifier: MIT
 *
 * What: what ties family.c to the file of names that its libc has besides.
 *
 * Why this way: out of an archive a linker takes the members that something refers to. family.c refers to this symbol,
 * so that the file that defines it, glibc_names.c or no_more_names.c, comes along.
 *
 * Invariants: exactly one file of the library defines it.
 *
 * Concurrency: a constant.
 */
#ifndef SJ_FRONT_NAMES_H
#define SJ_FRONT_NAMES_H

extern const char sj__names_of_libc;

#endif
