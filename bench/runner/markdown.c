/* SPDX-License-Identifier: MIT
 *
 * What: see markdown.h.
 *
 * Why this way: see markdown.h.
 */
#include "runner/markdown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runner/report.h"
#include "runner/text.h"

static FILE *markdown_open(const struct bench_session *session, const char *kind, const char *base)
{
    char *path =
        bench_format("%s/%s%s%s.md", session->options->out, kind, base != NULL ? "-" : "", base != NULL ? base : "");
    FILE *file = fopen(path, "we");
    if (file == NULL)
        bench_die("%s: %s", path, strerror(errno));
    free(path);
    return file;
}

static void markdown_ratio(FILE *out, const struct lab_summary *summary)
{
    if (summary->workloads == 0)
        fputs(" |", out);
    else if (summary->workloads == 1)
        fprintf(out, " %.2f |", summary->ratio);
    else
        fprintf(out, " %.2f [%.2f, %.2f] |", summary->ratio, summary->interval.low, summary->interval.high);
}

static void markdown_summary(const struct bench_session *session, const struct bench_claims *claims, size_t base)
{
    const struct bench_arms *arms = &session->options->arms;
    FILE *out = markdown_open(session, "summary", arms->items[base].name);
    fprintf(out,
            "| relative to %s | cpu, all | cpu, real programs | worst cpu | wall, all | peak RSS, all | peak RSS, "
            "real programs | worst RSS |\n|---|---|---|---|---|---|---|---|\n",
            arms->items[base].name);
    for (size_t head = 0; head < arms->null; head++) {
        if (head == base)
            continue;
        struct bench_summary cpu = bench_claims_summarise(claims, base, head, BENCH_CPU);
        struct bench_summary wall = bench_claims_summarise(claims, base, head, BENCH_WALL);
        struct bench_summary rss = bench_claims_summarise(claims, base, head, BENCH_RSS);
        fprintf(out, "| %s |", arms->items[head].name);
        markdown_ratio(out, &cpu.all);
        markdown_ratio(out, &cpu.real);
        fprintf(out, " %s %.2f |", cpu.worst_name != NULL ? cpu.worst_name : "", cpu.all.worst_ratio);
        markdown_ratio(out, &wall.all);
        markdown_ratio(out, &rss.all);
        markdown_ratio(out, &rss.real);
        fprintf(out, " %s %.2f |\n", rss.worst_name != NULL ? rss.worst_name : "", rss.all.worst_ratio);
    }
    fclose(out);
}

static void markdown_cells(const struct bench_session *session, const struct bench_claims *claims, size_t base)
{
    const struct bench_arms *arms = &session->options->arms;
    FILE *out = markdown_open(session, "cells", arms->items[base].name);
    fprintf(out,
            "| workload | metric | %s | arm | value | effect [interval] | null [interval] | smallest visible | "
            "verdict |\n|---|---|---|---|---|---|---|---|---|\n",
            arms->items[base].name);
    for (size_t i = 0; i < claims->count; i++) {
        const struct bench_claim *claim = &claims->items[i];
        if (claim->base != base || (claim->fault != NULL && claim->metric != BENCH_CPU))
            continue;
        const char *workload = claim->result->workload->name;
        const char *metric = bench_metric_name(claim->metric);
        if (claim->fault != NULL) {
            fprintf(out, "| %s | %s | | %s | | | | | INVALID: %s |\n", workload, metric, arms->items[claim->head].name,
                    claim->fault);
            continue;
        }
        char *base_value = bench_value_text(claim->result, base, claim->metric);
        char *head_value = bench_value_text(claim->result, claim->head, claim->metric);
        char *effect = bench_effect_text(claim->claim.head.log_median, claim->claim.log_interval);
        char *null = bench_effect_text(claim->claim.null.log_median, claim->claim.null.log_interval);
        fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %.1f %% | %s |\n", workload, metric, base_value,
                arms->items[claim->head].name, head_value, effect, null,
                100 * lab_effect(claim->claim.head.log_visible),
                bench_verdict_word(claim->claim.verdict, claim->metric));
        free(null);
        free(effect);
        free(head_value);
        free(base_value);
    }
    fclose(out);
}

static void markdown_medians(const struct bench_session *session, const struct bench_claims *claims)
{
    const struct bench_arms *arms = &session->options->arms;
    FILE *out = markdown_open(session, "medians", NULL);
    fputs(
        "| test | alloc | time | rss | user | sys | page-faults | page-reclaims |\n|---|---|---|---|---|---|---|---|\n",
        out);
    for (size_t i = 0; i < claims->result_count; i++) {
        const struct bench_result *result = &claims->results[i];
        for (size_t arm = 0; arm < arms->null; arm++) {
            fprintf(out, "| %s | %s |", result->workload->name, arms->items[arm].name);
            if (result->refused != NULL || result->faults[arm] != NULL) {
                fputs(" INVALID | | | | | |\n", out);
                continue;
            }
            fprintf(out, " %.3f | %.0f | %.3f | %.3f | %.0f | %.0f |\n",
                    bench_view_median(result, arm, BENCH_WALL, false), bench_view_median(result, arm, BENCH_RSS, false),
                    bench_view_median(result, arm, BENCH_USER, false),
                    bench_view_median(result, arm, BENCH_SYSTEM, false),
                    bench_view_median(result, arm, BENCH_MAJOR_FAULTS, false),
                    bench_view_median(result, arm, BENCH_MINOR_FAULTS, false));
        }
    }
    fclose(out);
}

static void markdown_session(const struct bench_session *session, const struct bench_claims *claims)
{
    FILE *out = markdown_open(session, "session", NULL);
    char day[32];
    time_t now = time(NULL);
    struct tm broken_down;
    strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &broken_down));
    size_t least = 0;
    size_t most = 0;
    for (size_t i = 0; i < claims->result_count; i++) {
        size_t blocks = claims->results[i].blocks;
        if (claims->results[i].refused != NULL)
            continue;
        least = least == 0 || blocks < least ? blocks : least;
        most = blocks > most ? blocks : most;
    }
    char *machine = bench_machine_line(session->machine);
    fprintf(out, "%s; %zu workloads, %zu to %zu mirrored blocks each; seed %llu; %s\n", day, claims->result_count,
            least, most, (unsigned long long)session->options->seed, machine);
    free(machine);
    fclose(out);
}

void bench_write_markdown(const struct bench_session *session, const struct bench_claims *claims)
{
    const struct bench_options *options = session->options;
    if (options->out == NULL)
        return;
    markdown_session(session, claims);
    markdown_medians(session, claims);
    for (size_t b = 0; b < options->base_count; b++) {
        markdown_summary(session, claims, options->bases[b]);
        markdown_cells(session, claims, options->bases[b]);
    }
}
