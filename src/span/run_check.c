/* SPDX-License-Identifier: MIT
 *
 * What: is what the map and the record of a free run say of each other true?
 *
 * Why this way: see heap/check.h.
 *
 * Invariants: changes nothing.
 *
 * Concurrency: takes the lock of the runs, as fork does.
 */
#include "span/free_runs.h"

static const char *fault_locked(size_t granule)
{
    const struct run *run = (const struct run *)(const void *)sj_window_lookup(granule);
    uint32_t kind = sj_load_relaxed_u32(&run->span.kind);
    if (kind != SJ_SPAN_RUN && kind != SJ_SPAN_FRESH)
        return NULL;
    size_t limit = sj_load_acquire_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT; /* pairs with the growth */
    size_t first = run->first_granule, last = first + run->granules - 1;
    bool sound = run->content < SJ_RUN_CONTENTS && run->granules > 0 && run->granules <= limit &&
                 first <= limit - run->granules && (granule == first || granule == last) &&
                 sj_window_lookup(first) == &run->span && sj_window_lookup(last) == &run->span;
    return sound ? NULL : "a free run is not where its record says";
}

const char *sj__run_fault(size_t granule)
{
    sj__run_lock_for_fork();
    const char *fault = fault_locked(granule);
    sj__run_unlock_after_fork(false);
    return fault;
}
