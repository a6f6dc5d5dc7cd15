/* SPDX-License-Identifier: MIT
 *
 * What: the price list: what a step of the ladder or a single option costs against the arm it builds on.
 *
 * Why this way: measured in the same blocks as everything else, so that two arms that both stand beside the baseline can
 * be set against each other; it is the same estimate, with the same interval.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/text.h"
#include "page/markup.h"
#include "page/tables.h"
#include "policy/option_texts.h"

enum { PRICES_RESAMPLES = 2000 };

struct price {
    size_t base;
    size_t head;
    int option; /* index, or -1 for a step of several */
};

/* Does `head` build on `base`: a single option on top, or the next level? */
static bool price_pair(const struct page_view *view, size_t base, size_t head, struct price *price)
{
    const struct page_protection *low = &view->protections[base];
    const struct page_protection *high = &view->protections[head];
    if (base == head || !low->known || !high->known)
        return false;
    bool step = page_protection_is_level(high) && high->settings.level == low->settings.level + 1;
    int single = page_protection_single(low, high);
    bool on_top = high->settings.level == low->settings.level && single >= 0;
    *price = (struct price){ .base = base, .head = head, .option = on_top ? single : -1 };
    return page_protection_is_level(low) && (step || on_top);
}

static void price_effect(FILE *out, const struct page_view *view, const struct bench_result *result,
                         const struct price *price, enum bench_metric metric)
{
    const struct bench_options *options = view->session->options;
    struct lab_settings settings = { .confidence = options->confidence,
                                     .delta =
                                         bench_metric_is_memory(metric) ? options->delta_memory : options->delta_time,
                                     .resamples = PRICES_RESAMPLES,
                                     .seed = options->seed };
    struct lab_block *blocks = lab_allocate(result->blocks + 1, sizeof *blocks);
    size_t count = bench_view_blocks(result, price->base, price->head, metric, blocks);
    fputs("<td class=\"number\">", out);
    if (count > 0) {
        struct lab_estimate estimate = lab_estimate_blocks(blocks, count, &settings);
        char *text = page_effect_interval(estimate.log_median, estimate.log_interval);
        page_escape(out, text);
        free(text);
    } else {
        fputs("not measured", out);
    }
    fputs("</td>", out);
    free(blocks);
}

static void price_row(FILE *out, const struct page_view *view, const struct bench_result *result,
                      const struct price *price)
{
    char *added = page_protection_added(&view->protections[price->base], &view->protections[price->head]);
    fputs("<tr><th scope=\"row\">", out);
    page_escape(out, view->arms[price->head].name);
    fputs("<span class=\"quiet\"> on ", out);
    page_escape(out, view->arms[price->base].name);
    fputs("</span></th><td><code>", out);
    page_escape(out, added);
    fputs("</code>", out);
    if (price->option >= 0) {
        bool weaker = view->protections[price->head].on < view->protections[price->base].on;
        fputs(weaker ? "<span class=\"quiet\"> gives up: " : "<span class=\"quiet\"> ", out);
        page_escape(out, sj__option_texts[price->option].threat);
        fputs("</span>", out);
    }
    fputs("</td>", out);
    price_effect(out, view, result, price, BENCH_CPU);
    price_effect(out, view, result, price, BENCH_RSS);
    fputs("</tr>\n", out);
    free(added);
}

void page_table_prices(FILE *out, const struct page_view *view, const struct bench_result *result)
{
    bool any = false;
    for (size_t i = 0; i < view->null; i++) {
        for (size_t k = 0; k < view->null; k++) {
            struct price price;
            if (!price_pair(view, k, i, &price))
                continue;
            if (!any)
                fputs("<h3>What each step costs</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                      "aria-label=\"Price list\"><table><thead><tr>"
                      "<th scope=\"col\">arm</th><th scope=\"col\" class=\"wide\">changes</th><th scope=\"col\" "
                      "class=\"number\">CPU time"
                      "</th><th scope=\"col\" class=\"number\">peak memory</th></tr></thead><tbody>\n",
                      out);
            any = true;
            price_row(out, view, result, &price);
        }
    }
    if (any)
        fputs("</tbody></table></div>\n", out);
}
