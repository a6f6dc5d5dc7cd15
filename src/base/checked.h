/* SPDX-License-Identifier: MIT
 *
 * What: size arithmetic that says when it overflowed.
 *
 * Why this way: a request near SIZE_MAX must become ENOMEM, never a small block; the compiler's builtins are one
 * instruction and a flag.
 *
 * Invariants: on false the result is not to be used.
 *
 * Concurrency: none.
 */
#ifndef SJ_BASE_CHECKED_H
#define SJ_BASE_CHECKED_H

#include "base/bits.h"

/* The largest request any entry point grants, as glibc has it: a pointer difference within a block must fit ptrdiff_t. */
#define SJ_MAX_REQUEST_BYTES ((size_t)PTRDIFF_MAX)

SJ_ALWAYS_INLINE bool sj_checked_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

SJ_ALWAYS_INLINE bool sj_checked_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

SJ_ALWAYS_INLINE bool sj_checked_round_up(size_t value, size_t power, size_t *rounded)
{
    size_t raised;
    if (!sj_checked_add(value, power - 1, &raised))
        return false;
    *rounded = raised & ~(power - 1);
    return true;
}

#endif
