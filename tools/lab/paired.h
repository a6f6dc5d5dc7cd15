/* SPDX-License-Identifier: MIT
 *
 * What: from the mirrored blocks of one arm and its baseline to one estimate: effect, interval, tests, what could have
 * been seen, and whether the session drifted or favoured an order.
 *
 * Why this way: one number a block enters the statistics, the mean of the log ratios of its two pairs: runs within a
 * block share their minute of machine noise and are not independent. Logs, so that twice and half are equally far from
 * one.
 *
 * Invariants: everything called log is ln(head / base); an effect is exp(log) - 1. Of the order-statistic interval and
 * the bootstrap's the wider is taken.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_LAB_PAIRED_H
#define SJ_LAB_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/rank.h"
#include "lab/stats.h"

/* The two pairs of one block, in run order. All values are of one metric and above 0. */
struct lab_block {
    double base[2];
    double head[2];
    bool base_came_first; /* in the first pair; in the second it is the other way round */
    bool flagged;         /* run while the machine was busy with something else */
};

struct lab_settings {
    double confidence; /* of intervals: 0.95 */
    double delta;      /* effects this small do not matter: 0.01 for time, 0.02 for memory */
    size_t resamples;  /* of the bootstrap */
    uint64_t seed;     /* of the bootstrap */
};

struct lab_estimate {
    size_t blocks;
    double log_median;
    struct lab_interval log_interval;
    bool bootstrap_wider; /* log_interval is the bootstrap's */
    struct lab_sign sign;
    double wilcoxon_p;
    double log_hodges_lehmann;
    double log_visible; /* smallest visible effect by this session's own spread */
    struct lab_spearman drift;
    double order_p; /* that AB and BA pairs differ, by Wilcoxon */
};

/* One log ratio a block into logs[0 ... count - 1]. */
void lab_block_logs(const struct lab_block *blocks, size_t count, double *logs);

struct lab_estimate lab_estimate_blocks(const struct lab_block *blocks, size_t count,
                                        const struct lab_settings *settings);

/* exp(log) - 1 */
double lab_effect(double log_ratio);

struct lab_interval lab_effect_interval(struct lab_interval logs);

#endif
