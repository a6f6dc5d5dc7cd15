/* SPDX-License-Identifier: MIT
 *
 * What: the pass of the release clock over all that holds free pages: idle slabs, kept places and large blocks, free runs.
 *
 * Why this way: whoever comes along a slow path when something is due makes the pass, a bounded one; what it leaves is due
 * at once, so the next slow path goes on with it. Only one makes it at a time: who finds the lock taken goes on, since the
 * other one sets the next due time. It reaches into the heaps of other threads as far as their lists of partial slabs, under
 * a heap's lock if that is free.
 *
 * Invariants: nothing is locked but by trying when a pass begins, and signals wait meanwhile. Nothing is lost: a heap that
 * was busy makes the pass due again. Heaps of threads that have ended are folded first: nobody else would.
 *
 * Concurrency: any thread that is outside the allocator. The pass holds a lock of rank RELEASE, which fork takes first.
 */
#ifndef SJ_HEAP_PASS_H
#define SJ_HEAP_PASS_H

#include "heap/heap.h"
#include "span/release.h"

/* Makes a pass. For a thread outside the allocator. */
void sj__pass_run(void);

/* What every slow path ends with. */
SJ_ALWAYS_INLINE void sj_pass_if_due(void)
{
    if (sj_unlikely(sj_release_is_due()) && sj__heap_inside == SJ_OUTSIDE)
        sj__pass_run();
}

enum sj_purge {
    SJ_PURGE_FAST, /* free runs, kept places and large blocks */
    SJ_PURGE,      /* also the empty slabs of the calling thread, and of threads that have ended */
    SJ_PURGE_ALL   /* also the empty slabs that other threads keep */
};

/* Gives back at once. Returns the bytes given. Called inside the allocator, no lock held. */
size_t sj__pass_purge(enum sj_purge how);

struct sj_pass_counts {
    uint64_t passes;
    uint64_t slab_bytes; /* given back out of idle slabs and kept places */
};
void sj__pass_read_counts(struct sj_pass_counts *out);

void sj__pass_lock_for_fork(void);
void sj__pass_unlock_after_fork(bool in_child);

#endif
