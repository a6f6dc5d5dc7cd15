/* SPDX-License-Identifier: MIT
 *
 * What: what `scrubjay explain` and the manual need of an option besides its row: its place in the ladder.
 *
 * Why this way: read out of the levels themselves, so that no second table of defaults can differ from them.
 *
 * Invariants: an index is one of sj__options_table and sj__option_texts.
 *
 * Concurrency: constants.
 */
#ifndef SJ_TOOLS_LADDER_H
#define SJ_TOOLS_LADDER_H

#include "policy/option_texts.h"
#include "policy/options.h"

/* Is the option a rung of the ladder: does each level set it? */
bool sj__option_is_in_levels(const struct sj_option *option);

/* The value of option `index` at `level`. */
void sj__option_at_level(size_t index, unsigned level, char *buffer, size_t bytes);

#endif
