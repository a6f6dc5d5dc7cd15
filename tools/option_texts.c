/* SPDX-License-Identifier: MIT
 *
 * What: what is said about each option; see option_texts.h.
 *
 * Why this way: see policy/options.def.
 *
 * Invariants: see option_texts.h.
 *
 * Concurrency: constants.
 */
#include "option_texts.h"

const struct sj_option_text sj__option_texts[] = {
#define SJ_OPTION(name, kind, member, values, strengths, summary, threat, cost, detail) \
    { summary, threat, cost, detail },
#include "policy/options.def"
#undef SJ_OPTION
};

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
