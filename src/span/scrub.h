/* SPDX-License-Identifier: MIT
 *
 * What: writing zeros over freed bytes, the cheapest way for each size.
 *
 * Why this way: up to 128 bytes are zeroed inline with 16-byte stores, which beats a call. Beyond that each line of 64
 * bytes is read, and written only if it is not zero: programs free far more bytes than they ever wrote, and a line or a
 * page that is only read is neither written back nor given memory of its own. Vectors of 32 bytes where the machine has
 * them (platform/cpu.h).
 *
 * Invariants: addresses and sizes are multiples of 16. Afterwards every byte reads as zero.
 *
 * Concurrency: the caller owns the bytes.
 */
#ifndef SJ_SPAN_SCRUB_H
#define SJ_SPAN_SCRUB_H

#include "base/compiler.h"

enum { SJ_SCRUB_INLINE_BYTES = 128 };

typedef uint64_t sj_vector16 __attribute__((vector_size(16), may_alias, aligned(16)));

/* Zeroes any number of bytes that were freed: inline above does not fit, or the size is not known to be small. */
void sj__scrub_bytes(void *start, size_t bytes);

/* `bytes` is at most SJ_SCRUB_INLINE_BYTES and not 0. */
SJ_ALWAYS_INLINE void sj_scrub_inline(void *start, size_t bytes)
{
    /* Stores from both ends, which meet or overlap: two compares in place of a loop, and no call. */
    sj_vector16 *front = start;
    sj_vector16 *back = (sj_vector16 *)(void *)((char *)start + bytes);
    const sj_vector16 zero = { 0, 0 };
    front[0] = back[-1] = zero;
    if (bytes <= 32)
        return;
    front[1] = back[-2] = zero;
    if (bytes <= 64)
        return;
    front[2] = back[-3] = zero;
    front[3] = back[-4] = zero;
}

SJ_ALWAYS_INLINE void sj_scrub_slot(void *start, size_t bytes)
{
    if (bytes <= SJ_SCRUB_INLINE_BYTES)
        sj_scrub_inline(start, bytes);
    else
        sj__scrub_bytes(start, bytes);
}

#endif
