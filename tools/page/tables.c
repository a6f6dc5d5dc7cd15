/* SPDX-License-Identifier: MIT
 *
 * What: the tables of effects and medians; see tables.h. The price list is in prices.c.
 *
 * Why this way: see tables.h.
 */
#include "page/tables.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "bench/report.h"
#include "bench/text.h"
#include "page/markup.h"

/* The first `words` columns, and the last if `verdict`, are text; the others are numbers. */
static void table_begin(FILE *out, const char *label, const char *const *columns, size_t count, size_t words,
                        bool verdict)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", out);
    page_escape(out, label);
    fputs("\"><table><thead><tr>", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "<th scope=\"col\"%s>%s</th>",
                i >= words && !(verdict && i + 1 == count) ? " class=\"number\"" : "", columns[i]);
    fputs("</tr></thead><tbody>\n", out);
}

static void table_end(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

/* A cell from a text that is freed. */
static void table_cell(FILE *out, bool number, char *text)
{
    fputs(number ? "<td class=\"number\">" : "<td>", out);
    page_escape(out, text);
    fputs("</td>", out);
    free(text);
}

static void table_names(FILE *out, const char *workload, const char *first, const char *second)
{
    fputs("<tr><th scope=\"row\">", out);
    page_escape(out, workload);
    fputs("</th>", out);
    table_cell(out, false, bench_format("%s", first));
    if (second != NULL)
        table_cell(out, false, bench_format("%s", second));
}

static void table_fault(FILE *out, size_t span, const char *fault)
{
    fprintf(out, "<td class=\"fault\" colspan=\"%zu\">INVALID: ", span);
    page_escape(out, fault);
    fputs("</td>", out);
}

static void table_judged(FILE *out, const struct bench_claim *claim)
{
    const struct lab_claim *judged = &claim->claim;
    table_cell(out, true, bench_value_text(claim->result, claim->base, claim->metric));
    table_cell(out, true, bench_value_text(claim->result, claim->head, claim->metric));
    table_cell(out, true, page_effect_interval(judged->head.log_median, judged->log_interval));
    table_cell(out, true,
               bench_format("%zu/%zu", judged->head.sign.below, judged->head.sign.below + judged->head.sign.above));
    table_cell(out, true, page_effect_interval(judged->null.log_median, judged->null.log_interval));
    table_cell(out, true,
               isfinite(judged->head.log_visible) ? page_effect(judged->head.log_visible) : bench_format("?"));
    fprintf(out, "<td class=\"word %s\">%s", page_verdict_class(claim),
            bench_verdict_word(judged->verdict, claim->metric));
    if (judged->further_blocks > 0 && judged->further_blocks < SIZE_MAX)
        fprintf(out, "<span class=\"quiet\">, about %zu more pairs</span>", 2 * judged->further_blocks);
    fputs("</td>", out);
}

void page_table_effects(FILE *out, const struct page_view *view, size_t base)
{
    static const char *const columns[] = {
        "workload", "metric",          "arm",     "base",   "arm", "effect [interval]",
        "lower",    "null [interval]", "visible", "verdict"
    };
    table_begin(out, "Effects", columns, sizeof columns / sizeof columns[0], 3, true);
    for (size_t i = 0; i < view->claims->count; i++) {
        const struct bench_claim *claim = &view->claims->items[i];
        if (claim->base != base || (claim->fault != NULL && claim->metric != BENCH_CPU))
            continue;
        table_names(out, claim->result->workload->name, bench_metric_name(claim->metric), view->arms[claim->head].name);
        if (claim->fault != NULL)
            table_fault(out, 7, claim->fault);
        else
            table_judged(out, claim);
        fputs("</tr>\n", out);
    }
    table_end(out);
}

void page_table_medians(FILE *out, const struct page_view *view)
{
    static const char *const columns[] = { "test",    "alloc",  "time, s",     "rss, KiB",
                                           "user, s", "sys, s", "page-faults", "page-reclaims" };
    static const struct {
        enum bench_metric metric;
        int digits;
    } shown[] = { { BENCH_WALL, 3 },   { BENCH_RSS, 0 },          { BENCH_USER, 3 },
                  { BENCH_SYSTEM, 3 }, { BENCH_MAJOR_FAULTS, 0 }, { BENCH_MINOR_FAULTS, 0 } };
    table_begin(out, "Medians", columns, sizeof columns / sizeof columns[0], 2, false);
    for (size_t i = 0; i < view->claims->result_count; i++) {
        const struct bench_result *result = &view->claims->results[i];
        for (size_t arm = 0; arm <= view->null; arm++) {
            table_names(out, result->workload->name, view->arms[arm].name, NULL);
            const char *fault = result->refused != NULL ? result->refused : result->faults[arm];
            if (fault != NULL)
                table_fault(out, sizeof shown / sizeof shown[0], fault);
            for (size_t k = 0; fault == NULL && k < sizeof shown / sizeof shown[0]; k++)
                table_cell(
                    out, true,
                    bench_format("%.*f", shown[k].digits, bench_view_median(result, arm, shown[k].metric, false)));
            fputs("</tr>\n", out);
        }
    }
    table_end(out);
}
