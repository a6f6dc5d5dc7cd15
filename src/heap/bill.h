/* SPDX-License-Identifier: MIT
 *
 * What: the memory bill: on which line each byte is that may hold pages of ours.
 *
 * Why this way: two counts that know nothing of each other. What is committed is counted by the runs as they hand granules out
 * and take them back. The lines are found by a walk over the map, granule by granule: slabs from their planes, large blocks,
 * kept or live, from their records. So the difference tells whether either is wrong, and nothing is counted twice on a
 * hot path, or at all. It allocates nothing. All but the heaps' locks are tried only, for a bounded time: a bill can be made of
 * a process whose threads stand still anywhere.
 *
 * Invariants: while no thread is inside the allocator the lines add up to what is committed.
 *
 * Concurrency: any thread outside the allocator, no lock held. Records are of one type for good, so what is read while
 * it changes is inexact, never wild.
 */
#ifndef SJ_HEAP_BILL_H
#define SJ_HEAP_BILL_H

#include "heap/named.h"
#include "scrubjay.h"

/* The part of an arena in the bill: of its slabs and what its heap has of them, and of its live large blocks. */
struct sj_bill_row {
    const struct sj_named *named;
    uint64_t line[SJ_BILL_LINES];
};

/* Everything but what is resident; and the parts of those arenas. */
void sj__bill_make(struct sj_bill *bill, struct sj_bill_row *rows, unsigned count);

#endif
