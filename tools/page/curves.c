/* SPDX-License-Identifier: MIT
 *
 * What: memory over the time of a run; see charts.h.
 *
 * Why this way: one run that really was, not the mean of many, which would smear whatever comes and goes. A picture an arm
 * with the same scales and the baseline in grey: of seven curves in one picture none could be followed.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/text.h"
#include "page/charts.h"
#include "page/markup.h"
#include "page/scale.h"
#include "page/svg.h"

static const double CURVE_WIDTH = 440;
static const double CURVE_HEIGHT = 128;
static const double CURVE_EDGE = 6;
static const double CURVE_GUTTER = 74; /* for the labels of the ticks, at the right */
static const double CURVE_TOP = 24;
static const double CURVE_BOTTOM = 106;
static const double CURVE_FOOT = 15;
static const double CURVE_APART = 20;
static const double CURVE_APART_ACROSS = 60;
static const double CURVE_LABEL = 44;
static const double CURVE_MARGIN = 1.05;

enum { CURVE_NAME_MAX = 24 };

struct curve_run {
    double mean_rss_kib;
    size_t row;
};

static int curve_compare(const void *left, const void *right)
{
    const struct curve_run *a = left;
    const struct curve_run *b = right;
    int by_mean = (a->mean_rss_kib > b->mean_rss_kib) - (a->mean_rss_kib < b->mean_rss_kib);
    return by_mean != 0 ? by_mean : (a->row > b->row) - (a->row < b->row);
}

/* The run in the middle of an arm's; NULL if none was long enough. */
static const struct lab_series *curve_of(const struct bench_result *result, size_t arm)
{
    struct curve_run *runs = lab_allocate(result->row_count, sizeof *runs);
    size_t count = 0;
    for (size_t i = 0; i < result->row_count && result->faults[arm] == NULL; i++) {
        const struct bench_row *row = &result->rows[i];
        if (row->arm == arm && !row->warm_up && row->run.rss_kib.count > 0)
            runs[count++] = (struct curve_run){ (double)row->run.mean_rss_kib, i };
    }
    qsort(runs, count, sizeof *runs, curve_compare);
    const struct lab_series *middle = count > 0 ? &result->rows[runs[(count - 1) / 2].row].run.rss_kib : NULL;
    free(runs);
    return middle;
}

struct page_extent page_chart_curve_extent(const struct page_view *view, const struct bench_result *result)
{
    struct page_extent extent = { 0, 0 };
    for (size_t i = 0; i <= view->order_count; i++) {
        const struct lab_series *curve = curve_of(result, i < view->order_count ? view->order[i] : view->base);
        if (curve == NULL)
            continue;
        extent.seconds = fmax(extent.seconds, curve->span);
        for (size_t k = 0; k < curve->count; k++)
            extent.mib = fmax(extent.mib, curve->values[k] / 1024);
    }
    return extent;
}

static void curve_grid(FILE *out, const struct page_scale *across, const struct page_scale *up)
{
    double ticks[PAGE_TICKS_MAX];
    size_t count = page_scale_amounts(up, CURVE_APART, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = page_scale_place(up, ticks[i]);
        page_svg_line(out, i == 0 ? "zero" : "grid", across->first, y, across->last, y);
        char *label = bench_format("%g\u00a0MiB", ticks[i]);
        page_svg_text(out, "tick", CURVE_WIDTH - CURVE_EDGE, y + 4, PAGE_END, label);
        free(label);
    }
    count = page_scale_amounts(across, CURVE_APART_ACROSS, ticks);
    for (size_t i = 0; i < count; i++) {
        double x = page_scale_place(across, ticks[i]);
        page_svg_line(out, "grid", x, CURVE_TOP, x, CURVE_BOTTOM);
        /* At an edge there is no room for a label in the middle. */
        if (x < CURVE_LABEL / 2 || x > across->last - CURVE_LABEL / 2)
            continue;
        char *label = bench_format("%g\u00a0s", ticks[i]);
        page_svg_text(out, "tick", x, CURVE_BOTTOM + CURVE_FOOT, PAGE_MIDDLE, label);
        free(label);
    }
}

/* Each value stands in the middle of its part; at the ends the curve is level. */
static void curve_line(FILE *out, const struct page_scale *across, const struct page_scale *up,
                       const struct lab_series *curve, const char *class)
{
    if (curve == NULL)
        return;
    char *words = bench_format("curve %s", class);
    page_svg_curve_begin(out, words);
    free(words);
    double part = curve->span / (double)curve->count;
    page_svg_curve_add(out, page_scale_place(across, 0), page_scale_place(up, curve->values[0] / 1024));
    for (size_t i = 0; i < curve->count; i++)
        page_svg_curve_add(out, page_scale_place(across, part * ((double)i + 0.5)),
                           page_scale_place(up, curve->values[i] / 1024));
    page_svg_curve_add(out, page_scale_place(across, curve->span),
                       page_scale_place(up, curve->values[curve->count - 1] / 1024));
    page_svg_curve_end(out);
}

void page_chart_curve(FILE *out, const struct page_view *view, const struct bench_result *result, size_t head,
                      struct page_extent extent)
{
    const struct lab_series *curve = curve_of(result, head);
    const struct bench_claim *claim = page_view_claim(view, result, head, BENCH_MEAN_RSS);
    if (curve == NULL || claim == NULL || claim->fault != NULL)
        return;
    struct page_scale across = { 0, extent.seconds, CURVE_EDGE, CURVE_WIDTH - CURVE_GUTTER };
    struct page_scale up = { 0, CURVE_MARGIN * fmax(extent.mib, 1), CURVE_BOTTOM, CURVE_TOP };
    char *name = page_clip(view->arms[head].name, CURVE_NAME_MAX);
    char *effect = page_effect_interval(claim->claim.head.log_median, claim->claim.log_interval);
    char *sentence = bench_format("Resident memory of %s over the time of one run, with %s in grey; mean memory %s",
                                  view->arms[head].name, view->arms[view->base].name, effect);
    page_svg_begin(out, CURVE_WIDTH, CURVE_HEIGHT, sentence);
    free(sentence);
    page_svg_text(out, "name", CURVE_EDGE, 15, PAGE_START, name);
    page_svg_text(out, "value", across.last, 15, PAGE_END, effect);
    curve_grid(out, &across, &up);
    curve_line(out, &across, &up, curve_of(result, view->base), "nil");
    curve_line(out, &across, &up, curve, page_verdict_class(claim));
    page_svg_end(out);
    free(effect);
    free(name);
}
