/* SPDX-License-Identifier: MIT
 *
 * What: the strips of pairs in run order; see charts.h.
 *
 * Why this way: a median hides what a session went through: drift, a busy minute, two modes. Here it can be seen.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/text.h"
#include "page/charts.h"
#include "page/markup.h"
#include "page/scale.h"
#include "page/svg.h"

static const double STRIP_WIDTH = 440;
static const double STRIP_HEIGHT = 112;
static const double STRIP_EDGE = 6;
static const double STRIP_GUTTER = 58; /* for the labels of the ticks, at the right */
static const double STRIP_TOP = 24;
static const double STRIP_BOTTOM = 106;
static const double STRIP_APART = 20;
static const double STRIP_CENTRAL = 0.96; /* of the pairs are within the scale */

enum { STRIP_NAME_MAX = 30 };

/* ln(head / base) of each pair, in run order; the caller frees both. flags[] may be NULL. */
static double *strip_pairs(const struct page_view *view, const struct bench_result *result, size_t head, size_t *count,
                           bool **flags)
{
    struct lab_block *blocks = lab_allocate(result->blocks + 1, sizeof *blocks);
    size_t found = bench_view_blocks(result, view->base, head, BENCH_CPU, blocks);
    double *logs = lab_allocate(2 * found + 1, sizeof *logs);
    bool *flagged = lab_allocate(2 * found + 1, sizeof *flagged);
    for (size_t i = 0; i < 2 * found; i++) {
        const struct lab_block *block = &blocks[i / 2];
        logs[i] = log(block->head[i % 2] / block->base[i % 2]);
        flagged[i] = block->flagged;
    }
    free(blocks);
    *count = 2 * found;
    if (flags != NULL)
        *flags = flagged;
    else
        free(flagged);
    return logs;
}

static struct lab_interval strip_widen(struct lab_interval range, struct lab_interval other)
{
    if (isfinite(other.low) && isfinite(other.high))
        range = (struct lab_interval){ .low = fmin(range.low, other.low), .high = fmax(range.high, other.high) };
    return range;
}

struct lab_interval page_chart_strip_range(const struct page_view *view, const struct bench_result *result)
{
    struct lab_interval range = { 0, 0 };
    for (size_t i = 0; i <= view->order_count; i++) {
        size_t arm = i < view->order_count ? view->order[i] : view->null;
        size_t count = 0;
        double *logs = strip_pairs(view, result, arm, &count, NULL);
        if (count > 0) {
            range = strip_widen(range, (struct lab_interval){ lab_quantile(logs, count, (1 - STRIP_CENTRAL) / 2),
                                                              lab_quantile(logs, count, (1 + STRIP_CENTRAL) / 2) });
        }
        free(logs);
        const struct bench_claim *claim = page_view_claim(view, result, arm, BENCH_CPU);
        if (claim != NULL && claim->fault == NULL)
            range = strip_widen(range, claim->claim.log_interval);
    }
    return range;
}

/* Those within the scale, or those beyond it, which stand at its edge; of the flagged ones or of the others. */
static void strip_dots(FILE *out, const struct page_scale *across, const struct page_scale *up, const double *logs,
                       const bool *flags, size_t count, bool beyond, bool flagged, const char *class)
{
    bool begun = false;
    for (size_t i = 0; i < count; i++) {
        bool is_beyond = logs[i] < up->low || logs[i] > up->high;
        if (is_beyond != beyond || flags[i] != flagged)
            continue;
        if (!begun)
            page_svg_dots_begin(out, class);
        begun = true;
        page_svg_dots_add(out, page_scale_place(across, (double)i), page_scale_place(up, logs[i]));
    }
    if (begun)
        page_svg_dots_end(out);
}

static void strip_grid(FILE *out, const struct page_scale *up, double right)
{
    double ticks[PAGE_TICKS_MAX];
    size_t count = page_scale_effects(up, STRIP_APART, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = page_scale_place(up, ticks[i]);
        bool is_zero = fabs(ticks[i]) < 1e-9;
        page_svg_line(out, is_zero ? "zero" : "grid", STRIP_EDGE, y, right, y);
        char *label = is_zero ? bench_format("0") : page_effect(ticks[i]);
        page_svg_text(out, "tick", STRIP_WIDTH - STRIP_EDGE, y + 4, PAGE_END, label);
        free(label);
    }
}

static void strip_arm(FILE *out, const struct page_view *view, const struct bench_result *result, size_t arm,
                      const struct page_scale *across, const struct page_scale *up, const char *class)
{
    size_t count = 0;
    bool *flags = NULL;
    double *logs = strip_pairs(view, result, arm, &count, &flags);
    static const char *const kinds[] = { "pair", "pair flagged", "pair edge", "pair edge flagged" };
    for (unsigned kind = 0; kind < 4; kind++) {
        char *words = bench_format("%s %s", kinds[kind], class);
        strip_dots(out, across, up, logs, flags, count, kind >= 2, kind % 2 == 1, words);
        free(words);
    }
    free(flags);
    free(logs);
}

void page_chart_strip(FILE *out, const struct page_view *view, const struct bench_result *result, size_t head,
                      struct lab_interval range)
{
    const struct bench_claim *claim = page_view_claim(view, result, head, BENCH_CPU);
    if (claim == NULL || claim->fault != NULL)
        return;
    const char *class = page_verdict_class(claim);
    double right = STRIP_WIDTH - STRIP_GUTTER;
    struct page_scale across = { -1, fmax(2 * (double)result->blocks, 1), STRIP_EDGE, right };
    struct page_scale up = page_scale_make(range.low, range.high, STRIP_BOTTOM, STRIP_TOP);
    char *name = page_clip(view->arms[head].name, STRIP_NAME_MAX);
    char *effect = page_effect_interval(claim->claim.head.log_median, claim->claim.log_interval);
    char *sentence = bench_format("Every pair of %s in run order: %s", view->arms[head].name, effect);
    page_svg_begin(out, STRIP_WIDTH, STRIP_HEIGHT, sentence);
    free(sentence);
    page_svg_text(out, "name", STRIP_EDGE, 15, PAGE_START, name);
    page_svg_text(out, "value", right, 15, PAGE_END, effect);
    strip_grid(out, &up, right);
    if (isfinite(claim->claim.log_interval.low)) {
        double top = page_scale_place(&up, claim->claim.log_interval.high);
        double bottom = page_scale_place(&up, claim->claim.log_interval.low);
        char *band = bench_format("band %s", class);
        page_svg_box(out, band, STRIP_EDGE, top, right - STRIP_EDGE, fmax(bottom - top, 1));
        free(band);
    }
    strip_arm(out, view, result, view->null, &across, &up, "nil");
    strip_arm(out, view, result, head, &across, &up, class);
    page_svg_end(out);
    free(effect);
    free(name);
}
