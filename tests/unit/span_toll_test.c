/* SPDX-License-Identifier: MIT */
/*
 * What: the books that trap=auto keeps of the time its system calls take: what is free, what is earned, what can be owed.
 * Why this way: time is the test's, so each sum is known.
 */
#include "platform/clock.h"
#include "span/toll.h"
#include "unit/unit.h"

static uint64_t now_ms;

static uint64_t test_clock(void)
{
    return now_ms;
}

/* How many blocks in a row may be trapped, each taking so long. */
static unsigned admitted_in_a_row(uint64_t each_ns, unsigned most)
{
    unsigned count = 0;
    while (count < most && sj__toll_admits()) {
        sj__toll_charge(each_ns);
        count++;
    }
    return count;
}

/* In this order: the first test uses up what is free. */
static void span_toll__admits_the_first_whatever_they_take(void)
{
    CHECK(admitted_in_a_row(1000 * (uint64_t)SJ_TOLL_CREDIT_NS, 2 * SJ_TOLL_FREE) == SJ_TOLL_FREE);
    CHECK(!sj__toll_admits());
}

static void span_toll__owes_no_more_than_its_debt(void)
{
    now_ms += (uint64_t)SJ_TOLL_DEBT_NS * SJ_TOLL_SHARE / 1000000;
    CHECK(!sj__toll_admits());
    now_ms += 1;
    CHECK(sj__toll_admits());
}

static void span_toll__spends_its_share_of_the_time(void)
{
    uint64_t each_ns = 10000, spent_ns = 0;
    (void)admitted_in_a_row(each_ns, UINT32_MAX); /* what is left of before */
    for (unsigned round = 0; round < 1000; round++) {
        now_ms++;
        spent_ns += each_ns * admitted_in_a_row(each_ns, UINT32_MAX);
    }
    CHECK(spent_ns <= 1000 * 1000000 / SJ_TOLL_SHARE + each_ns);
    CHECK(spent_ns >= 1000 * 1000000 / SJ_TOLL_SHARE - 2 * each_ns);
}

static void span_toll__saves_up_no_more_than_its_credit(void)
{
    now_ms += 3600 * 1000;
    CHECK_EQ(admitted_in_a_row(1000, UINT32_MAX), SJ_TOLL_CREDIT_NS / 1000);
}

static void span_toll__admits_none_when_time_stands_still(void)
{
    (void)admitted_in_a_row(1000, UINT32_MAX);
    for (unsigned i = 0; i < 1000; i++)
        CHECK(!sj__toll_admits());
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    sj__clock_set_source(test_clock);
    RUN(span_toll__admits_the_first_whatever_they_take);
    RUN(span_toll__owes_no_more_than_its_debt);
    RUN(span_toll__spends_its_share_of_the_time);
    RUN(span_toll__saves_up_no_more_than_its_credit);
    RUN(span_toll__admits_none_when_time_stands_still);
    return unit_end();
}
