/* SPDX-License-Identifier: MIT
 *
 * What: a histogram of whole numbers on a logarithmic scale: eight buckets for each doubling.
 *
 * Why this way: times of single calls span six decades, and their tail is what matters. A fixed array counts any number of them
 * in a few instructions, and histograms of processes and runs add up. What is read from it is at most an eighth too high.
 *
 * Invariants: bucket 0 ... 7 hold one number each; every 64-bit number has a bucket, and greater numbers no lower one.
 *
 * Concurrency: plain memory; who counts from several threads adds atomically.
 */
#ifndef SJ_LAB_HISTOGRAM_H
#define SJ_LAB_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { LAB_HISTOGRAM_BITS = 3, LAB_HISTOGRAM_STEPS = 1 << LAB_HISTOGRAM_BITS, LAB_HISTOGRAM_BUCKETS = 496 };

struct lab_histogram {
    uint64_t most; /* the greatest number that was counted */
    uint64_t counts[LAB_HISTOGRAM_BUCKETS];
};

static inline size_t lab_histogram_bucket(uint64_t value)
{
    if (value < LAB_HISTOGRAM_STEPS)
        return value;
    unsigned shift = 63 - LAB_HISTOGRAM_BITS - (unsigned)__builtin_clzll(value);
    return (size_t)shift * LAB_HISTOGRAM_STEPS + (value >> shift);
}

/* The greatest number that falls into a bucket. */
uint64_t lab_histogram_top(size_t bucket);

uint64_t lab_histogram_total(const struct lab_histogram *histogram);

/* A number that this share, in (0, 1], of those counted does not exceed, and hardly more than that; 0 if none was. */
uint64_t lab_histogram_quantile(const struct lab_histogram *histogram, double share);

void lab_histogram_add(struct lab_histogram *histogram, const struct lab_histogram *more);

#endif
