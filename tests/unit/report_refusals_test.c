/* SPDX-License-Identifier: MIT
 *
 * What: tests of report/refusals.h: a site is new once, by caller and id, and a full table counts.
 */
#include "report/refusals.h"

#include "unit/unit.h"

static struct sj_refusals refusals;

static const void *caller(size_t number)
{
    return (const char *)&refusals + number;
}

static void refusals_count__is_true_once_when_same_site(void)
{
    refusals = (struct sj_refusals){ 0 };
    CHECK(sj__refusals_count(&refusals, SJ_DOUBLE_FREE, caller(1)));
    CHECK(!sj__refusals_count(&refusals, SJ_DOUBLE_FREE, caller(1)));
    CHECK(sj__refusals_count(&refusals, SJ_INTERIOR_POINTER, caller(1)));
    CHECK(sj__refusals_count(&refusals, SJ_DOUBLE_FREE, caller(2)));
    CHECK_EQ(refusals.used, 3);
    CHECK_EQ(refusals.sites[0].count, 2);
    CHECK_EQ(refusals.beyond, 0);
}

static void refusals_count__counts_when_table_is_full(void)
{
    refusals = (struct sj_refusals){ 0 };
    for (size_t i = 0; i < SJ_REFUSALS_MAX; i++)
        CHECK(sj__refusals_count(&refusals, SJ_DOUBLE_FREE, caller(i)));
    for (size_t i = 0; i < 7; i++)
        CHECK(!sj__refusals_count(&refusals, SJ_DOUBLE_FREE, caller(SJ_REFUSALS_MAX + i)));
    CHECK(!sj__refusals_count(&refusals, SJ_DOUBLE_FREE, caller(SJ_REFUSALS_MAX - 1)));
    CHECK_EQ(refusals.used, SJ_REFUSALS_MAX);
    CHECK_EQ(refusals.beyond, 7);
    CHECK_EQ(refusals.sites[SJ_REFUSALS_MAX - 1].count, 2);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(refusals_count__is_true_once_when_same_site);
    RUN(refusals_count__counts_when_table_is_full);
    return unit_end();
}
