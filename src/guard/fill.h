/* SPDX-License-Identifier: MIT
 *
 * What: is freed memory still what was left there?
 *
 * Why this way: what is free reads as one byte repeated (zero), so it takes no books to know what to expect: it is looked
 * at right before it is handed out, when its lines are about to be used anyway. Small slots inline, from both ends,
 * without a call or a loop; larger ones four lines at a time.
 *
 * Invariants: addresses and sizes are multiples of 16. Nothing is written.
 *
 * Concurrency: the caller owns the bytes.
 */
#ifndef SJ_GUARD_FILL_H
#define SJ_GUARD_FILL_H

#include "base/compiler.h"

enum { SJ_FILL_INLINE_BYTES = 128 };

typedef uint64_t sj_fill_vector __attribute__((vector_size(16), may_alias, aligned(16)));

/* Do all of the bytes, any number of them, have this value? */
bool sj__fill_holds(const void *start, size_t bytes, uint8_t value);

/* The offset of the first byte that has another value; `bytes` if none has. */
size_t sj__fill_first_changed(const void *start, size_t bytes, uint8_t value);

/* `bytes` is at most SJ_FILL_INLINE_BYTES and not 0. */
SJ_ALWAYS_INLINE bool sj_fill_holds_inline(const void *start, size_t bytes, uint8_t value)
{
    const sj_fill_vector *front = start;
    const sj_fill_vector *back = (const sj_fill_vector *)(const void *)((const char *)start + bytes);
    const uint64_t eight = value * UINT64_C(0x0101010101010101);
    const sj_fill_vector expected = { eight, eight };
    sj_fill_vector any = (front[0] ^ expected) | (back[-1] ^ expected);
    if (bytes > 32) {
        any |= (front[1] ^ expected) | (back[-2] ^ expected);
        if (bytes > 64)
            any |= (front[2] ^ expected) | (back[-3] ^ expected) | (front[3] ^ expected) | (back[-4] ^ expected);
    }
    return (any[0] | any[1]) == 0;
}

SJ_ALWAYS_INLINE bool sj_fill_holds(const void *start, size_t bytes, uint8_t value)
{
    return bytes <= SJ_FILL_INLINE_BYTES ? sj_fill_holds_inline(start, bytes, value)
                                         : sj__fill_holds(start, bytes, value);
}

#endif
