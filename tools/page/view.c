/* SPDX-License-Identifier: MIT
 *
 * What: see view.h.
 *
 * Why this way: see view.h.
 */
#include "page/view.h"

#include <stdlib.h>

void page_view_make(struct page_view *view, const struct bench_session *session, const struct bench_claims *claims,
                    const struct bench_run *floor)
{
    const struct bench_options *options = session->options;
    *view = (struct page_view){ .session = session,
                                .claims = claims,
                                .floor = floor,
                                .arms = options->arms.items,
                                .base = options->bases[0],
                                .null = options->arms.null };
    for (size_t arm = 0; arm < options->arms.count; arm++)
        view->protections[arm] = page_protection_of(&options->arms.items[arm]);
    /* Insertion keeps the given order among equals. An allocator of which nothing is known comes first. */
    for (size_t arm = 0; arm < options->arms.null; arm++) {
        if (arm == view->base)
            continue;
        const struct page_protection *protection = &view->protections[arm];
        size_t at = view->order_count++;
        for (; at > 0; at--) {
            const struct page_protection *before = &view->protections[view->order[at - 1]];
            if (before->known < protection->known ||
                (before->known == protection->known && before->on <= protection->on))
                break;
            view->order[at] = view->order[at - 1];
        }
        view->order[at] = arm;
    }
}

const struct bench_claim *page_view_claim(const struct page_view *view, const struct bench_result *result, size_t head,
                                          enum bench_metric metric)
{
    for (size_t i = 0; i < view->claims->count; i++) {
        const struct bench_claim *claim = &view->claims->items[i];
        if (claim->result == result && claim->base == view->base && claim->head == head && claim->metric == metric)
            return claim;
    }
    return NULL;
}

const char *page_verdict_class(const struct bench_claim *claim)
{
    if (claim->fault != NULL)
        return "flat";
    switch (claim->claim.verdict) {
    case LAB_SLOWER: return "more";
    case LAB_FASTER: return "less";
    case LAB_LEANS: return claim->claim.head.log_median > 0 ? "more" : "less";
    default: return "flat";
    }
}

const char *page_metric_words(enum bench_metric metric)
{
    switch (metric) {
    case BENCH_CPU: return "CPU time";
    case BENCH_RSS: return "Peak memory";
    case BENCH_MEAN_RSS: return "Mean memory";
    case BENCH_WALL: return "Wall time";
    default: return bench_metric_name(metric);
    }
}
