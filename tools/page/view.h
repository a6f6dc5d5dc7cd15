/* SPDX-License-Identifier: MIT
 *
 * What: what every part of the page is made from: a session, its claims, and the order its arms are shown in.
 *
 * Why this way: pictures and tables take the judged claims, the same that the text report prints, so that none of the two
 * can say what the other does not.
 *
 * Invariants: order[] has every arm but the baseline and the null control, from no protection to most; the baseline is the
 * session's first.
 *
 * Concurrency: read-only.
 */
#ifndef SJ_PAGE_VIEW_H
#define SJ_PAGE_VIEW_H

#include "bench/claims.h"
#include "page/protection.h"

struct page_view {
    const struct bench_session *session;
    const struct bench_claims *claims;
    const struct bench_run *floor;
    const struct bench_arm *arms;
    size_t base;
    size_t null;
    size_t order[BENCH_ARMS_MAX + 1];
    size_t order_count;
    struct page_protection protections[BENCH_ARMS_MAX + 1];
};

void page_view_make(struct page_view *view, const struct bench_session *session, const struct bench_claims *claims,
                    const struct bench_run *floor);

/* The claim of an arm against the view's baseline; NULL if there is none. */
const struct bench_claim *page_view_claim(const struct page_view *view, const struct bench_result *result, size_t head,
                                          enum bench_metric metric);

/* "more", "less" or "flat": the class of what shows a claim. */
const char *page_verdict_class(const struct bench_claim *claim);

/* "cpu time", "peak memory" */
const char *page_metric_words(enum bench_metric metric);

#endif
