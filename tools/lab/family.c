/* SPDX-License-Identifier: MIT
 *
 * What: see family.h.
 *
 * Why this way: see family.h.
 */
#include "lab/family.h"

#include <math.h>
#include <stdlib.h>

#include "lab/distribution.h"

/* The index of the smallest p not yet taken. */
static size_t family_next(const double *p, const size_t *taken, size_t count)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++)
        if (!taken[i] && (best == count || p[i] < p[best]))
            best = i;
    return best;
}

void lab_holm_adjust(double *p, size_t count)
{
    size_t *taken = lab_allocate(count, sizeof *taken);
    double *adjusted = lab_allocate(count, sizeof *adjusted);
    double floor = 0;
    for (size_t step = 0; step < count; step++) {
        size_t next = family_next(p, taken, count);
        double raised = p[next] * (double)(count - step);
        floor = fmax(floor, fmin(raised, 1));
        adjusted[next] = floor;
        taken[next] = 1;
    }
    for (size_t i = 0; i < count; i++)
        p[i] = adjusted[i];
    free(adjusted);
    free(taken);
}

size_t lab_holm_blocks(size_t claims, double confidence)
{
    size_t blocks = 1;
    double p = 1; /* of `blocks` signs that all agree */
    while (p * (double)claims > 1 - confidence) {
        blocks++;
        p /= 2;
    }
    return blocks;
}

struct lab_summary lab_summarise(const double *logs, size_t count, double confidence)
{
    struct lab_summary summary = { .workloads = count, .interval = { 0, INFINITY } };
    double mean = lab_mean(logs, count);
    summary.ratio = exp(mean);
    for (size_t i = 1; i < count; i++)
        if (logs[i] > logs[summary.worst])
            summary.worst = i;
    summary.worst_ratio = exp(logs[summary.worst]);
    if (count > 1) {
        double t = lab_student_quantile(0.5 + confidence / 2, (double)(count - 1));
        double half = t * lab_deviation(logs, count) / sqrt((double)count);
        summary.interval = (struct lab_interval){ exp(mean - half), exp(mean + half) };
    }
    return summary;
}
