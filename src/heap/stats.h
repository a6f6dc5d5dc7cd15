/* SPDX-License-Identifier: MIT
 *
 * What: the sums over all heaps and slabs that the statistics are made of.
 *
 * Why this way: the fast paths count nothing. What was handed out follows from what the slow paths took; what is live,
 * from the planes. So the figures cost nothing until somebody asks.
 *
 * Invariants: allocated = live + freed, in slots and in bytes.
 *
 * Concurrency: takes each heap's lock in turn. Exact when no thread is inside the allocator.
 */
#ifndef SJ_HEAP_STATS_H
#define SJ_HEAP_STATS_H

#include "heap/heap.h"

struct sj_heap_sums {
    uint64_t allocated_slots;
    uint64_t live_slots;
    uint64_t live_bytes;
    uint64_t allocated_bytes;
    uint64_t owed_bytes;      /* in dirty slots of slabs */
    uint64_t freed_bytes_hot; /* freed in classes that the policy scrubs at free */
    uint64_t paid_reuse_bytes;
    uint64_t paid_kernel_bytes;
    uint64_t calloc_avoided_bytes;
    uint64_t remote_freed_slots;
    uint64_t turns;         /* delay=run: units of freed slots taken again */
    uint64_t shortest_rest; /* slots of the class handed out in between, at least; UINT64_MAX: no turn yet */
    uint64_t picks_sampled;
    uint64_t picks_entropy; /* of these, in 1/256 bit */
    uint64_t slabs;
    uint64_t slab_bytes;
    uint64_t heaps;
    uint64_t forgone_bytes; /* of arenas with scrub=off: freed and used again, or closed, as they were */
};

/* A heap of a policy of its own, of which nothing is live, is to get another. Under its lock. */
void sj__heap_retire_sums(struct sj_heap *heap);

void sj__heap_sum(const struct sj_policy *policy, struct sj_heap_sums *sums);

#endif
