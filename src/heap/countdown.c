/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see countdown.h.
 */
#include "heap/countdown.h"

#include "base/bits.h"

uint64_t sj__log2_fixed(uint64_t value)
{
    unsigned whole = sj_highest_bit(value);
    uint64_t mantissa = value << (SJ_WORD_BITS - 1 - whole); /* from 1 to under 2, times 2^63 */
    uint64_t log = (uint64_t)whole << SJ_LOG2_SHIFT;
    for (unsigned bit = SJ_LOG2_SHIFT; bit-- > 0;) {
        uint64_t square =
            (uint64_t)(((sj_u128)mantissa * mantissa) >> SJ_WORD_BITS); /* from 1 to under 4, times 2^62 */
        if (square >> (SJ_WORD_BITS - 1) != 0)
            log |= (uint64_t)1 << bit;
        else
            square <<= 1;
        mantissa = square;
    }
    return log;
}

uint64_t sj__countdown_draw(uint64_t random, uint32_t mean)
{
    if (mean <= 1)
        return 0;
    /* -log2 of a uniform number in (0, 1], over -log2(1 - 1/mean) */
    uint64_t surprise = ((uint64_t)SJ_WORD_BITS << SJ_LOG2_SHIFT) - sj__log2_fixed(random | (random == 0));
    return surprise / (sj__log2_fixed(mean) - sj__log2_fixed(mean - 1));
}

uint64_t sj__countdown_chance(uint64_t units, uint32_t mean)
{
    if (mean <= 1)
        return UINT64_MAX;
    uint64_t none = UINT64_MAX, factor = UINT64_MAX - UINT64_MAX / mean; /* of 2^64 */
    for (; units != 0; units >>= 1) {
        if ((units & 1) != 0)
            none = (uint64_t)(((sj_u128)none * factor) >> SJ_WORD_BITS);
        factor = (uint64_t)(((sj_u128)factor * factor) >> SJ_WORD_BITS);
    }
    return UINT64_MAX - none;
}
