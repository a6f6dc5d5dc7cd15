/* SPDX-License-Identifier: MIT
 *
 * What: see power.h.
 *
 * Why this way: see power.h.
 */
#include "lab/power.h"

#include <math.h>
#include <stdlib.h>

#include "lab/distribution.h"
#include "lab/stats.h"

static const double POWER_WANTED = 0.8;

double lab_power_share(size_t count, double confidence)
{
    size_t rank = lab_median_rank(count, confidence);
    if (rank == 0)
        return 0;
    double low = 0;
    double high = 0.5;
    for (int step = 0; step < 60; step++) {
        double middle = 0.5 * (low + high);
        if (lab_binomial_cdf(count, rank - 1, middle) >= POWER_WANTED)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double lab_visible_from_spread(double spread, size_t count, double confidence)
{
    double share = lab_power_share(count, confidence);
    return share > 0 ? -spread * lab_normal_quantile(share) : INFINITY;
}

double lab_visible_from_values(const double *values, size_t count, double confidence)
{
    double share = lab_power_share(count, confidence);
    if (share <= 0)
        return INFINITY;
    double median = lab_median(values, count);
    double *distance = lab_allocate(count, sizeof *distance);
    for (size_t i = 0; i < count; i++)
        distance[i] = fabs(values[i] - median);
    double visible = lab_quantile(distance, count, 1 - 2 * share);
    free(distance);
    /* The median lies closer to its own values than the truth does. */
    double n = (double)count;
    return visible * sqrt(n / (n - 1));
}

size_t lab_blocks_for_effect(double spread, double effect, double confidence, size_t most)
{
    /* Doubling, then bisection: power grows with n but for the steps of the ranks. */
    size_t enough = 6;
    while (enough < most && lab_visible_from_spread(spread, enough, confidence) > effect)
        enough *= 2;
    if (enough >= most && lab_visible_from_spread(spread, most, confidence) > effect)
        return most;
    size_t low = enough / 2;
    size_t high = enough < most ? enough : most;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (lab_visible_from_spread(spread, middle, confidence) <= effect)
            high = middle;
        else
            low = middle;
    }
    return high;
}

double lab_spread_caution(double freedom)
{
    if (freedom < 1)
        return 4;
    double low = lab_chi_square_quantile(0.2, freedom);
    double factor = low > 0 ? sqrt(freedom / low) : 4;
    return factor < 4 ? factor : 4;
}
