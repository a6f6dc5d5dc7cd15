/* SPDX-License-Identifier: MIT
 *
 * What: the lab's formulas against published tables and worked examples, and the coverage of its intervals.
 *
 * Why this way: a statistic that is a little wrong looks exactly like one that is right; only numbers computed by others
 * tell. Sources: tables of the binomial, normal, t and chi-square distributions; the critical values of Wilcoxon's
 * signed-rank test; the depression scores in Hollander and Wolfe's "Nonparametric Statistical Methods"; Holm's procedure
 * by hand.
 *
 * Concurrency: one thread.
 */
#include "unit.h"

#include <math.h>

#include "lab/design.h"
#include "lab/distribution.h"
#include "lab/family.h"
#include "lab/power.h"
#include "lab/rank.h"
#include "lab/stats.h"

static bool near(double got, double want, double tolerance)
{
    if (fabs(got - want) <= tolerance)
        return true;
    unit_print("# got %.9g, want %.9g\n", got, want);
    return false;
}

static void lab_distribution__agrees_with_published_tables(void)
{
    CHECK(near(lab_binomial_cdf(10, 1, 0.5), 11.0 / 1024, 1e-12));
    CHECK(near(lab_binomial_cdf(20, 5, 0.5), 0.020695, 1e-6));
    CHECK(near(lab_binomial_cdf(15, 4, 0.3), 0.515491, 1e-6));
    CHECK(near(lab_binomial_cdf(5, 5, 0.3), 1, 0));
    CHECK(near(lab_normal_cdf(1), 0.841345, 1e-6));
    CHECK(near(lab_normal_quantile(0.975), 1.959964, 1e-6));
    CHECK(near(lab_normal_quantile(0.2), -0.841621, 1e-6));
    CHECK(near(lab_student_quantile(0.975, 1), 12.7062, 1e-4));
    CHECK(near(lab_student_quantile(0.975, 9), 2.262157, 1e-6));
    CHECK(near(lab_student_quantile(0.95, 30), 1.697261, 1e-6));
    CHECK(near(lab_student_cdf(0, 7), 0.5, 1e-12));
    CHECK(near(lab_student_cdf(-2.262157, 9), 0.025, 1e-7));
    CHECK(near(lab_chi_square_quantile(0.95, 10), 18.307, 0.03));
    CHECK(near(lab_chi_square_quantile(0.2, 10), 6.179, 0.03));
}

static void lab_stats__ranks_of_the_median_interval_are_the_tabled_ones(void)
{
    static const size_t table[][2] = { { 5, 0 }, { 6, 1 }, { 10, 2 }, { 20, 6 }, { 30, 10 }, { 40, 14 }, { 60, 22 } };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        CHECK_EQ(lab_median_rank(table[i][0], 0.95), table[i][1]);
    const double ten[] = { 7, 3, 9, 1, 10, 5, 2, 8, 6, 4 };
    struct lab_interval interval = lab_median_interval(ten, 10, 0.95);
    CHECK(near(interval.low, 2, 0) && near(interval.high, 9, 0));
    CHECK(near(lab_median(ten, 10), 5.5, 0));
    CHECK(near(ten[0], 7, 0)); /* the input stays as it is */
    interval = lab_median_interval(ten, 5, 0.95);
    CHECK(isinf(interval.low) && isinf(interval.high));
}

static void lab_stats__mean_deviation_and_quantiles_are_right(void)
{
    const double values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
    CHECK(near(lab_mean(values, 8), 5, 1e-12));
    CHECK(near(lab_deviation(values, 8), 2.13809, 1e-5));
    CHECK(near(lab_quantile(values, 8, 0), 2, 0));
    CHECK(near(lab_quantile(values, 8, 1), 9, 0));
    CHECK(near(lab_quantile(values, 8, 0.25), 4, 1e-12));
    CHECK(near(lab_deviation(values, 1), 0, 0));
}

/* The bootstrap distribution of the median of three values is known: 7/27, 13/27, 7/27. */
static void lab_stats__bootstrap_agrees_with_the_exact_distribution(void)
{
    const double three[] = { 1, 2, 3 };
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    struct lab_interval interval = lab_bootstrap_interval(three, 3, 0.44, 20000, &random); /* tails 0.28 > 7/27 */
    CHECK(near(interval.low, 2, 0) && near(interval.high, 2, 0));
    interval = lab_bootstrap_interval(three, 3, 0.52, 20000, &random); /* tails 0.24 < 7/27 */
    CHECK(near(interval.low, 1, 0) && near(interval.high, 3, 0));
}

static void lab_rank__sign_test_is_exact_and_drops_ties(void)
{
    const double values[] = { -1, -2, -3, -1, -5, -2, -1, -3, -4, 2, 0, 0 };
    struct lab_sign sign = lab_sign_test(values, 12);
    CHECK_EQ(sign.below, 9);
    CHECK_EQ(sign.above, 1);
    CHECK_EQ(sign.ties, 2);
    CHECK(near(sign.p, 22.0 / 1024, 1e-12));
    CHECK(near(lab_sign_test(values + 10, 2).p, 1, 0));
}

/* Fills values 1 ... n, of which the first few are negated until the negative rank sum is `sum`. */
static double wilcoxon_p_of_sum(size_t n, size_t sum)
{
    double values[40];
    for (size_t rank = n; rank > 0; rank--) {
        bool negative = rank <= sum;
        sum -= negative ? rank : 0;
        values[rank - 1] = negative ? -(double)rank : (double)rank;
    }
    return lab_wilcoxon_test(values, n).p;
}

static void lab_rank__wilcoxon_has_the_tabled_critical_values(void)
{
    static const size_t table[][2] = { { 6, 0 },   { 8, 3 },   { 10, 8 },  { 12, 13 },
                                       { 15, 25 }, { 20, 52 }, { 25, 89 }, { 30, 137 } };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        CHECK(wilcoxon_p_of_sum(table[i][0], table[i][1]) <= 0.05);
        CHECK(wilcoxon_p_of_sum(table[i][0], table[i][1] + 1) > 0.05);
    }
    CHECK(near(wilcoxon_p_of_sum(10, 8), 50.0 / 1024, 1e-12));
}

static void lab_rank__wilcoxon_and_hodges_lehmann_agree_with_the_depression_scores(void)
{
    const double first[] = { 1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30 };
    const double second[] = { 0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29 };
    double change[9];
    for (size_t i = 0; i < 9; i++)
        change[i] = second[i] - first[i];
    struct lab_wilcoxon test = lab_wilcoxon_test(change, 9);
    CHECK(near(test.rank_sum_above, 5, 0));
    CHECK(near(test.p, 0.0390625, 1e-9));
    CHECK(near(lab_hodges_lehmann(change, 9), -0.46, 0.005));
    const double skewed[] = { 0, 0, 9 };
    CHECK(near(lab_hodges_lehmann(skewed, 3), 2.25, 1e-12));
}

static void lab_rank__wilcoxon_takes_equal_magnitudes_and_many_values(void)
{
    const double tied[] = { 1, 1, 1, -1, 0 };
    struct lab_wilcoxon test = lab_wilcoxon_test(tied, 5);
    CHECK_EQ(test.ties, 1);
    CHECK(near(test.p, 0.625, 1e-12)); /* with all ranks equal it is the sign test of 3 against 1 */
    double many[150];
    struct lab_random random;
    lab_random_seed(&random, 7);
    for (size_t i = 0; i < 150; i++)
        many[i] = lab_random_normal(&random) + 0.2;
    double exact = lab_wilcoxon_test(many, 100).p; /* the last exact one, against the normal limit nearby */
    double limit = lab_wilcoxon_test(many, 101).p;
    CHECK(exact > 0 && limit > 0 && fabs(log(exact / limit)) < 1);
}

static void lab_rank__spearman_finds_drift(void)
{
    const double rising[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    CHECK(near(lab_spearman_drift(rising, 10).rho, 1, 1e-12));
    CHECK(lab_spearman_drift(rising, 10).p < 1e-6);
    /* d squared sums to 194 over ten ranks: rho = 1 - 6 * 194 / 990 */
    const double quotients[] = { 10, 2, 8, 9, 3, 5, 1, 4, 7, 6 };
    double squares = 0;
    for (size_t i = 0; i < 10; i++)
        squares += (quotients[i] - (double)(i + 1)) * (quotients[i] - (double)(i + 1));
    struct lab_spearman spearman = lab_spearman_drift(quotients, 10);
    CHECK(near(spearman.rho, 1 - 6 * squares / 990, 1e-12));
    double t = fabs(spearman.rho) * sqrt(8 / (1 - spearman.rho * spearman.rho));
    CHECK(near(spearman.p, 2 * (1 - lab_student_cdf(t, 8)), 1e-9));
    const double flat[] = { 3, 3, 3, 3, 3 };
    CHECK(near(lab_spearman_drift(flat, 5).p, 1, 0));
}

static void lab_family__holm_by_hand(void)
{
    double p[] = { 0.01, 0.04, 0.03, 0.005 };
    lab_holm_adjust(p, 4);
    CHECK(near(p[0], 0.03, 1e-12) && near(p[1], 0.06, 1e-12) && near(p[2], 0.06, 1e-12) && near(p[3], 0.02, 1e-12));
    CHECK_EQ(lab_holm_blocks(1, 0.95), 6);
    CHECK_EQ(lab_holm_blocks(37, 0.95), 11);
    double high[] = { 0.9, 0.8 };
    lab_holm_adjust(high, 2);
    CHECK(near(high[0], 1, 0) && near(high[1], 1, 0));
}

static void lab_family__summary_is_the_geometric_mean_with_students_interval(void)
{
    const double logs[] = { log(0.5), log(1.0), log(2.0) };
    struct lab_summary summary = lab_summarise(logs, 3, 0.95);
    CHECK(near(summary.ratio, 1, 1e-12));
    CHECK_EQ(summary.worst, 2);
    CHECK(near(summary.worst_ratio, 2, 1e-12));
    CHECK(near(log(summary.interval.high), 4.302653 * log(2.0) / sqrt(3), 1e-5));
    CHECK(isinf(lab_summarise(logs, 1, 0.95).interval.high));
}

/* Values of one of three shapes, all with median 0. */
static double shaped(struct lab_random *random, int shape)
{
    double z = lab_random_normal(random);
    switch (shape) {
    case 0: return z;
    case 1: return exp(z) - 1;                                  /* a long right tail */
    default: return lab_random_unit(random) < 0.1 ? 10 * z : z; /* now and then a spike */
    }
}

static void lab_stats__median_interval_covers_the_truth_whatever_the_shape(void)
{
    enum { TRIALS = 3000 };
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    for (int shape = 0; shape < 3; shape++) {
        for (size_t n = 10; n <= 40; n += 15) {
            int covered = 0;
            for (int trial = 0; trial < TRIALS; trial++) {
                double values[40];
                for (size_t i = 0; i < n; i++)
                    values[i] = shaped(&random, shape);
                struct lab_interval interval = lab_median_interval(values, n, 0.95);
                covered += interval.low <= 0 && interval.high >= 0;
            }
            CHECK(covered >= TRIALS * 0.935); /* four standard errors under 0.95 */
        }
    }
}

static void lab_power__the_visible_effect_is_seen_in_four_of_five_samples(void)
{
    enum { TRIALS = 2000 };
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed + 1);
    for (size_t n = 10; n <= 40; n += 15) {
        double effect = lab_visible_from_spread(1, n, 0.95);
        int seen = 0;
        double estimated = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double values[40];
            for (size_t i = 0; i < n; i++)
                values[i] = lab_random_normal(&random) + effect;
            seen += lab_median_interval(values, n, 0.95).low > 0;
            estimated += lab_visible_from_values(values, n, 0.95) / TRIALS;
        }
        CHECK(near((double)seen / TRIALS, 0.8, 0.04));
        CHECK(near(estimated / effect, 1, 0.12)); /* what the values themselves say agrees with what was planted */
    }
}

static void lab_power__blocks_for_an_effect_are_enough_and_not_far_too_many(void)
{
    size_t blocks = lab_blocks_for_effect(0.05, 0.02, 0.95, 2000);
    CHECK(lab_visible_from_spread(0.05, blocks, 0.95) <= 0.02);
    CHECK(lab_visible_from_spread(0.05, blocks - 8, 0.95) > 0.02);
    CHECK_EQ(lab_blocks_for_effect(0.5, 0.001, 0.95, 50), 50);
    CHECK(lab_blocks_for_effect(1e-6, 0.01, 0.95, 2000) <= 6);
    CHECK(isinf(lab_visible_from_spread(1, 5, 0.95)));
    CHECK(lab_spread_caution(2) > 1.5 && lab_spread_caution(100) < 1.1);
}

static void lab_design__a_block_is_a_permutation_and_its_reverse(void)
{
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    size_t first_counts[5] = { 0 };
    for (int trial = 0; trial < 1000; trial++) {
        size_t order[10];
        unsigned seen = 0;
        lab_design_block(&random, 5, order);
        for (size_t i = 0; i < 5; i++) {
            seen |= 1u << order[i];
            CHECK_EQ(order[i], order[9 - i]);
        }
        CHECK_EQ(seen, 31);
        first_counts[order[0]]++;
    }
    for (size_t i = 0; i < 5; i++)
        CHECK(first_counts[i] > 130 && first_counts[i] < 270); /* 200 expected */
}

static void lab_design__the_plan_keeps_to_the_budget_and_to_ten(void)
{
    struct lab_plan_facts facts = { .spread = 0.05,
                                    .freedom = 20,
                                    .wanted_effect = 0.01,
                                    .block_seconds = 2,
                                    .budget_seconds = 100,
                                    .confidence = 0.95 };
    struct lab_plan plan = lab_plan_session(&facts);
    CHECK_EQ(plan.blocks, 50);
    CHECK(plan.visible_effect > 0.01 && !plan.over_budget);
    facts.budget_seconds = 1e6;
    plan = lab_plan_session(&facts);
    CHECK(plan.blocks > 300 && plan.blocks < LAB_BLOCKS_MAX);
    facts.budget_seconds = -5;
    plan = lab_plan_session(&facts);
    CHECK(plan.blocks == LAB_BLOCKS_MIN && plan.over_budget);
    facts.least_blocks = 12;
    CHECK_EQ(lab_plan_session(&facts).blocks, 12);
    facts.asked_blocks = 3;
    CHECK_EQ(lab_plan_session(&facts).blocks, 3);
}

static void lab_random__draws_are_even_and_repeatable(void)
{
    struct lab_random left;
    struct lab_random right;
    lab_random_seed(&left, 42);
    lab_random_seed(&right, 42);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < 20000; i++) {
        double z = lab_random_normal(&left);
        double twin = lab_random_normal(&right);
        CHECK(z <= twin && z >= twin);
        sum += z;
        squares += z * z;
    }
    CHECK(near(sum / 20000, 0, 0.03) && near(squares / 20000, 1, 0.05));
    for (int i = 0; i < 1000; i++)
        CHECK(lab_random_below(&left, 7) < 7);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(lab_distribution__agrees_with_published_tables);
    RUN(lab_stats__ranks_of_the_median_interval_are_the_tabled_ones);
    RUN(lab_stats__mean_deviation_and_quantiles_are_right);
    RUN(lab_stats__bootstrap_agrees_with_the_exact_distribution);
    RUN(lab_rank__sign_test_is_exact_and_drops_ties);
    RUN(lab_rank__wilcoxon_has_the_tabled_critical_values);
    RUN(lab_rank__wilcoxon_and_hodges_lehmann_agree_with_the_depression_scores);
    RUN(lab_rank__wilcoxon_takes_equal_magnitudes_and_many_values);
    RUN(lab_rank__spearman_finds_drift);
    RUN(lab_family__holm_by_hand);
    RUN(lab_family__summary_is_the_geometric_mean_with_students_interval);
    RUN(lab_stats__median_interval_covers_the_truth_whatever_the_shape);
    RUN(lab_power__the_visible_effect_is_seen_in_four_of_five_samples);
    RUN(lab_power__blocks_for_an_effect_are_enough_and_not_far_too_many);
    RUN(lab_design__a_block_is_a_permutation_and_its_reverse);
    RUN(lab_design__the_plan_keeps_to_the_budget_and_to_ten);
    RUN(lab_random__draws_are_even_and_repeatable);
    return unit_end();
}
