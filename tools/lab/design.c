/* SPDX-License-Identifier: MIT
 *
 * What: see design.h.
 *
 * Why this way: the warm-up knows the spread from a handful of values, so it is raised to a bound that holds in four of
 * five sessions: too few blocks cost a verdict, too many only time.
 */
#include "lab/design.h"

#include "lab/power.h"

void lab_design_block(struct lab_random *random, size_t arms, size_t *order)
{
    for (size_t i = 0; i < arms; i++)
        order[i] = i;
    lab_random_shuffle(random, order, arms);
    for (size_t i = 0; i < arms; i++)
        order[arms + i] = order[arms - 1 - i];
}

struct lab_plan lab_plan_session(const struct lab_plan_facts *facts)
{
    struct lab_plan plan = { 0 };
    double spread = facts->spread * lab_spread_caution(facts->freedom);
    if (facts->asked_blocks > 0) {
        plan.blocks = facts->asked_blocks;
    } else {
        double affordable = facts->block_seconds > 0 ? facts->budget_seconds / facts->block_seconds : LAB_BLOCKS_MAX;
        affordable = affordable > 0 ? affordable : 0; /* the warm-up may have used up the budget */
        size_t least = facts->least_blocks > LAB_BLOCKS_MIN ? facts->least_blocks : LAB_BLOCKS_MIN;
        size_t most = affordable < LAB_BLOCKS_MAX ? (size_t)affordable : LAB_BLOCKS_MAX;
        plan.over_budget = most < least;
        plan.blocks =
            plan.over_budget ? least : lab_blocks_for_effect(spread, facts->wanted_effect, facts->confidence, most);
        if (plan.blocks < least)
            plan.blocks = least;
    }
    plan.visible_effect = lab_visible_from_spread(spread, plan.blocks, facts->confidence);
    return plan;
}
