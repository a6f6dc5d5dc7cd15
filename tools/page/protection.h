/* SPDX-License-Identifier: MIT
 *
 * What: how much an arm protects: how many of the ladder's protections it has on, and what it adds to another arm.
 *
 * Why this way: read out of the arm's SCRUBJAY_OPTIONS by the library's own parser, so that the page and the library
 * cannot tell two stories. It counts protections and does not weigh them: a weight would be an opinion.
 *
 * Invariants: arms without Scrubjay have none and are not `known`.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_PAGE_PROTECTION_H
#define SJ_PAGE_PROTECTION_H

#include "bench/arms.h"
#include "policy/options.h"

struct page_protection {
    bool known; /* Scrubjay is loaded; the settings are its own */
    unsigned on;
    struct sj_settings settings;
};

struct page_protection page_protection_of(const struct bench_arm *arm);

/* Protections there are. */
unsigned page_protection_count(void);

/* "random=on, guard=large": what `head` sets otherwise than `base`; "" if nothing. The caller frees it. */
char *page_protection_added(const struct page_protection *base, const struct page_protection *head);

/* Is it a level as it is, without single options? */
bool page_protection_is_level(const struct page_protection *protection);

/* If the two differ in exactly one protection: its index in sj__options_table; else -1. */
int page_protection_single(const struct page_protection *base, const struct page_protection *head);

#endif
