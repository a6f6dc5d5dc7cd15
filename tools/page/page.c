/* SPDX-License-Identifier: MIT
 *
 * What: see page.h.
 *
 * Why this way: see page.h.
 */
#include "page/page.h"

#include <math.h>
#include <stdlib.h>

#include "bench/report.h"
#include "bench/text.h"
#include "page/charts.h"
#include "page/markup.h"
#include "page/style.h"
#include "page/tables.h"
#include "page/view.h"

static void page_head(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          out);
    page_escape(out, title);
    fprintf(out,
            "</title>\n<style>\n%s%s</style></head>\n<body>\n<a class=\"skip\" href=\"#main\">To the results</a>\n",
            page_style, page_style_print);
}

/* The highest level that was measured, else the strongest arm, in a sentence. */
static void page_lead(FILE *out, const struct page_view *view, const struct bench_result *result)
{
    /* First the levels as they are, from the top; then the arms with single options. */
    for (size_t i = 2 * view->order_count; i-- > 0;) {
        size_t arm = view->order[i % view->order_count];
        const struct bench_claim *cpu = page_view_claim(view, result, arm, BENCH_CPU);
        const struct bench_claim *rss = page_view_claim(view, result, arm, BENCH_RSS);
        bool early = i >= view->order_count;
        if (early != page_protection_is_level(&view->protections[arm]) || cpu == NULL || rss == NULL ||
            cpu->fault != NULL || rss->fault != NULL)
            continue;
        char *time = page_effect_interval(cpu->claim.head.log_median, cpu->claim.log_interval);
        char *memory = page_effect_interval(rss->claim.head.log_median, rss->claim.log_interval);
        fputs("<p class=\"lead\">", out);
        page_print(out, "Under %s: %s CPU time (", view->arms[arm].name, time);
        fprintf(out, "<span class=\"word %s\">%s</span>", page_verdict_class(cpu),
                bench_verdict_word(cpu->claim.verdict, BENCH_CPU));
        page_print(out, ") and %s peak memory (", memory);
        fprintf(out, "<span class=\"word %s\">%s</span>", page_verdict_class(rss),
                bench_verdict_word(rss->claim.verdict, BENCH_RSS));
        page_print(out, "), compared with %s.", view->arms[view->base].name);
        fputs("</p>\n", out);
        free(memory);
        free(time);
        return;
    }
}

static char *page_rung_detail(const struct page_view *view, size_t arm)
{
    const struct page_protection *protection = &view->protections[arm];
    if (!protection->known)
        return bench_format("%s", "");
    return bench_format("%u of %u on", protection->on, page_protection_count());
}

static void page_ladder_of(FILE *out, const struct page_view *view, const struct bench_result *result,
                           enum bench_metric metric)
{
    struct page_rung rungs[BENCH_ARMS_MAX + 1];
    char *details[BENCH_ARMS_MAX + 1];
    struct page_ladder ladder = { .base = view->arms[view->base].name, .rungs = rungs };
    for (size_t i = 0; i < view->order_count; i++) {
        size_t arm = view->order[i];
        const struct bench_claim *claim = page_view_claim(view, result, arm, metric);
        if (claim == NULL)
            continue;
        details[ladder.count] = page_rung_detail(view, arm);
        rungs[ladder.count] = (struct page_rung){ .name = view->arms[arm].name,
                                                  .detail = details[ladder.count],
                                                  .fault = claim->fault,
                                                  .verdict = "",
                                                  .class = page_verdict_class(claim) };
        if (claim->fault == NULL) {
            rungs[ladder.count].verdict = bench_verdict_word(claim->claim.verdict, metric);
            rungs[ladder.count].log_estimate = claim->claim.head.log_median;
            rungs[ladder.count].log_interval = claim->claim.log_interval;
            ladder.has_null = true;
            ladder.null = claim->claim.null.log_interval;
        }
        ladder.count++;
    }
    char *title = bench_format("%s, against %s", page_metric_words(metric), ladder.base);
    ladder.title = title;
    page_chart_ladder(out, &ladder);
    free(title);
    for (size_t i = 0; i < ladder.count; i++)
        free(details[i]);
}

/* The same over all workloads: geometric means, and the interval over workloads. */
static void page_ladder_of_all(FILE *out, const struct page_view *view, enum bench_metric metric)
{
    struct page_rung rungs[BENCH_ARMS_MAX + 1];
    char *details[BENCH_ARMS_MAX + 1];
    struct page_ladder ladder = { .base = view->arms[view->base].name, .rungs = rungs };
    for (size_t i = 0; i < view->order_count; i++) {
        size_t arm = view->order[i];
        struct bench_summary summary = bench_claims_summarise(view->claims, view->base, arm, metric);
        struct lab_interval interval = summary.all.interval;
        if (summary.all.workloads == 0)
            continue;
        details[ladder.count] = bench_format("worst \u00d7%.2f", summary.all.worst_ratio);
        rungs[ladder.count] = (struct page_rung){
            .name = view->arms[arm].name,
            .detail = details[ladder.count],
            .verdict = "",
            .class = interval.low > 1    ? "more"
                     : interval.high < 1 ? "less"
                                         : "flat",
            .log_estimate = log(summary.all.ratio),
            .log_interval = { log(fmax(interval.low, 0)), log(interval.high) },
        };
        ladder.count++;
    }
    char *title = bench_format("%s, geometric mean, against %s", page_metric_words(metric), ladder.base);
    ladder.title = title;
    page_chart_ladder(out, &ladder);
    free(title);
    for (size_t i = 0; i < ladder.count; i++)
        free(details[i]);
}

static void page_curves(FILE *out, const struct page_view *view, const struct bench_result *result)
{
    struct page_extent extent = page_chart_curve_extent(view, result);
    if (extent.seconds <= 0)
        return;
    fputs("<h3>Memory over time</h3>\n<p class=\"note\">", out);
    page_print(
        out,
        "Resident memory during one run of each arm, the one in the middle by its mean, with %s in grey. The number "
        "is the effect on the mean over time, of all runs.",
        view->arms[view->base].name);
    fputs("</p>\n<div class=\"pictures\">\n", out);
    for (size_t i = 0; i < view->order_count; i++)
        page_chart_curve(out, view, result, view->order[i], extent);
    fputs("</div>\n", out);
}

static void page_workload(FILE *out, const struct page_view *view, size_t index)
{
    const struct bench_result *result = &view->claims->results[index];
    bool only = view->claims->result_count == 1;
    fprintf(out, "<section id=\"w%zu\"><h2>", index);
    page_escape(out, only ? "Cost against protection" : result->workload->name);
    fputs("</h2>\n", out);
    if (result->refused != NULL) {
        page_print(out, "Not measured: %s", result->refused);
        fputs("</section>\n", out);
        return;
    }
    if (!only) {
        fputs("<p class=\"note\"><code>", out);
        page_escape(out, result->workload->command);
        fputs("</code></p>\n", out);
    }
    fputs("<div class=\"pictures\">\n", out);
    page_ladder_of(out, view, result, BENCH_CPU);
    page_ladder_of(out, view, result, BENCH_RSS);
    fputs("</div>\n", out);
    fputs("<h3>Every pair, in run order</h3>\n<div class=\"pictures\">\n", out);
    struct lab_interval range = page_chart_strip_range(view, result);
    for (size_t i = 0; i < view->order_count; i++)
        page_chart_strip(out, view, result, view->order[i], range);
    fputs("</div>\n<h3>Memory</h3>\n<div class=\"pictures\">\n", out);
    page_chart_memory(out, view, result);
    fputs("</div>\n", out);
    page_curves(out, view, result);
    page_table_prices(out, view, result);
    fputs("</section>\n", out);
}

static void page_how(FILE *out, const struct page_view *view)
{
    const struct bench_options *options = view->session->options;
    const struct bench_run *floor = view->floor;
    char *machine = bench_machine_line(view->session->machine);
    fputs("<section id=\"how\"><h2>How it was measured</h2>\n<dl><dt>machine</dt><dd>", out);
    page_escape(out, machine);
    fputs("</dd><dt>floor</dt><dd>", out);
    page_print(out, "/bin/true takes %.1f ms of wall time, %.1f ms of CPU time and %.0f KiB here",
               1e3 * floor->wall_seconds, 1e3 * floor->cpu_seconds, floor->peak_rss_kib);
    fputs("</dd><dt>judged</dt><dd>", out);
    page_print(
        out,
        "differences under %.1f %% of time and %.1f %% of memory do not matter; intervals are of %.0f %%; CPU time is "
        "primary, the rest exploratory",
        100 * options->delta_time, 100 * options->delta_memory, 100 * options->confidence);
    fputs("</dd></dl>\n<p>To repeat it:</p>\n<pre><code>", out);
    page_escape(out, options->command);
    fputs("</code></pre></section>\n", out);
    free(machine);
}

static void page_legend(FILE *out, const struct page_view *view)
{
    fputs("<p class=\"note\">", out);
    page_print(
        out,
        "A dot is an estimate, the bar through it its interval. The grey band and the grey dots are the null control: "
        "%s measured against itself. Arms with more protection stand lower; beside their name, how many of the "
        "ladder's protections are on. A dashed bar: too few blocks for an "
        "interval. In the strips a dot is a pair of runs, the coloured band the interval of their middle; small dots "
        "were "
        "run while the machine was busy, square ones lie beyond the scale.",
        view->arms[view->base].name);
    fputs("</p>\n", out);
}

static void page_contents(FILE *out, const struct page_view *view)
{
    fputs("<nav aria-label=\"Contents\"><ul>", out);
    for (size_t i = 0; i < view->claims->result_count && view->claims->result_count > 1; i++) {
        fprintf(out, "<li><a href=\"#w%zu\">", i);
        page_escape(out, view->claims->results[i].workload->name);
        fputs("</a></li>", out);
    }
    fputs("<li><a href=\"#effects\">effects</a></li><li><a href=\"#medians\">medians</a></li>"
          "<li><a href=\"#how\">how it was measured</a></li></ul></nav></header>\n<main id=\"main\">\n",
          out);
}

static size_t page_measured(const struct bench_claims *claims)
{
    size_t count = 0;
    for (size_t i = 0; i < claims->result_count; i++)
        count += claims->results[i].refused == NULL;
    return count;
}

void page_write(FILE *out, const struct bench_session *session, const struct bench_claims *claims,
                const struct bench_run *floor)
{
    struct page_view view;
    page_view_make(&view, session, claims, floor);
    bool only = claims->result_count == 1;
    char *title = only ? bench_format("What protection costs %s", claims->results[0].workload->name)
                       : bench_format("What protection costs %zu workloads", claims->result_count);
    page_head(out, title);
    fputs("<header><h1>", out);
    page_escape(out, title);
    fputs("</h1>\n", out);
    free(title);
    if (only)
        page_lead(out, &view, &claims->results[0]);
    page_contents(out, &view);
    if (page_measured(claims) > 1) {
        fputs("<section><h2>Over all workloads</h2>\n<div class=\"pictures\">\n", out);
        page_ladder_of_all(out, &view, BENCH_CPU);
        page_ladder_of_all(out, &view, BENCH_RSS);
        fputs("</div></section>\n", out);
    }
    page_legend(out, &view);
    for (size_t i = 0; i < claims->result_count; i++)
        page_workload(out, &view, i);
    fputs("<section id=\"effects\">\n", out);
    for (size_t i = 0; i < session->options->base_count; i++) {
        size_t base = session->options->bases[i];
        fputs("<h2>", out);
        page_print(out, "Effects, against %s", view.arms[base].name);
        fputs("</h2>\n", out);
        page_table_effects(out, &view, base);
    }
    fputs("</section>\n<section id=\"medians\"><h2>Medians</h2>\n", out);
    page_table_medians(out, &view);
    fputs("</section>\n", out);
    page_how(out, &view);
    fputs("</main>\n</body></html>\n", out);
}
