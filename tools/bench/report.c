/* SPDX-License-Identifier: MIT
 *
 * What: see report.h.
 *
 * Why this way: see report.h.
 */
#include "bench/report.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "bench/exact.h"
#include "bench/latency.h"
#include "bench/text.h"

char *bench_effect_text(double log_estimate, struct lab_interval logs)
{
    struct lab_interval effect = lab_effect_interval(logs);
    if (!isfinite(logs.low))
        return bench_format("%+.1f %% [?, ?]", 100 * lab_effect(log_estimate));
    return bench_format("%+.1f %% [%+.1f, %+.1f]", 100 * lab_effect(log_estimate), 100 * effect.low, 100 * effect.high);
}

char *bench_value_text(const struct bench_result *result, size_t arm, enum bench_metric metric)
{
    double value = bench_view_median(result, arm, metric, false);
    return bench_metric_is_memory(metric) ? bench_format("%.1f MiB", value / 1024) : bench_format("%.3f s", value);
}

static void report_opening(FILE *out, const struct bench_session *session, const struct bench_run *floor)
{
    const struct bench_options *options = session->options;
    char *machine = bench_machine_line(session->machine);
    fprintf(out, "repeat:  %s\nmachine: %s\n", options->command, machine);
    fprintf(out, "floor:   /bin/true %.1f ms wall, %.1f ms cpu, %.0f KiB; runs under %g ms are refused\n",
            1e3 * floor->wall_seconds, 1e3 * floor->cpu_seconds, floor->peak_rss_kib, 1e3 * options->least_seconds);
    fprintf(out,
            "design:  mirrored blocks in random order, a number a block; null control %s; %s; one layout sampled\n",
            options->arms.items[options->arms.null].name,
            options->arms.items[options->bases[0]].preload[0] != '\0' ? "a byte copy of the library"
                                                                      : "the same program again, nothing to copy");
    fprintf(out,
            "judged:  delta %.1f %% for cpu and wall, %.1f %% for rss; intervals %.0f %%; cpu is primary, the rest "
            "exploratory\n",
            100 * options->delta_time, 100 * options->delta_memory, 100 * options->confidence);
    free(machine);
}

static void report_table(FILE *out, const struct bench_session *session, const struct bench_claims *claims)
{
    const struct bench_arms *arms = &session->options->arms;
    fprintf(out, "\n%-20s %-16s %9s %9s %8s %8s %11s %13s\n", "# test", "alloc", "time", "rss", "user", "sys",
            "page-faults", "page-reclaims");
    for (size_t i = 0; i < claims->result_count; i++) {
        const struct bench_result *result = &claims->results[i];
        for (size_t arm = 0; arm < arms->count; arm++) {
            const char *fault = result->refused != NULL ? result->refused : result->faults[arm];
            fprintf(out, "%-20s %-16s ", result->workload->name, arms->items[arm].name);
            if (fault != NULL) {
                fprintf(out, "INVALID: %s\n", fault);
                continue;
            }
            fprintf(out, "%9.3f %9.0f %8.3f %8.3f %11.0f %13.0f\n", bench_view_median(result, arm, BENCH_WALL, false),
                    bench_view_median(result, arm, BENCH_RSS, false), bench_view_median(result, arm, BENCH_USER, false),
                    bench_view_median(result, arm, BENCH_SYSTEM, false),
                    bench_view_median(result, arm, BENCH_MAJOR_FAULTS, false),
                    bench_view_median(result, arm, BENCH_MINOR_FAULTS, false));
        }
    }
}

/* What follows the verdict: why, what is missing, what to know. */
static void report_notes(FILE *out, const struct bench_claim *claim)
{
    const struct lab_claim *judged = &claim->claim;
    unsigned notes = judged->notes;
    if (judged->further_blocks == SIZE_MAX)
        fputs(", too noisy here for this effect", out);
    else if (judged->further_blocks > 0)
        fprintf(out, ", about %zu more pairs", 2 * judged->further_blocks);
    if ((notes & LAB_NOTE_TOO_FEW) != 0)
        fputs(", too few blocks for an interval", out);
    if ((notes & LAB_NOTE_REAL_BUT_SMALL) != 0)
        fputs(", real but small", out);
    if ((notes & LAB_NOTE_HOLM) != 0)
        fprintf(out, ", does not survive Holm over the workloads (p %.3f)", judged->holm_p);
    if ((notes & LAB_NOTE_NULL_OFF) != 0)
        fputs(", the null control is off", out);
    else if ((notes & LAB_NOTE_NULL_WIDENED) != 0)
        fputs(", interval widened: the null control excludes 0", out);
    if ((notes & LAB_NOTE_DRIFT) != 0)
        fprintf(out, ", drift (rho %+.2f)", judged->head.drift.rho);
    if ((notes & LAB_NOTE_ORDER) != 0)
        fputs(", order matters", out);
    if ((notes & LAB_NOTE_FLIPPED) != 0)
        fprintf(out, ", needs a quieter machine: %zu of %zu blocks were run on a busy one", judged->flagged_blocks,
                judged->head.blocks);
    else if (judged->flagged_blocks > 0)
        fprintf(out, ", the same without %zu blocks run on a busy machine", judged->flagged_blocks);
    if (claim->result->stopped_early)
        fputs(", interval conditional on an early stop", out);
    if (claim->metric != BENCH_CPU)
        fputs(", exploratory", out);
}

static void report_line(FILE *out, const struct bench_session *session, const struct bench_claim *claim)
{
    const struct bench_arms *arms = &session->options->arms;
    const struct lab_claim *judged = &claim->claim;
    fprintf(out, "%s | %s | ", claim->result->workload->name, bench_metric_name(claim->metric));
    if (claim->fault != NULL) {
        fprintf(out, "%s | %s | - | - | - | - | INVALID, %s\n", arms->items[claim->base].name,
                arms->items[claim->head].name, claim->fault);
        return;
    }
    char *base = bench_value_text(claim->result, claim->base, claim->metric);
    char *head = bench_value_text(claim->result, claim->head, claim->metric);
    char *effect = bench_effect_text(judged->head.log_median, judged->log_interval);
    char *null = bench_effect_text(judged->null.log_median, judged->null.log_interval);
    fprintf(out, "%s %s | %s %s | %s | %zu/%zu", arms->items[claim->base].name, base, arms->items[claim->head].name,
            head, effect, judged->head.sign.below, judged->head.sign.below + judged->head.sign.above);
    if (judged->head.sign.ties > 0)
        fprintf(out, " %zu ties", judged->head.sign.ties);
    fprintf(out, " | %s | ", null);
    if (isfinite(judged->head.log_visible))
        fprintf(out, "%.1f %%", 100 * lab_effect(judged->head.log_visible));
    else
        fputc('?', out);
    fprintf(out, " | %s", bench_verdict_word(judged->verdict, claim->metric));
    report_notes(out, claim);
    fputc('\n', out);
    free(null);
    free(effect);
    free(head);
    free(base);
}

static void report_summary_line(FILE *out, const char *scope, const struct lab_summary *summary, const char *worst,
                                const char *metric, const char *base, const char *head)
{
    fprintf(out, "%s | %s | %s | %s | ", scope, metric, base, head);
    if (summary->workloads == 0)
        fputs("none measured\n", out);
    else if (summary->workloads == 1)
        fprintf(out, "%.3f | 1 workload | %s\n", summary->ratio, worst);
    else
        fprintf(out, "%.3f [%.3f, %.3f] | %zu workloads | worst %s %.3f\n", summary->ratio, summary->interval.low,
                summary->interval.high, summary->workloads, worst, summary->worst_ratio);
}

static void report_summaries(FILE *out, const struct bench_session *session, const struct bench_claims *claims,
                             size_t base)
{
    const struct bench_arms *arms = &session->options->arms;
    fputs("\n# scope | metric | base | head | geometric mean of the ratios [interval over workloads] | of | worst\n",
          out);
    for (unsigned metric = 0; metric < BENCH_JUDGED_METRICS; metric++) {
        for (size_t head = 0; head < arms->null; head++) {
            if (head == base)
                continue;
            struct bench_summary summary = bench_claims_summarise(claims, base, head, metric);
            const char *name = bench_metric_name(metric);
            report_summary_line(out, "all", &summary.all, summary.worst_name, name, arms->items[base].name,
                                arms->items[head].name);
            report_summary_line(out, "real", &summary.real, summary.worst_real_name, name, arms->items[base].name,
                                arms->items[head].name);
        }
    }
}

void bench_report_text(FILE *out, const struct bench_session *session, const struct bench_claims *claims,
                       const struct bench_run *floor)
{
    const struct bench_options *options = session->options;
    report_opening(out, session, floor);
    report_table(out, session, claims);
    bench_exact_report(out, session, claims);
    bench_latency_report(out, session, claims);
    for (size_t b = 0; b < options->base_count; b++) {
        fputs("\n# workload | metric | base | head | effect [interval] | wins | null [interval] | smallest visible "
              "effect "
              "| verdict\n",
              out);
        for (size_t i = 0; i < claims->count; i++) {
            const struct bench_claim *claim = &claims->items[i];
            /* One line is enough to say that there is nothing to say. */
            if (claim->base == options->bases[b] && (claim->fault == NULL || claim->metric == BENCH_CPU))
                report_line(out, session, claim);
        }
        if (claims->result_count > 1)
            report_summaries(out, session, claims, options->bases[b]);
    }
}
