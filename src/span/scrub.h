/* SPDX-License-Identifier: MIT
 *
 * What: writing zeros over freed bytes, the cheapest way for each size.
 *
 * Why this way: small slots are zeroed inline with 16-byte stores, which beats a call; larger ones by libc's memset,
 * which has picked the machine's widest stores. From a page on the bytes are looked at first: programs free far more
 * bytes than they ever wrote, and reading an untouched page costs no memory where writing it would.
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

SJ_ALWAYS_INLINE void sj_scrub_slot(void *start, size_t bytes)
{
    if (sj_unlikely(bytes > SJ_SCRUB_INLINE_BYTES)) {
        sj__scrub_bytes(start, bytes);
        return;
    }
    sj_vector16 *at = start;
    sj_vector16 *end = (sj_vector16 *)(void *)((char *)start + bytes);
    do
        *at++ = (sj_vector16){ 0, 0 };
    while (at < end);
}

#endif
