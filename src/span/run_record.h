/* SPDX-License-Identifier: MIT
 *
 * What: the record of a free run, for run.c, which keeps it, and run_check.c, which judges it.
 *
 * Why this way: nobody else needs to know what a free run is made of.
 *
 * Invariants: see run.h.
 *
 * Concurrency: under the lock of the runs.
 */
#ifndef SJ_SPAN_RUN_RECORD_H
#define SJ_SPAN_RUN_RECORD_H

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

#endif
