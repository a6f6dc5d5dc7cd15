/* SPDX-License-Identifier: MIT
 *
 * What: views of a workload's rows: one metric of one arm, and the mirrored blocks of an arm with a baseline.
 *
 * Why this way: rows are kept as they were run; every table and every claim is a view, so that none can disagree with
 * what was written to disk.
 *
 * Invariants: a block is part of a view only if both arms are in both of its halves.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_BENCH_VIEWS_H
#define SJ_BENCH_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/session.h"
#include "lab/paired.h"

enum bench_metric {
    BENCH_CPU, /* primary */
    BENCH_RSS,
    BENCH_WALL,
    BENCH_MEAN_RSS,
    BENCH_JUDGED_METRICS, /* those above have effect lines */
    BENCH_USER = BENCH_JUDGED_METRICS,
    BENCH_SYSTEM,
    BENCH_MAJOR_FAULTS,
    BENCH_MINOR_FAULTS,
};

/* "cpu", "rss", "wall" ... */
const char *bench_metric_name(enum bench_metric metric);

/* Is it resident memory, in KiB? */
bool bench_metric_is_memory(enum bench_metric metric);

/* 0: not measured. */
double bench_row_value(const struct bench_row *row, enum bench_metric metric);

/* Fills blocks[], room for result->blocks; returns how many there are. */
size_t bench_view_blocks(const struct bench_result *result, size_t base, size_t head, enum bench_metric metric,
                         struct lab_block *blocks);

/* Median over the measured rows of an arm, or over those of its warm-up; 0 if there are none. */
double bench_view_median(const struct bench_result *result, size_t arm, enum bench_metric metric, bool warm_up);

#endif
