/* SPDX-License-Identifier: MIT
 *
 * What: see markdown.h.
 *
 * Why this way: see markdown.h.
 */
#include "bench/markdown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/peers.h"
#include "bench/report.h"
#include "bench/text.h"
#include "policy/policy.h"

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

static const struct bench_claim *markdown_find(const struct bench_claims *claims, const struct bench_result *result,
                                               size_t base, size_t head, enum bench_metric metric)
{
    for (size_t i = 0; i < claims->count; i++) {
        const struct bench_claim *claim = &claims->items[i];
        if (claim->result == result && claim->base == base && claim->head == head && claim->metric == metric)
            return claim;
    }
    return NULL;
}

static void markdown_cell(FILE *out, const struct bench_claim *claim)
{
    if (claim == NULL || claim->fault != NULL) {
        fputs(" INVALID |", out);
        return;
    }
    char *effect = bench_effect_text(claim->claim.head.log_median, claim->claim.log_interval);
    fprintf(out, " %s %s |", effect, bench_verdict_word(claim->claim.verdict, claim->metric));
    free(effect);
}

/* The null control is the same in every claim of a workload: it is taken from the first that was judged. */
static void markdown_cells_of(FILE *out, const struct bench_session *session, const struct bench_claims *claims,
                              const struct bench_result *result, size_t base, enum bench_metric metric)
{
    const struct bench_arms *arms = &session->options->arms;
    const struct bench_claim *judged = NULL;
    for (size_t head = 0; head < arms->null && judged == NULL; head++) {
        judged = markdown_find(claims, result, base, head, metric);
        if (judged != NULL && judged->fault != NULL)
            judged = NULL;
    }
    if (judged == NULL) {
        fprintf(out, "| %s | INVALID | |", result->workload->name);
    } else {
        char *value = bench_value_text(result, base, metric);
        char *null = bench_effect_text(judged->claim.null.log_median, judged->claim.null.log_interval);
        fprintf(out, "| %s | %s | %s |", result->workload->name, value, null);
        free(null);
        free(value);
    }
    for (size_t head = 0; head < arms->null; head++)
        if (head != base)
            markdown_cell(out, markdown_find(claims, result, base, head, metric));
    fputc('\n', out);
}

static void markdown_cells(const struct bench_session *session, const struct bench_claims *claims, size_t base,
                           enum bench_metric metric)
{
    const struct bench_arms *arms = &session->options->arms;
    FILE *out = markdown_open(session, bench_metric_name(metric), arms->items[base].name);
    fprintf(out, "| %s | %s | null |", bench_metric_name(metric), arms->items[base].name);
    for (size_t head = 0; head < arms->null; head++)
        if (head != base)
            fprintf(out, " %s |", arms->items[head].name);
    fputs("\n|---|---|---|", out);
    for (size_t head = 1; head < arms->null; head++)
        fputs("---|", out);
    fputc('\n', out);
    for (size_t i = 0; i < claims->result_count; i++)
        markdown_cells_of(out, session, claims, &claims->results[i], base, metric);
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

/* A cell of the price list: without the verdict, which depends on what difference matters. */
static void markdown_price(FILE *out, const struct bench_claim *claim)
{
    if (claim == NULL || claim->fault != NULL) {
        fputs(" INVALID |", out);
        return;
    }
    char *effect = bench_effect_text(claim->claim.head.log_median, claim->claim.log_interval);
    fprintf(out, " %s |", effect);
    free(effect);
}

/* The price list: an option a row, a workload a column. Written only if an arm is a single option. */
static void markdown_prices(const struct bench_session *session, const struct bench_claims *claims, size_t base)
{
    const struct bench_arms *arms = &session->options->arms;
    FILE *out = NULL;
    for (size_t head = 0; head < arms->null; head++) {
        int level = bench_option_first_level(arms->items[head].name);
        if (head == base || level < 0)
            continue;
        if (out == NULL) {
            out = markdown_open(session, "prices", arms->items[base].name);
            fprintf(out, "| on top of %s | from level |", arms->items[base].name);
            for (size_t i = 0; i < claims->result_count; i++)
                fprintf(out, " cpu, %s |", claims->results[i].workload->name);
            fputs(" peak RSS, all | worst RSS |\n|---|---|---|---|", out);
            for (size_t i = 0; i < claims->result_count; i++)
                fputs("---|", out);
            fputc('\n', out);
        }
        char *from = level <= SJ_LEVEL_MAX ? bench_format("%d", level) : bench_format("none");
        fprintf(out, "| `%s` | %s |", arms->items[head].name, from);
        free(from);
        for (size_t i = 0; i < claims->result_count; i++)
            markdown_price(out, markdown_find(claims, &claims->results[i], base, head, BENCH_CPU));
        struct bench_summary rss = bench_claims_summarise(claims, base, head, BENCH_RSS);
        markdown_ratio(out, &rss.all);
        fprintf(out, " %s %.2f |\n", rss.worst_name != NULL ? rss.worst_name : "", rss.all.worst_ratio);
    }
    if (out != NULL)
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
        markdown_prices(session, claims, options->bases[b]);
        for (unsigned metric = 0; metric < BENCH_JUDGED_METRICS; metric++)
            markdown_cells(session, claims, options->bases[b], (enum bench_metric)metric);
    }
}
