/* SPDX-License-Identifier: MIT
 *
 * What: see rank.h.
 *
 * Why this way: Wilcoxon's exact distribution is counted by adding one rank after the other; ranks are doubled so that
 * the mid-ranks of equal magnitudes are whole numbers and ties need no second formula.
 */
#include "lab/rank.h"

#include <math.h>
#include <stdlib.h>

#include "lab/distribution.h"
#include "lab/stats.h"

enum { RANK_EXACT_MAX = 100 };

static double rank_at_most_one(double p)
{
    return p < 1 ? p : 1;
}

struct lab_sign lab_sign_test(const double *values, size_t count)
{
    struct lab_sign sign = { .p = 1 };
    for (size_t i = 0; i < count; i++) {
        if (values[i] < 0)
            sign.below++;
        else if (values[i] > 0)
            sign.above++;
        else
            sign.ties++;
    }
    size_t left = sign.below + sign.above;
    size_t fewer = sign.below < sign.above ? sign.below : sign.above;
    if (left > 0)
        sign.p = rank_at_most_one(2 * lab_binomial_cdf(left, fewer, 0.5));
    return sign;
}

struct rank_item {
    double key;
    size_t index;
};

static int rank_compare(const void *left, const void *right)
{
    double a = ((const struct rank_item *)left)->key;
    double b = ((const struct rank_item *)right)->key;
    return (a > b) - (a < b);
}

/* doubled[i] = twice the mid-rank (from 1) of keys[i]; returns the sum of t^3 - t over groups of t equal keys. */
static double rank_doubled_midranks(const double *keys, size_t count, size_t *doubled)
{
    struct rank_item *items = lab_allocate(count, sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct rank_item){ keys[i], i };
    qsort(items, count, sizeof *items, rank_compare);
    double tied = 0;
    for (size_t first = 0; first < count;) {
        size_t past = first + 1;
        while (past < count && items[past].key <= items[first].key)
            past++;
        for (size_t i = first; i < past; i++)
            doubled[items[i].index] = first + past + 1;
        double group = (double)(past - first);
        tied += group * group * group - group;
        first = past;
    }
    free(items);
    return tied;
}

/* Two-sided p of the doubled rank sum, when each rank counts with probability one half. */
static double rank_wilcoxon_exact(const size_t *doubled, size_t count, size_t sum)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += doubled[i];
    double *share = lab_allocate(total + 1, sizeof *share);
    share[0] = 1;
    size_t reached = 0;
    for (size_t i = 0; i < count; i++) {
        reached += doubled[i];
        for (size_t s = reached + 1; s-- > 0;)
            share[s] = 0.5 * share[s] + (s >= doubled[i] ? 0.5 * share[s - doubled[i]] : 0);
    }
    size_t smaller = sum < total - sum ? sum : total - sum;
    double tail = 0;
    for (size_t s = 0; s <= smaller; s++)
        tail += share[s];
    free(share);
    return rank_at_most_one(2 * tail);
}

static double rank_wilcoxon_normal(double n, double rank_sum, double tied)
{
    double mean = n * (n + 1) / 4;
    double variance = n * (n + 1) * (2 * n + 1) / 24 - tied / 48;
    double distance = fabs(rank_sum - mean) - 0.5;
    if (variance <= 0 || distance <= 0)
        return 1;
    return rank_at_most_one(2 * lab_normal_cdf(-distance / sqrt(variance)));
}

struct lab_wilcoxon lab_wilcoxon_test(const double *values, size_t count)
{
    double *magnitude = lab_allocate(count, sizeof *magnitude);
    double *kept = lab_allocate(count, sizeof *kept);
    size_t *doubled = lab_allocate(count, sizeof *doubled);
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] < 0 || values[i] > 0) {
            kept[left] = values[i];
            magnitude[left] = fabs(values[i]);
            left++;
        }
    }
    double tied = rank_doubled_midranks(magnitude, left, doubled);
    size_t sum = 0;
    for (size_t i = 0; i < left; i++)
        sum += kept[i] > 0 ? doubled[i] : 0;
    struct lab_wilcoxon result = { .rank_sum_above = (double)sum / 2, .ties = count - left, .p = 1 };
    if (left > RANK_EXACT_MAX)
        result.p = rank_wilcoxon_normal((double)left, result.rank_sum_above, tied);
    else if (left > 0)
        result.p = rank_wilcoxon_exact(doubled, left, sum);
    free(doubled);
    free(kept);
    free(magnitude);
    return result;
}

double lab_hodges_lehmann(const double *values, size_t count)
{
    size_t pairs = count * (count + 1) / 2;
    double *means = lab_allocate(pairs, sizeof *means);
    size_t filled = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i; k < count; k++)
            means[filled++] = 0.5 * (values[i] + values[k]);
    double result = lab_median(means, pairs);
    free(means);
    return result;
}

struct lab_spearman lab_spearman_drift(const double *values, size_t count)
{
    struct lab_spearman result = { .rho = 0, .p = 1 };
    if (count < 4)
        return result;
    size_t *doubled = lab_allocate(count, sizeof *doubled);
    (void)rank_doubled_midranks(values, count, doubled);
    double mean = (double)(count + 1); /* of doubled ranks */
    double both = 0;
    double ranks = 0;
    double times = 0;
    for (size_t i = 0; i < count; i++) {
        double rank = (double)doubled[i] - mean;
        double when = 2 * (double)(i + 1) - mean;
        both += rank * when;
        ranks += rank * rank;
        times += when * when;
    }
    free(doubled);
    if (ranks <= 0)
        return result;
    result.rho = both / sqrt(ranks * times);
    double freedom = (double)count - 2;
    double rest = 1 - result.rho * result.rho;
    result.p = rest <= 0 ? 0 : 2 * lab_student_cdf(-fabs(result.rho) * sqrt(freedom / rest), freedom);
    return result;
}

double lab_sign_evalue(size_t below, size_t above)
{
    /* 2^n times the beta function of (below + 1, above + 1) */
    double n = (double)(below + above);
    int sign;
    return exp(n * 0.69314718055994530942 + lgamma_r((double)below + 1, &sign) + lgamma_r((double)above + 1, &sign) -
               lgamma_r(n + 2, &sign));
}
