/* SPDX-License-Identifier: MIT
 *
 * What: what fits a budget, and which options are added.
 *
 * Why this way: on made-up prices, where the right answer is known.
 *
 * Concurrency: one thread.
 */
#include "unit.h"

#include <math.h>

#include "../../tools/lab/budget.h"

static struct lab_interval around(double low, double high)
{
    return (struct lab_interval){ log1p(low), log1p(high) };
}

static void lab_budget__the_whole_interval_decides(void)
{
    CHECK_EQ(lab_fit_of(around(0.01, 0.029), 0.03), LAB_FITS);
    CHECK_EQ(lab_fit_of(around(-0.05, -0.01), 0), LAB_FITS);
    CHECK_EQ(lab_fit_of(around(0.031, 0.05), 0.03), LAB_FAILS);
    CHECK_EQ(lab_fit_of(around(0.01, 0.05), 0.03), LAB_UNSURE);
    CHECK_EQ(lab_fit_of((struct lab_interval){ -INFINITY, INFINITY }, 0.03), LAB_UNSURE);
}

static void lab_budget__takes_what_protects_most_for_its_price(void)
{
    const double room[2] = { 0.03, 0.10 };
    struct lab_offer offers[] = {
        { .option = 1, .gain = 1, .log_prices = { 0.02, 0.00 } },  /* with the next one too dear */
        { .option = 2, .gain = 2, .log_prices = { 0.02, 0.01 } },  /* twice the gain */
        { .option = 3, .gain = 1, .log_prices = { 0.001, 0.20 } }, /* no memory for it */
        { .option = 4, .gain = 1, .log_prices = { -0.05, 0.0 } },  /* cheaper than nothing */
        { .option = 5, .gain = 1, .log_prices = { 0.005, 0.0 } },
    };
    CHECK_EQ(lab_take_offers(offers, 5, room, 2), 3);
    CHECK(!offers[0].taken && offers[1].taken && !offers[2].taken && offers[3].taken && offers[4].taken);
    CHECK_EQ(lab_dearest_offer(offers, 5, room, 2), 1);
}

static void lab_budget__one_value_an_option(void)
{
    const double room[1] = { 0.05 };
    struct lab_offer offers[] = { { .option = 7, .gain = 1, .log_prices = { -0.01 } },
                                  { .option = 7, .gain = 3, .log_prices = { 0 } } };
    CHECK_EQ(lab_take_offers(offers, 2, room, 1), 1);
    CHECK(!offers[0].taken && offers[1].taken);
}

static void lab_budget__no_room_takes_only_what_is_free(void)
{
    const double room[1] = { -0.01 };
    struct lab_offer offers[] = { { .option = 1, .gain = 1, .log_prices = { 0.001 } },
                                  { .option = 2, .gain = 1, .log_prices = { 0 } } };
    CHECK_EQ(lab_take_offers(offers, 2, room, 1), 1);
    CHECK(offers[1].taken);
    CHECK_EQ(lab_take_offers(offers, 0, room, 1), 0);
    CHECK_EQ(lab_dearest_offer(offers, 0, room, 1), 0);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(lab_budget__the_whole_interval_decides);
    RUN(lab_budget__takes_what_protects_most_for_its_price);
    RUN(lab_budget__one_value_an_option);
    RUN(lab_budget__no_room_takes_only_what_is_free);
    return unit_end();
}
