/* SPDX-License-Identifier: MIT
 *
 * What: a random pick among free slots, and how unpredictable picks are, measured while the program runs.
 *
 * Why this way: a pick is the first free slot from a random place of a window on, so a slot behind a gap is likelier than
 * others, and four random bits are less than four bits of entropy. How much less depends on what is free. The fast path
 * counts nothing: one refill in many plays the picks that will follow on a copy of the group, with numbers of its
 * own, and adds up the exact entropy of each.
 *
 * Invariants: entropies are in 1/256 bit. What is played touches neither the group nor the heap's random pool.
 *
 * Concurrency: the sums are the heap's, under its lock.
 */
#ifndef SJ_HEAP_PICKS_H
#define SJ_HEAP_PICKS_H

#include "base/bits.h"

enum { SJ_PICKS_REFILLS_A_SAMPLE = 256, SJ_PICKS_UNITS_A_BIT = 256 };

struct sj_picks {
    uint64_t refills;
    uint64_t sampled; /* picks played */
    uint64_t entropy; /* of all of them, in 1/256 bit */
};

/* The bit that a pick gets from one place of the window: the first of `bits`, which are not empty, at or after that place,
 * going round. The window begins at the lowest bit. The next allocation waits for it, so it is found without counting
 * zeros or rotating: those take the processor twice as long. */
SJ_ALWAYS_INLINE uint64_t sj_pick_from(uint64_t bits, unsigned place)
{
    uint64_t lowest = sj_lowest_only(bits);
    uint64_t ahead = bits & -(lowest << place);
    return ahead != 0 ? sj_lowest_only(ahead) : lowest;
}

/* The entropy of the next pick among `bits`, which are not empty; `window_mask` as in struct sj_bin, at most 15. */
unsigned sj__picks_entropy(uint64_t bits, unsigned window_mask);

/* After a refill with `bits`. */
void sj__picks_note(struct sj_picks *picks, uint64_t bits, unsigned window_mask);

#endif
