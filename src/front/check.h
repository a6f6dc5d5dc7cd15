/* SPDX-License-Identifier: MIT
 *
 * What: checks of the heap (heap/check.h): on demand, by sj_check or for another process, and by walk, a step every so many slow paths.
 *
 * Why this way: a step is what a slow path may pay now and then; steps follow each other through the window by a cursor that all
 * threads share, an atomic number, so a fork finds it as it is and no thread waits for another. Counting slow paths, not
 * allocations or time, costs the fast paths nothing and a test nothing that depends on a clock.
 *
 * Invariants: a round of steps has looked at every granule that the window had when it began.
 *
 * Concurrency: any thread outside the allocator; steps of several threads share the work.
 */
#ifndef SJ_FRONT_CHECK_H
#define SJ_FRONT_CHECK_H

#include "heap/heap.h"

/* Checks the whole window. Inside the allocator, signals blocked, no heap locked. Returns its bytes. */
uint64_t sj__check_whole(void);

/* A step of walk. For a thread outside the allocator. */
void sj__check_walk(void);

/* Slow paths of the calling thread since its last step. */
extern SJ_HIDDEN _Thread_local uint32_t sj__check_slow_paths;

/* What every slow path ends with. */
SJ_ALWAYS_INLINE void sj_check_if_due(const struct sj_policy *policy)
{
    if (sj_unlikely(policy->walk != 0) && ++sj__check_slow_paths >= policy->walk && sj__heap_inside == SJ_OUTSIDE)
        sj__check_walk();
}

#endif
