/* SPDX-License-Identifier: MIT
 *
 * What: what is said about each option: the columns of options.def that the parser leaves out.
 *
 * Why this way: for the command and the manual only; the library does not include it and so does not carry the prose.
 *
 * Invariants: row i belongs to sj__options_table[i].
 *
 * Concurrency: constants.
 */
#ifndef SJ_POLICY_OPTION_TEXTS_H
#define SJ_POLICY_OPTION_TEXTS_H

struct sj_option_text {
    const char *summary;
    const char *threat; /* what it defends against; "" if it is no protection */
    const char *cost;
    const char *detail;
};

#define SJ_OPTION(name, kind, member, values, strengths, summary, threat, cost, detail) \
    { summary, threat, cost, detail },
static const struct sj_option_text sj__option_texts[] = {
#include "policy/options.def"
};
#undef SJ_OPTION

#endif
