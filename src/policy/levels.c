/* SPDX-License-Identifier: MIT
 *
 * What: the ladder at run time.
 *
 * Why this way: the same constants the variants are instantiated with, so that "level 2" has one meaning.
 *
 * Invariants: index = level. Each level is at least as strong as the one below it in every option; a test checks it.
 *
 * Concurrency: constants.
 */
#include "policy/policy.h"

const struct sj_policy sj__policy_levels[SJ_LEVEL_MAX + 1] = {
    SJ_POLICY_LEVEL_0, SJ_POLICY_LEVEL_1, SJ_POLICY_LEVEL_2, SJ_POLICY_LEVEL_3, SJ_POLICY_LEVEL_4,
};
