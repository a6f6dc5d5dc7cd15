/* SPDX-License-Identifier: MIT
 *
 * What: see histogram.h.
 *
 * Why this way: see histogram.h.
 */
#include "lab/histogram.h"

#include <math.h>

uint64_t lab_histogram_top(size_t bucket)
{
    if (bucket < LAB_HISTOGRAM_STEPS)
        return bucket;
    unsigned shift = (unsigned)(bucket / LAB_HISTOGRAM_STEPS) - 1;
    uint64_t low = (LAB_HISTOGRAM_STEPS + (uint64_t)(bucket % LAB_HISTOGRAM_STEPS)) << shift;
    return low + ((UINT64_C(1) << shift) - 1);
}

uint64_t lab_histogram_total(const struct lab_histogram *histogram)
{
    uint64_t total = 0;
    for (size_t i = 0; i < LAB_HISTOGRAM_BUCKETS; i++)
        total += histogram->counts[i];
    return total;
}

uint64_t lab_histogram_quantile(const struct lab_histogram *histogram, double share)
{
    double wanted = ceil(share * (double)lab_histogram_total(histogram));
    uint64_t below = 0;
    for (size_t i = 0; i < LAB_HISTOGRAM_BUCKETS; i++) {
        below += histogram->counts[i];
        if (histogram->counts[i] > 0 && (double)below >= wanted) {
            uint64_t top = lab_histogram_top(i);
            return top < histogram->most ? top : histogram->most;
        }
    }
    return 0;
}

void lab_histogram_add(struct lab_histogram *histogram, const struct lab_histogram *more)
{
    histogram->most = more->most > histogram->most ? more->most : histogram->most;
    for (size_t i = 0; i < LAB_HISTOGRAM_BUCKETS; i++)
        histogram->counts[i] += more->counts[i];
}
