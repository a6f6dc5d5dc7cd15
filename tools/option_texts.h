/* SPDX-License-Identifier: MIT
 *
 * What: what is said about each option: the columns of options.def that the library leaves out.
 *
 * Why this way: `scrubjay explain` and the manual print the same rows.
 *
 * Invariants: row i belongs to sj__options_table[i].
 *
 * Concurrency: constants.
 */
#ifndef SJ_TOOLS_OPTION_TEXTS_H
#define SJ_TOOLS_OPTION_TEXTS_H

#include "policy/options.h"

struct sj_option_text {
    const char *summary;
    const char *threat; /* what it defends against; "" if it is no protection */
    const char *cost;
    const char *detail;
};

extern const struct sj_option_text sj__option_texts[];

/* Is the option a rung of the ladder: does each level set it? */
bool sj__option_is_in_levels(const struct sj_option *option);

/* The value of option `index` at `level`. */
void sj__option_at_level(size_t index, unsigned level, char *buffer, size_t bytes);

#endif
