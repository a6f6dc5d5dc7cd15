/* SPDX-License-Identifier: MIT
 *
 * What: the set of free runs: by content and size in bins, by place through the map, by age in a list. For run.c, which takes
 * and gives, run_pages.c, which gives their pages back, and run_check.c, which judges them.
 *
 * Why this way: nobody else needs to know what a free run is made of, and what is here makes no system call but for records.
 *
 * Invariants: see run.h. The bytes held by content are those of the runs that lie in bins.
 *
 * Concurrency: all under the lock of the runs, but for the bytes counted under limits.
 */
#ifndef SJ_SPAN_FREE_RUNS_H
#define SJ_SPAN_FREE_RUNS_H

#include "platform/lock.h"
#include "span/run.h"

struct run {
    struct sj_span span; /* kind SJ_SPAN_RUN or SJ_SPAN_FRESH while free, SJ_SPAN_FREED in the pool of records */
    size_t first_granule;
    size_t granules;
    struct run *next; /* in its bin, or in the pool */
    struct run *previous;
    struct run *older; /* of the runs that hold pages */
    struct run *newer;
    uint64_t freed_ms; /* since when its largest part has been free */
    size_t owed_bytes;
    uint32_t content; /* enum sj_run_content */
    bool fresh;       /* none of it was ever handed out */
};

extern struct sj_lock sj__free_runs_lock;
extern struct sj_run_bytes sj__run_bytes;
extern struct sj_atomic_size
    sj__run_counted_bytes; /* of those, as limits count; written under the lock, read without it */

SJ_ALWAYS_INLINE bool sj_free_run_holds_pages(uint32_t content)
{
    return content <= SJ_RUN_OWING;
}

SJ_ALWAYS_INLINE size_t sj_free_runs_held(void)
{
    return sj_run_held_bytes(&sj__run_bytes);
}

/* What counts under limits, but for records: runs handed out and pages held. */
SJ_ALWAYS_INLINE size_t sj_free_runs_counted(void)
{
    return sj__run_bytes.taken + sj__run_bytes.set_aside + sj_free_runs_held();
}

SJ_ALWAYS_INLINE void sj_free_runs_lock(void)
{
    sj__lock(&sj__free_runs_lock);
}

SJ_ALWAYS_INLINE void sj_free_runs_unlock(void)
{
    size_t counted = sj_free_runs_counted(), with_records = counted + sj__arena_used_bytes();
    sj__run_bytes.peak = with_records > sj__run_bytes.peak ? with_records : sj__run_bytes.peak;
    sj_store_relaxed_size(&sj__run_counted_bytes, counted);
    sj__unlock(&sj__free_runs_lock);
}

/* Puts a free stretch into its bin, joined with neighbours of the same content. NULL: no record can be had, and the stretch
 * is lost to the allocator: a leak of address space under a kernel that refuses everything, not an error. */
struct run *sj__free_runs_insert(size_t first_granule, size_t granules, enum sj_run_content content, bool fresh,
                                 size_t owed_bytes);

/* Takes the first `granules` of a free run; the rest stays free. Returns their part of what the run owes. */
size_t sj__free_runs_carve(struct run *run, size_t granules);

/* A run of at least so many granules; NULL if there is none. */
struct run *sj__free_runs_find(enum sj_run_content content, size_t granules);

/* The free run that has `granule` as its first (`forward`) or last granule, if there is one with this content. */
struct run *sj__free_runs_neighbour(size_t granule, bool forward, enum sj_run_content content);

/* The oldest that holds pages; NULL if none does. */
struct run *sj__free_runs_oldest(void);

/* A run becomes the youngest, as if it were freed now. */
void sj__free_runs_rejuvenate(struct run *run);

/* A run leaves its bin for a while, and comes back; or is dropped for good, after its leaving. */
void sj__free_runs_unbin(struct run *run);
void sj__free_runs_bin(struct run *run);
void sj__free_runs_drop(struct run *run);

#endif
