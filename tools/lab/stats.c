/* SPDX-License-Identifier: MIT
 *
 * What: see stats.h.
 *
 * Why this way: a bootstrap sample is kept as counts over the sorted values, so that its median is one walk, not a sort:
 * a session's hundreds of claims then take milliseconds.
 */
#include "lab/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/distribution.h"

void *lab_allocate(size_t count, size_t item_bytes)
{
    void *block = calloc(count > 0 ? count : 1, item_bytes);
    if (block == NULL) {
        fputs("lab: out of memory\n", stderr);
        abort();
    }
    return block;
}

static int stats_compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double *lab_sorted(const double *values, size_t count)
{
    double *copy = lab_allocate(count, sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, stats_compare);
    return copy;
}

static double stats_sorted_quantile(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    double part = place - (double)below;
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

double lab_quantile(const double *values, size_t count, double share)
{
    double *sorted = lab_sorted(values, count);
    double result = stats_sorted_quantile(sorted, count, share);
    free(sorted);
    return result;
}

double lab_median(const double *values, size_t count)
{
    return lab_quantile(values, count, 0.5);
}

double lab_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

double lab_deviation(const double *values, size_t count)
{
    if (count < 2)
        return 0;
    double mean = lab_mean(values, count);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sqrt(sum / (double)(count - 1));
}

size_t lab_median_rank(size_t count, double confidence)
{
    size_t rank = 0;
    while (2 * (rank + 1) <= count && 1 - 2 * lab_binomial_cdf(count, rank, 0.5) >= confidence)
        rank++;
    return rank;
}

struct lab_interval lab_median_interval(const double *values, size_t count, double confidence)
{
    size_t rank = lab_median_rank(count, confidence);
    if (rank == 0)
        return (struct lab_interval){ -INFINITY, INFINITY };
    double *sorted = lab_sorted(values, count);
    struct lab_interval interval = { sorted[rank - 1], sorted[count - rank] };
    free(sorted);
    return interval;
}

/* The median of the multiset that holds sorted[i] drawn[i] times, `count` in all. */
static double stats_median_of_draw(const double *sorted, const size_t *drawn, size_t count)
{
    size_t lower_at = (count - 1) / 2;
    size_t upper_at = count / 2;
    size_t passed = 0;
    double lower = 0;
    bool lower_found = false;
    for (size_t i = 0; i < count; i++) {
        passed += drawn[i];
        if (!lower_found && passed > lower_at) {
            lower = sorted[i];
            lower_found = true;
        }
        if (passed > upper_at)
            return 0.5 * (lower + sorted[i]);
    }
    return lower;
}

struct lab_interval lab_bootstrap_interval(const double *values, size_t count, double confidence, size_t resamples,
                                           struct lab_random *random)
{
    if (count < 2 || resamples == 0)
        return (struct lab_interval){ -INFINITY, INFINITY };
    double *sorted = lab_sorted(values, count);
    size_t *drawn = lab_allocate(count, sizeof *drawn);
    double *medians = lab_allocate(resamples, sizeof *medians);
    for (size_t i = 0; i < resamples; i++) {
        memset(drawn, 0, count * sizeof *drawn);
        for (size_t k = 0; k < count; k++)
            drawn[lab_random_below(random, count)]++;
        medians[i] = stats_median_of_draw(sorted, drawn, count);
    }
    qsort(medians, resamples, sizeof *medians, stats_compare);
    double tail = (1 - confidence) / 2;
    struct lab_interval interval = { stats_sorted_quantile(medians, resamples, tail),
                                     stats_sorted_quantile(medians, resamples, 1 - tail) };
    free(medians);
    free(drawn);
    free(sorted);
    return interval;
}
