/* SPDX-License-Identifier: MIT
 *
 * What: how many allocations pass until the next sampled one.
 *
 * Why this way: each allocation is to be sampled with the same chance, independently of all others, and the fast path is
 * to know nothing of it. The gaps of such a process are geometric; a gap is drawn when the one before is used up, and
 * counted down where slots are taken by the group. The draw is an exponential number cut to whole ones, which is exactly
 * geometric. Logarithms are made bit by bit in fixed point, since libm is no part of the library and a draw is rare.
 *
 * The same process over bytes serves heap profiles: an allocation is sampled if one of its bytes is.
 *
 * Invariants: the mean gap, the sample included, is `mean`.
 *
 * Concurrency: pure.
 */
#ifndef SJ_HEAP_COUNTDOWN_H
#define SJ_HEAP_COUNTDOWN_H

#include "base/compiler.h"

enum { SJ_LOG2_SHIFT = 57 };

/* The binary logarithm of `value`, which is not 0, times 2^57. */
uint64_t sj__log2_fixed(uint64_t value);

/* How many allocations are not sampled before one is, for a uniform `random` and one in `mean`, at least 1. */
uint64_t sj__countdown_draw(uint64_t random, uint32_t mean);

/* The chance that at least one in `units` of these, not 0, is sampled, of 2^64, rounded down: 1 - (1 - 1/mean)^units. */
uint64_t sj__countdown_chance(uint64_t units, uint32_t mean);

#endif
