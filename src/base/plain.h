/* SPDX-License-Identifier: MIT
 *
 * What: moving and setting bytes by plain code of our own.
 *
 * Why this way: for where libc's functions can't be had: before the start, when they have not been found yet, and in
 * static programs, where our memcpy takes the place of libc's. Blocks of 16 bytes, the last one overlapping; the compiler
 * makes them vectors. base/own_memory.h has the reason why nothing here may be turned back into a call of memcpy.
 *
 * Invariants: source and target may overlap in any way.
 *
 * Concurrency: pure functions. They need no thread-local data and no relocation, so they work at any time.
 */
#ifndef SJ_BASE_PLAIN_H
#define SJ_BASE_PLAIN_H

#include "base/compiler.h"

void *sj__plain_move(void *to, const void *from, size_t bytes);
void *sj__plain_set(void *to, int byte, size_t bytes);

/* Where our own code's memcpy, memmove and memset lead; see own_memory.h. Weak, and by plain code: the library has others
 * in front/copy.c, which call libc's. These serve programs that are linked with some floors only, as unit tests are. */
void *sj__own_move(void *to, const void *from, size_t bytes);
void *sj__own_set(void *to, int byte, size_t bytes);

#endif
