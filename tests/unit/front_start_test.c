/* SPDX-License-Identifier: MIT
 *
 * What: which table of entry points serves a policy.
 *
 * Why this way: a policy that could have a level's table and gets the one that reads the policy at run time is right in all it
 * does, and only slower.
 *
 * Invariants: none.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "front/entry.h"

static void front_start__level_serves_what_its_fast_paths_do_not_read(void)
{
    struct sj_policy policy = sj__policy_levels[2];
    CHECK(sj__variant_for(&policy) == &sj__variant_level2);
    policy.trap = SJ_TRAP_ON;
    policy.align_end = 1;
    CHECK(sj__variant_for(&policy) == &sj__variant_level2);
    policy = sj__policy_levels[3];
    policy.quarantine = 4;
    policy.trap = SJ_TRAP_OFF;
    CHECK(sj__variant_for(&policy) == &sj__variant_level3);
}

static void front_start__no_level_serves_what_its_fast_paths_read(void)
{
    struct sj_policy policy = sj__policy_levels[2];
    policy.verify = 1;
    CHECK(sj__variant_for(&policy) == &sj__variant_custom);
    policy = sj__policy_levels[3];
    policy.delay = SJ_DELAY_RUN;
    CHECK(sj__variant_for(&policy) == &sj__variant_custom);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(front_start__level_serves_what_its_fast_paths_do_not_read);
    RUN(front_start__no_level_serves_what_its_fast_paths_read);
    return unit_end();
}
