/* SPDX-License-Identifier: MIT */
/*
 * What: gaps between samples are geometric with the mean that was asked for.
 * Why this way: by the moments and the first probabilities of many draws from a fixed seed, so that a wrong formula fails
 * and chance can't.
 */
#include "unit/unit.h"

#include "heap/countdown.h"

enum { DRAWS = 1000000 };

static void countdown_log2__is_exact_when_power(void)
{
    for (unsigned i = 0; i < 64; i++)
        CHECK_EQ(sj__log2_fixed((uint64_t)1 << i), (uint64_t)i << SJ_LOG2_SHIFT);
}

static void countdown_log2__adds_up_when_factors_multiply(void)
{
    uint64_t state = 5;
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t a = unit_random(&state) >> 33 | 1, b = unit_random(&state) >> 33 | 1;
        uint64_t sum = sj__log2_fixed(a) + sj__log2_fixed(b), whole = sj__log2_fixed(a * b);
        CHECK((sum > whole ? sum - whole : whole - sum) < 256); /* of 2^57 */
    }
    /* log2(3), of which the first bits are well known */
    CHECK_EQ(sj__log2_fixed(3) >> (SJ_LOG2_SHIFT - 30), 1701840526u);
}

static double root(double square)
{
    double guess = square > 1 ? square : 1;
    for (unsigned i = 0; i < 60; i++)
        guess = (guess + square / guess) / 2;
    return guess;
}

static void check_draws(uint32_t mean)
{
    uint64_t state = 11 + mean;
    double sum = 0, squares = 0, p = 1.0 / mean;
    unsigned counts[4] = { 0 };
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t gap = sj__countdown_draw(unit_random(&state), mean);
        sum += (double)gap;
        squares += (double)gap * (double)gap;
        if (gap < 4)
            counts[gap]++;
    }
    double want = mean - 1.0, deviation = root(want * mean), got = sum / DRAWS;
    double got_deviation = root(squares / DRAWS - got * got);
    CHECK(got >= want - 4 * deviation / 1000 && got <= want + 4 * deviation / 1000);
    CHECK(got_deviation >= deviation * 0.99 && got_deviation <= deviation * 1.01);
    double chance = p;
    for (unsigned i = 0; i < 4; i++, chance *= 1 - p) {
        double expected = DRAWS * chance, spread = 5 * root(expected) + 1;
        if (!CHECK(counts[i] >= expected - spread && counts[i] <= expected + spread))
            unit_print("# mean %u: gap %u came %u times of %.0f\n", mean, i, counts[i], expected);
    }
}

static void countdown_draw__is_geometric(void)
{
    static const uint32_t means[] = { 2, 3, 10, 500, 20000, 1000000 };
    for (size_t i = 0; i < sizeof means / sizeof means[0]; i++)
        check_draws(means[i]);
}

static void countdown_draw__is_in_bounds_when_extreme(void)
{
    CHECK_EQ(sj__countdown_draw(0, 1), 0);
    CHECK_EQ(sj__countdown_draw(UINT64_MAX, 1), 0);
    CHECK_EQ(sj__countdown_draw(UINT64_MAX, 2), 0);
    CHECK_EQ(sj__countdown_draw(0, 2), 64);
    CHECK(sj__countdown_draw(0, UINT32_MAX) > UINT32_MAX);
    CHECK(sj__countdown_draw(0, UINT32_MAX) < (uint64_t)UINT32_MAX * 64);
}

static void countdown_chance__is_that_of_at_least_one(void)
{
    CHECK_EQ(sj__countdown_chance(1, 1), UINT64_MAX);
    CHECK_EQ(sj__countdown_chance(1, 2) >> 32, (uint64_t)1 << 31);     /* 1/2 */
    CHECK_EQ(sj__countdown_chance(2, 2) >> 32, (uint64_t)3 << 30);     /* 3/4 */
    CHECK_EQ(sj__countdown_chance(3, 4) >> 32, (uint64_t)37 << 26);    /* 1 - (3/4)^3 = 37/64 */
    CHECK_EQ(sj__countdown_chance(1000000, 10), UINT64_MAX);           /* surely */
    CHECK_EQ(sj__countdown_chance(1 << 20, 1 << 20) >> 40, 10605226u); /* 1 - 1/e, and a little */
    CHECK_EQ(sj__countdown_chance(1, UINT32_MAX) >> 32, 1u);
}

/* Of draws over bytes: how many fall below `units`. */
static void countdown_chance__is_that_of_the_draws(void)
{
    enum { UNITS = 400, MEAN = 1000 };
    uint64_t state = 23, below = 0;
    for (unsigned i = 0; i < DRAWS; i++)
        below += sj__countdown_draw(unit_random(&state), MEAN) < UNITS;
    double want = (double)(sj__countdown_chance(UNITS, MEAN) >> 32) / 4294967296.0 * DRAWS;
    CHECK((double)below > want - 4 * root(want) && (double)below < want + 4 * root(want));
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(countdown_log2__is_exact_when_power);
    RUN(countdown_log2__adds_up_when_factors_multiply);
    RUN(countdown_draw__is_geometric);
    RUN(countdown_draw__is_in_bounds_when_extreme);
    RUN(countdown_chance__is_that_of_at_least_one);
    RUN(countdown_chance__is_that_of_the_draws);
    return unit_end();
}
