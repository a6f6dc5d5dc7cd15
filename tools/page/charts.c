/* SPDX-License-Identifier: MIT
 *
 * What: the ladder and the memory picture; see charts.h. The strips are in strips.c, memory over time in curves.c.
 *
 * Why this way: see charts.h.
 */
#include "page/charts.h"

#include <math.h>
#include <stdlib.h>

#include "bench/text.h"
#include "page/markup.h"
#include "page/scale.h"
#include "page/svg.h"

/* In units of the picture; 15 fit the larger font. */
static const double CHART_WIDTH = 440;
static const double CHART_EDGE = 6;
static const double CHART_TOP = 26;
static const double CHART_RUNG = 40;
static const double CHART_BAR = 27; /* of a rung's top */
static const double CHART_FOOT = 24;
static const double CHART_APART = 56;
static const double CHART_LABEL = 44;

enum { CHART_NAME_MAX = 17, CHART_FAULT_MAX = 44 };

static struct lab_interval chart_union(struct lab_interval all, double value)
{
    if (isfinite(value))
        all = (struct lab_interval){ .low = fmin(all.low, value), .high = fmax(all.high, value) };
    return all;
}

static struct page_scale ladder_scale(const struct page_ladder *ladder)
{
    struct lab_interval all = { 0, 0 };
    for (size_t i = 0; i < ladder->count; i++) {
        const struct page_rung *rung = &ladder->rungs[i];
        if (rung->fault != NULL)
            continue;
        all = chart_union(all, rung->log_estimate);
        all = chart_union(all, rung->log_interval.low);
        all = chart_union(all, rung->log_interval.high);
    }
    if (ladder->has_null) {
        all = chart_union(all, ladder->null.low);
        all = chart_union(all, ladder->null.high);
    }
    return page_scale_make(all.low, all.high, CHART_EDGE, CHART_WIDTH - CHART_EDGE);
}

/* Grid and labels below; a tick at `zero` is labelled so, and drawn stronger. */
static void chart_axis(FILE *out, const struct page_scale *scale, double bottom, const double *ticks, size_t count,
                       const char *zero)
{
    for (size_t i = 0; i < count; i++) {
        double x = page_scale_place(scale, ticks[i]);
        bool is_zero = zero != NULL && fabs(ticks[i]) < 1e-9;
        page_svg_line(out, is_zero ? "zero" : "grid", x, CHART_TOP, x, bottom);
        /* At an edge there is no room for a label in the middle. */
        if (x < CHART_LABEL / 2 || x > CHART_WIDTH - CHART_LABEL / 2)
            continue;
        double percent = 100 * expm1(ticks[i]);
        char *label = is_zero ? bench_format("%s", zero)
                      : zero == NULL
                          ? bench_format("%g", ticks[i])
                          : bench_format("%s%g\u00a0%%", percent < 0 ? "\u2212" : "+", fabs(round(10 * percent) / 10));
        page_svg_text(out, "tick", x, bottom + 15, PAGE_MIDDLE, label);
        free(label);
    }
}

static void ladder_rung(FILE *out, const struct page_scale *scale, const struct page_rung *rung, double top)
{
    char *name = page_clip(rung->name, CHART_NAME_MAX);
    fprintf(out, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\">", CHART_EDGE, top + 15);
    page_escape(out, name);
    fputs("<tspan class=\"quiet\" dx=\"7\">", out);
    page_escape(out, rung->detail);
    fputs("</tspan></text>\n", out);
    free(name);
    if (rung->fault != NULL) {
        char *fault = page_clip(rung->fault, CHART_FAULT_MAX);
        page_svg_text(out, "fault", CHART_EDGE, top + CHART_BAR + 4, PAGE_START, fault);
        free(fault);
        return;
    }
    char *value = page_effect_interval(rung->log_estimate, rung->log_interval);
    fprintf(out, "<text class=\"value\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", CHART_WIDTH - CHART_EDGE,
            top + 15);
    page_escape(out, value);
    if (rung->verdict[0] != '\0') {
        fprintf(out, "<tspan class=\"word %s\" dx=\"7\">", rung->class);
        page_escape(out, rung->verdict);
        fputs("</tspan>", out);
    }
    fputs("</text>\n", out);
    free(value);
    double y = top + CHART_BAR;
    double low = page_scale_place(scale, rung->log_interval.low);
    double high = page_scale_place(scale, rung->log_interval.high);
    char *class = bench_format("bar %s", isfinite(rung->log_interval.low) ? rung->class : "open");
    page_svg_line(out, class, low, y, high, y);
    free(class);
    class = bench_format("dot %s", rung->class);
    page_svg_dot(out, class, page_scale_place(scale, rung->log_estimate), y, 4.5);
    free(class);
}

void page_chart_ladder(FILE *out, const struct page_ladder *ladder)
{
    double bottom = CHART_TOP + CHART_RUNG * (double)ladder->count + 4;
    char *sentence = bench_format("%s relative to %s for %zu arms; the table of effects has the numbers", ladder->title,
                                  ladder->base, ladder->count);
    page_svg_begin(out, CHART_WIDTH, bottom + CHART_FOOT, sentence);
    free(sentence);
    struct page_scale scale = ladder_scale(ladder);
    page_svg_text(out, "title", CHART_EDGE, 15, PAGE_START, ladder->title);
    if (ladder->has_null && isfinite(ladder->null.low)) {
        double low = page_scale_place(&scale, ladder->null.low);
        double high = page_scale_place(&scale, ladder->null.high);
        page_svg_box(out, "null", low, CHART_TOP, fmax(high - low, 1), bottom - CHART_TOP);
    }
    double ticks[PAGE_TICKS_MAX];
    size_t count = page_scale_effects(&scale, CHART_APART, ticks);
    char *base = page_clip(ladder->base, 12);
    chart_axis(out, &scale, bottom, ticks, count, base);
    free(base);
    for (size_t i = 0; i < ladder->count; i++)
        ladder_rung(out, &scale, &ladder->rungs[i], CHART_TOP + CHART_RUNG * (double)i);
    page_svg_end(out);
}

static double memory_most(const struct bench_result *result)
{
    double most = 0;
    for (size_t i = 0; i < result->row_count; i++)
        if (!result->rows[i].warm_up)
            most = fmax(most, result->rows[i].run.peak_rss_kib / 1024);
    return most;
}

static void memory_row(FILE *out, const struct page_scale *scale, const struct page_view *view,
                       const struct bench_result *result, size_t arm, double top)
{
    char *name = page_clip(view->arms[arm].name, CHART_NAME_MAX);
    page_svg_text(out, "name", CHART_EDGE, top + 15, PAGE_START, name);
    free(name);
    if (result->faults[arm] != NULL)
        return;
    double median = bench_view_median(result, arm, BENCH_RSS, false) / 1024;
    char *value = bench_format("%.1f\u00a0MiB", median);
    page_svg_text(out, "value", CHART_WIDTH - CHART_EDGE, top + 15, PAGE_END, value);
    free(value);
    double y = top + CHART_BAR;
    double x = page_scale_place(scale, median);
    page_svg_line(out, "rail", page_scale_place(scale, 0), y, x, y);
    page_svg_dots_begin(out, "runs");
    for (size_t i = 0; i < result->row_count; i++) {
        const struct bench_row *row = &result->rows[i];
        if (row->arm == arm && !row->warm_up)
            page_svg_dots_add(out, page_scale_place(scale, row->run.peak_rss_kib / 1024), y);
    }
    page_svg_dots_end(out);
    page_svg_line(out, "median", x, y - 7, x, y + 7);
}

void page_chart_memory(FILE *out, const struct page_view *view, const struct bench_result *result)
{
    double bottom = CHART_TOP + CHART_RUNG * (double)(view->order_count + 1) + 4;
    struct page_scale scale = {
        .low = 0, .high = 1.03 * fmax(memory_most(result), 1), .first = CHART_EDGE, .last = CHART_WIDTH - CHART_EDGE
    };
    page_svg_begin(out, CHART_WIDTH, bottom + CHART_FOOT,
                   "Peak resident memory of every run of every arm, in MiB; the table of medians has the numbers");
    page_svg_text(out, "title", CHART_EDGE, 15, PAGE_START, "Peak resident memory of each run, MiB");
    double ticks[PAGE_TICKS_MAX];
    size_t count = page_scale_amounts(&scale, CHART_APART, ticks);
    chart_axis(out, &scale, bottom, ticks, count, NULL);
    memory_row(out, &scale, view, result, view->base, CHART_TOP);
    for (size_t i = 0; i < view->order_count; i++)
        memory_row(out, &scale, view, result, view->order[i], CHART_TOP + CHART_RUNG * (double)(i + 1));
    page_svg_end(out);
}
