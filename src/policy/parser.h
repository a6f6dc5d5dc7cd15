/* SPDX-License-Identifier: MIT
 *
 * What: what options.c (one option) and settle.c (texts and sources) share.
 *
 * Why this way: a slice is a pointer and a length into the text as it came; nothing is copied and nothing changed.
 *
 * Invariants: a function that returns false has changed nothing.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_POLICY_PARSER_H
#define SJ_POLICY_PARSER_H

#include "policy/options.h"

struct sj_slice {
    const char *start;
    size_t length;
};

bool sj__slice_is(struct sj_slice slice, const char *word);
struct sj_slice sj__slice_trim(const char *start, const char *end);  /* without blanks at both ends */
bool sj__slice_read_bool(struct sj_slice value, uint8_t *result);    /* on/off/1/0/true/false/yes/no */
bool sj__slice_read_number(struct sj_slice value, uint64_t *result); /* decimal or 0x, the whole slice, 64 bits */

/* Sets one option; false if the value is not one of its. */
bool sj__option_apply(struct sj_settings *settings, const struct sj_option *option, struct sj_slice value);

/* The member of an option that is no seed. */
uint8_t sj__option_read(const struct sj_settings *settings, const struct sj_option *option);
void sj__option_write(struct sj_settings *settings, const struct sj_option *option, uint8_t value);

/* True if the value is one of the words for off and on, and the option has these. */
bool sj__option_is_word(const struct sj_option *option, struct sj_slice value);

#endif
