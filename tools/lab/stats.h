/* SPDX-License-Identifier: MIT
 *
 * What: the lab's estimate and its interval: median, order-statistic interval of the median, bootstrap, and the
 * means and quantiles the rest is made of.
 *
 * Why this way: the time of a process has a heavy right tail, so a mean and its t interval are pulled by single runs;
 * the median's order-statistic interval holds its level for every distribution and needs no tuning.
 *
 * Invariants: no function changes its input; an interval always contains the estimate it belongs to; too few values
 * give an interval from minus to plus infinity, never a narrow one.
 *
 * Concurrency: pure functions; they allocate scratch memory and end the program if there is none.
 */
#ifndef SJ_LAB_STATS_H
#define SJ_LAB_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/random.h"

struct lab_interval {
    double low;
    double high;
};

/* A sorted copy; the caller frees it. */
double *lab_sorted(const double *values, size_t count);

/* Of at least one value. */
double lab_median(const double *values, size_t count);

/* Linear between the order statistics; share in [0, 1]. */
double lab_quantile(const double *values, size_t count, double share);

double lab_mean(const double *values, size_t count);

/* Of the sample (divides by count - 1); 0 for one value. */
double lab_deviation(const double *values, size_t count);

/* The rank l (from 1) for which [l-th smallest, l-th largest] contains the median with at least this confidence;
 * 0 if even the extremes do not. At 0.95: 2 of 10, 6 of 20, 10 of 30, 14 of 40, 22 of 60. */
size_t lab_median_rank(size_t count, double confidence);

struct lab_interval lab_median_interval(const double *values, size_t count, double confidence);

/* Percentile bootstrap of the median: `resamples` draws of `count` values with replacement. */
struct lab_interval lab_bootstrap_interval(const double *values, size_t count, double confidence, size_t resamples,
                                           struct lab_random *random);

/* malloc that ends the program instead of returning NULL. */
void *lab_allocate(size_t count, size_t item_bytes);

#endif
