/* SPDX-License-Identifier: MIT
 *
 * What: the place of an option in the ladder; see ladder.h.
 *
 * Why this way: see ladder.h.
 *
 * Invariants: see ladder.h.
 *
 * Concurrency: constants.
 */
#include "ladder.h"

bool sj__option_is_in_levels(const struct sj_option *option)
{
    _Static_assert(offsetof(struct sj_settings, policy) == 0, "the policy's members come first");
    return option->offset < sizeof(struct sj_policy);
}

void sj__option_at_level(size_t index, unsigned level, char *buffer, size_t bytes)
{
    struct sj_settings settings;
    sj__options_start(&settings, level);
    sj__options_value(&sj__options_table[index], &settings, buffer, bytes);
}
