/* SPDX-License-Identifier: MIT
 *
 * What: the logarithmic histogram: every number has its bucket, and what is read back is right to an eighth.
 *
 * Why this way: quantiles of known numbers are computed by sorting them.
 *
 * Concurrency: one thread.
 */
#include "unit.h"

#include "lab/histogram.h"
#include "lab/random.h"
#include "lab/stats.h"

enum { NUMBERS = 5000 };

static struct lab_histogram histogram;

static void count(uint64_t value)
{
    histogram.counts[lab_histogram_bucket(value)]++;
    histogram.most = value > histogram.most ? value : histogram.most;
}

static void check_bucket(uint64_t value)
{
    size_t bucket = lab_histogram_bucket(value);
    REQUIRE(bucket < LAB_HISTOGRAM_BUCKETS);
    CHECK(value <= lab_histogram_top(bucket));
    CHECK(bucket == 0 || value > lab_histogram_top(bucket - 1));
    CHECK((double)lab_histogram_top(bucket) <= 1.125 * (double)value);
}

static void lab_histogram__every_number_has_its_bucket(void)
{
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t off = 0; off < 3; off++)
            check_bucket((UINT64_C(1) << bit) - 1 + off);
    check_bucket(UINT64_MAX);
    CHECK_EQ(lab_histogram_bucket(UINT64_MAX), LAB_HISTOGRAM_BUCKETS - 1);
    for (size_t bucket = 0; bucket < LAB_HISTOGRAM_BUCKETS; bucket++)
        CHECK_EQ(lab_histogram_bucket(lab_histogram_top(bucket)), bucket);
}

static void lab_histogram__quantiles_are_right_to_an_eighth(void)
{
    static double values[NUMBERS];
    static const double shares[] = { 0.001, 0.25, 0.5, 0.99, 0.999, 1 };
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    memset(&histogram, 0, sizeof histogram);
    CHECK_EQ(lab_histogram_quantile(&histogram, 0.5), 0);
    for (size_t i = 0; i < NUMBERS; i++) {
        uint64_t value = lab_random_next(&random) >> (34 + lab_random_below(&random, 30)); /* exact as doubles */
        values[i] = (double)value;
        count(value);
    }
    double *sorted = lab_sorted(values, NUMBERS);
    CHECK_EQ(lab_histogram_total(&histogram), NUMBERS);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        double want = sorted[(size_t)(shares[i] * NUMBERS + 0.999999) - 1];
        double got = (double)lab_histogram_quantile(&histogram, shares[i]);
        CHECK(got >= want && got <= 1.125 * want);
    }
    CHECK_EQ(lab_histogram_quantile(&histogram, 1), (uint64_t)sorted[NUMBERS - 1]);
    free(sorted);
}

static void lab_histogram__adds_up(void)
{
    memset(&histogram, 0, sizeof histogram);
    count(5);
    count(1000);
    struct lab_histogram more = histogram;
    count(70000);
    lab_histogram_add(&more, &histogram);
    CHECK_EQ(lab_histogram_total(&more), 5);
    CHECK_EQ(more.most, 70000);
    CHECK_EQ(more.counts[lab_histogram_bucket(5)], 2);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(lab_histogram__every_number_has_its_bucket);
    RUN(lab_histogram__quantiles_are_right_to_an_eighth);
    RUN(lab_histogram__adds_up);
    return unit_end();
}
