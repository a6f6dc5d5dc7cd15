/* SPDX-License-Identifier: MIT
 *
 * What: see engine.h.
 *
 * Why this way: see tools/lab for the statistics and session.h for the design; this file only puts them in order.
 */
#include "bench/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/load.h"
#include "bench/markdown.h"
#include "bench/report.h"
#include "bench/results.h"
#include "bench/rows.h"
#include "bench/text.h"
#include "page/page.h"

void bench_engine_list(const struct bench_manifest *manifest)
{
    for (size_t i = 0; i < manifest->count; i++) {
        const struct bench_workload *workload = &manifest->items[i];
        printf("%-20s %-5s %3u  %s\n", workload->name, workload->real ? "real" : "micro", workload->threads,
               workload->command);
    }
}

void bench_engine_read_jobs(struct bench_options *options, struct bench_manifest *manifest)
{
    char **words = options->words + options->words_before_dashes;
    if (options->which != BENCH_AB)
        words = options->words;
    if ((options->server != NULL) != (options->client != NULL))
        bench_die("--server and --client belong together");
    if ((options->manifest != NULL) + (options->server != NULL) + (words[0] != NULL) != 1)
        bench_die("exactly one of a command after --, --file, or --server with --client; --help shows them");
    if (options->manifest != NULL) {
        bench_manifest_read(manifest, options->manifest, options->bin, options->dir, options->patterns,
                            options->pattern_count);
        if (manifest->count == 0)
            bench_die("%s: no command matches", options->manifest);
        return;
    }
    if (options->server != NULL && (options->count_calls || options->count_instructions))
        bench_die("--calls and --instructions count commands, not servers");
    if (options->server != NULL) {
        bench_manifest_take_line(manifest, options->server, options->threads);
        /* The server itself is to be measured and to get the signal, not a shell that dies of it first. */
        if (bench_needs_shell(options->server))
            manifest->items[0].command = bench_format("exec %s", options->server);
        options->ignore_output = options->ignore_errors = options->normalise == NULL;
    } else {
        bench_manifest_take(manifest, words, options->threads);
    }
}

/* True if the workload yielded something to report. */
static bool engine_measure_one(struct bench_outcome *outcome, struct bench_manifest *manifest, size_t index)
{
    struct bench_session *session = &outcome->session;
    double ends = session->began_seconds + session->options->budget_seconds;
    double left = ends - bench_now_seconds();
    double share = left > 0 ? left / (double)(manifest->count - index) : 0;
    struct bench_result *result = &outcome->results[index];
    if (manifest->count > 1)
        bench_say("%s, %zu of %zu", manifest->items[index].name, index + 1, manifest->count);
    bench_measure(session, &manifest->items[index], share, result);
    if (result->refused != NULL)
        bench_say("%s: %s", result->workload->name, result->refused);
    return !bench_interrupted() || result->blocks > 0;
}

static void engine_begin(struct bench_outcome *outcome, struct bench_options *options, size_t workloads)
{
    struct bench_session *session = &outcome->session;
    *session = (struct bench_session){ .options = options,
                                       .machine = &outcome->machine,
                                       .began_seconds = bench_now_seconds() };
    /* One more than a unanimous claim needs, or the default. */
    size_t for_all = lab_holm_blocks(workloads, options->confidence) + 1;
    session->least_blocks = for_all > LAB_BLOCKS_MIN ? for_all : LAB_BLOCKS_MIN;
    bench_machine_read(&outcome->machine);
    bench_say("%zu arms, baseline %s; budget %.1f min; seed %llu", options->arms.count,
              options->arms.items[options->bases[0]].name, options->budget_seconds / 60,
              (unsigned long long)options->seed);
}

void bench_engine_measure(struct bench_outcome *outcome, struct bench_options *options, struct bench_manifest *manifest)
{
    bench_watch_signals();
    engine_begin(outcome, options, manifest->count);
    struct bench_session *session = &outcome->session;
    char *scratch = bench_make_scratch();
    session->record = bench_format("%s/record", scratch);
    session->times = bench_format("%s/times", scratch);
    bench_arms_prepare(&options->arms, options->bases[0], scratch);
    bench_measure_floor(session, &outcome->floor);
    outcome->wanted = manifest->count;
    outcome->measured = 0;
    outcome->results = calloc(manifest->count, sizeof *outcome->results);
    if (outcome->results == NULL)
        abort();
    if (options->resume) {
        bench_mend_rows(options);
        bench_load_results(outcome, manifest);
    }
    bench_open_rows(session, &outcome->floor);
    while (outcome->measured < manifest->count && !bench_interrupted())
        outcome->measured += engine_measure_one(outcome, manifest, outcome->measured) ? 1 : 0;
    bench_close_rows(session);
    (void)bench_machine_place(&outcome->machine, UINT16_MAX); /* where we were before */
    bench_claims_judge(&outcome->claims, options, outcome->results, outcome->measured);
}

void bench_engine_write_rows(struct bench_outcome *outcome)
{
    struct bench_session *session = &outcome->session;
    bench_open_rows(session, &outcome->floor);
    for (size_t i = 0; i < outcome->measured; i++) {
        const struct bench_result *result = &outcome->results[i];
        bench_write_plan(session, result);
        for (size_t k = 0; k < result->row_count; k++)
            bench_write_row(session, result, &result->rows[k]);
        for (size_t arm = 0; arm < session->options->arms.count; arm++)
            if (result->faults[arm] != NULL)
                bench_write_fault(session, result, arm);
        for (size_t arm = 0; arm < session->options->arms.count; arm++)
            bench_write_counts(session, result, arm);
        bench_write_latency(session, result);
        bench_write_refusal(session, result);
    }
    bench_close_rows(session);
}

typedef void engine_writer(FILE *out, const struct bench_session *session, const struct bench_claims *claims,
                           const struct bench_run *floor);

static void engine_write(const struct bench_outcome *outcome, const char *path, engine_writer *writer)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        bench_die("%s: %s", path, strerror(errno));
    writer(file, &outcome->session, &outcome->claims, &outcome->floor);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        bench_die("%s cannot be written whole: %s", path, strerror(errno));
}

void bench_engine_write_page(const struct bench_outcome *outcome, const char *path)
{
    engine_write(outcome, path, page_write);
}

void bench_engine_report(const struct bench_outcome *outcome)
{
    const struct bench_session *session = &outcome->session;
    const struct bench_options *options = session->options;
    bench_report_text(stdout, session, &outcome->claims, &outcome->floor);
    if (options->out == NULL)
        return;
    char *path = bench_format("%s/report.txt", options->out);
    engine_write(outcome, path, bench_report_text);
    free(path);
    path = bench_format("%s/report.html", options->out);
    bench_engine_write_page(outcome, path);
    free(path);
    bench_write_claims(session, &outcome->claims);
    bench_write_markdown(session, &outcome->claims);
}

int bench_engine_status(const struct bench_outcome *outcome)
{
    int status = bench_claims_status(&outcome->claims);
    bool whole = outcome->measured == outcome->wanted;
    for (size_t i = 0; i < outcome->measured; i++)
        if (outcome->results[i].refused != NULL && !bench_interrupted())
            status = lab_worse_status(status, lab_verdict_status(LAB_INVALID));
    for (size_t i = 0; i < outcome->measured; i++)
        whole = whole && (outcome->results[i].refused != NULL || outcome->results[i].stopped_early ||
                          outcome->results[i].blocks == outcome->results[i].plan.blocks);
    if (whole)
        return status;
    bench_say("interrupted: %zu of %zu commands, the last one perhaps in part", outcome->measured, outcome->wanted);
    return lab_worse_status(status, lab_verdict_status(LAB_INCONCLUSIVE));
}
