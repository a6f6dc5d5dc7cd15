/* SPDX-License-Identifier: MIT
 *
 * What: several workloads together: Holm's correction, and the geometric mean of the ratios with an interval over
 * workloads and the worst workload beside it.
 *
 * Why this way: the workloads are the sample a summary speaks of, so the interval is Student's over their log ratios:
 * it answers "how would this come out with other workloads of this kind", and the noise of each measurement is in it.
 * A mean hides the one program that doubles, so the worst is never left out.
 *
 * Invariants: adjusted p values are at least the raw ones and keep their order.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_LAB_FAMILY_H
#define SJ_LAB_FAMILY_H

#include <stddef.h>

#include "lab/stats.h"

/* Replaces each p by Holm's adjusted p. */
void lab_holm_adjust(double *p, size_t count);

/* The fewest blocks of which a unanimous sign test survives Holm among this many claims. */
size_t lab_holm_blocks(size_t claims, double confidence);

struct lab_summary {
    size_t workloads;
    double ratio;                 /* geometric mean of head / base */
    struct lab_interval interval; /* of the ratio, over workloads; infinite for one workload */
    size_t worst;                 /* index of the largest ratio */
    double worst_ratio;
};

/* Of the log ratios of at least one workload. */
struct lab_summary lab_summarise(const double *logs, size_t count, double confidence);

#endif
