/* SPDX-License-Identifier: MIT
 *
 * What: the pictures of the page.
 *
 * Why this way: small pictures of one width, set side by side where there is room and below each other where there is not,
 * with their labels on the data, so that neither legend nor zooming is needed on a telephone.
 *
 * Invariants: no value is left out: what lies beyond a scale is drawn at its edge, as a mark of its own.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_PAGE_CHARTS_H
#define SJ_PAGE_CHARTS_H

#include "page/view.h"

/* One rung of a ladder. */
struct page_rung {
    const char *name;
    const char *detail;  /* beside the name, quiet; may be "" */
    const char *fault;   /* shown instead of an effect; NULL if there is none */
    const char *verdict; /* word after the effect; may be "" */
    const char *class;   /* page_verdict_class() */
    double log_estimate;
    struct lab_interval log_interval;
};

struct page_ladder {
    const char *title;
    const char *base;
    const struct page_rung *rungs;
    size_t count;
    bool has_null;
    struct lab_interval null; /* log */
};

/* Effects with their intervals, from least protection to most, the null control as a band behind them. */
void page_chart_ladder(FILE *out, const struct page_ladder *ladder);

/* The pairs of an arm in run order, by CPU time: dots, the interval as a band, the null control's pairs in grey.
 * `range` is of log ratios, shared by the arms of a workload. */
void page_chart_strip(FILE *out, const struct page_view *view, const struct bench_result *result, size_t head,
                      struct lab_interval range);

struct lab_interval page_chart_strip_range(const struct page_view *view, const struct bench_result *result);

/* The peak memory of every run of every arm. */
void page_chart_memory(FILE *out, const struct page_view *view, const struct bench_result *result);

/* The longest run and the most memory of the curves of a workload; 0 seconds if there are none. */
struct page_extent {
    double seconds;
    double mib;
};

struct page_extent page_chart_curve_extent(const struct page_view *view, const struct bench_result *result);

/* The resident memory of an arm over the time of one run, of those of the arm the one in the middle by its mean; the
 * baseline's in grey. Nothing if no run of the arm was long enough. */
void page_chart_curve(FILE *out, const struct page_view *view, const struct bench_result *result, size_t head,
                      struct page_extent extent);

#endif
