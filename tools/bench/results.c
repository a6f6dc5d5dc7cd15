/* SPDX-License-Identifier: MIT
 *
 * What: see results.h.
 *
 * Why this way: see results.h.
 */
#include "bench/results.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/text.h"

static void results_number(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, ",\"%s\":%.6g", key, value);
    else
        fprintf(out, ",\"%s\":null", key);
}

static void results_text(FILE *out, const char *key, const char *value)
{
    fprintf(out, ",\"%s\":", key);
    bench_json_string(out, value);
}

static void results_warnings(FILE *out, unsigned notes)
{
    static const char *const names[] = { "real but small", "null widened", "null off", "drift",
                                         "order",          "flipped",      "holm",     "too few" };
    const char *separator = "";
    fputs(",\"notes\":[", out);
    for (size_t bit = 0; bit < sizeof names / sizeof names[0]; bit++) {
        if ((notes >> bit & 1) == 0)
            continue;
        fprintf(out, "%s\"%s\"", separator, names[bit]);
        separator = ",";
    }
    fputc(']', out);
}

static void results_estimate(FILE *out, const struct lab_claim *claim)
{
    const struct lab_estimate *head = &claim->head;
    const struct lab_estimate *null = &claim->null;
    fprintf(out, ",\"blocks\":%zu,\"flagged_blocks\":%zu", head->blocks, claim->flagged_blocks);
    results_number(out, "log_median", head->log_median);
    results_number(out, "log_low", claim->log_interval.low);
    results_number(out, "log_high", claim->log_interval.high);
    results_number(out, "unwidened_log_low", head->log_interval.low);
    results_number(out, "unwidened_log_high", head->log_interval.high);
    fprintf(out, ",\"interval\":\"%s\"", head->bootstrap_wider ? "bootstrap" : "order statistics");
    results_number(out, "log_hodges_lehmann", head->log_hodges_lehmann);
    fprintf(out, ",\"lower\":%zu,\"higher\":%zu,\"ties\":%zu", head->sign.below, head->sign.above, head->sign.ties);
    results_number(out, "sign_p", head->sign.p);
    results_number(out, "holm_p", claim->holm_p);
    results_number(out, "wilcoxon_p", head->wilcoxon_p);
    results_number(out, "log_visible", head->log_visible);
    results_number(out, "drift_rho", head->drift.rho);
    results_number(out, "drift_p", head->drift.p);
    results_number(out, "order_p", head->order_p);
    results_number(out, "null_log_median", null->log_median);
    results_number(out, "null_log_low", null->log_interval.low);
    results_number(out, "null_log_high", null->log_interval.high);
    if (claim->further_blocks > 0 && claim->further_blocks < SIZE_MAX)
        fprintf(out, ",\"further_pairs\":%zu", 2 * claim->further_blocks);
}

static void results_claim(FILE *out, const struct bench_session *session, const struct bench_claim *claim)
{
    const struct bench_arms *arms = &session->options->arms;
    fputs("{\"workload\":", out);
    bench_json_string(out, claim->result->workload->name);
    results_text(out, "kind", claim->result->workload->real ? "real" : "micro");
    results_text(out, "metric", bench_metric_name(claim->metric));
    results_text(out, "base", arms->items[claim->base].name);
    results_text(out, "head", arms->items[claim->head].name);
    if (claim->fault != NULL) {
        results_text(out, "verdict", lab_verdict_word(LAB_INVALID));
        results_text(out, "fault", claim->fault);
    } else {
        results_text(out, "verdict", bench_verdict_word(claim->claim.verdict, claim->metric));
        fprintf(out, ",\"primary\":%s,\"conditional\":%s", claim->metric == BENCH_CPU ? "true" : "false",
                claim->result->stopped_early ? "true" : "false");
        results_number(out, "base_median", bench_view_median(claim->result, claim->base, claim->metric, false));
        results_number(out, "head_median", bench_view_median(claim->result, claim->head, claim->metric, false));
        results_estimate(out, &claim->claim);
        results_warnings(out, claim->claim.notes);
    }
    fputs("}\n", out);
}

void bench_write_claims(const struct bench_session *session, const struct bench_claims *claims)
{
    if (session->options->out == NULL)
        return;
    char *path = bench_format("%s/claims.jsonl", session->options->out);
    FILE *out = fopen(path, "we");
    if (out == NULL)
        bench_die("%s: %s", path, strerror(errno));
    for (size_t i = 0; i < claims->count; i++)
        results_claim(out, session, &claims->items[i]);
    fclose(out);
    free(path);
}
