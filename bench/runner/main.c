/* SPDX-License-Identifier: MIT
 *
 * What: the paired runner: reads the list of workloads, measures each under every arm, reports.
 *
 * Why this way: see tools/lab for the statistics and session.h for the design; this file only puts them in order.
 *
 * Invariants: results go to stdout, progress to stderr.
 *
 * Concurrency: one thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/claims.h"
#include "runner/markdown.h"
#include "runner/report.h"
#include "runner/results.h"
#include "runner/rows.h"
#include "runner/text.h"

static void main_list(const struct bench_manifest *manifest)
{
    for (size_t i = 0; i < manifest->count; i++) {
        const struct bench_workload *workload = &manifest->items[i];
        printf("%-20s %-5s %3u  %s\n", workload->name, workload->real ? "real" : "micro", workload->threads,
               workload->command);
    }
}

/* A folder for the copies of the libraries. */
static char *main_make_scratch(void)
{
    const char *parent = getenv("TMPDIR");
    char *scratch = bench_format("%s/bench-XXXXXX", parent != NULL && parent[0] == '/' ? parent : "/tmp");
    if (mkdtemp(scratch) == NULL)
        bench_die("%s: %s", scratch, strerror(errno));
    return scratch;
}

static size_t main_measure_all(struct bench_session *session, struct bench_manifest *manifest,
                               struct bench_result *results)
{
    double ends = session->began_seconds + session->options->budget_seconds;
    size_t measured = 0;
    while (measured < manifest->count && !bench_interrupted()) {
        double left = ends - bench_now_seconds();
        double share = left > 0 ? left / (double)(manifest->count - measured) : 0;
        struct bench_result *result = &results[measured];
        bench_say("%s, %zu of %zu", manifest->items[measured].name, measured + 1, manifest->count);
        bench_measure(session, &manifest->items[measured], share, result);
        if (result->refused != NULL)
            bench_say("%s: %s", result->workload->name, result->refused);
        measured += bench_interrupted() ? 0 : 1;
    }
    return measured;
}

static void main_report(const struct bench_session *session, const struct bench_claims *claims,
                        const struct bench_run *floor)
{
    const struct bench_options *options = session->options;
    bench_report_text(stdout, session, claims, floor);
    if (options->out == NULL)
        return;
    char *path = bench_format("%s/report.txt", options->out);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        bench_die("%s: %s", path, strerror(errno));
    bench_report_text(file, session, claims, floor);
    fclose(file);
    free(path);
    bench_write_claims(session, claims);
    bench_write_markdown(session, claims);
}

int main(int argc, char **argv)
{
    static struct bench_options options;
    static struct bench_machine machine;
    struct bench_manifest manifest = { 0 };
    bench_options_read(&options, argc, argv);
    bench_manifest_read(&manifest, options.manifest, options.bin, options.dir, options.patterns, options.pattern_count);
    if (options.list) {
        main_list(&manifest);
        return 0;
    }
    if (manifest.count == 0)
        bench_die("%s: no workload matches", options.manifest);
    bench_watch_signals();

    struct bench_session session = { .options = &options, .machine = &machine, .began_seconds = bench_now_seconds() };
    session.launcher = bench_format("%s/launcher", options.bin);
    /* One more than a unanimous claim needs, or the default. */
    size_t for_all = lab_holm_blocks(manifest.count, options.confidence) + 1;
    session.least_blocks = for_all > LAB_BLOCKS_MIN ? for_all : LAB_BLOCKS_MIN;
    lab_random_seed(&session.random, options.seed);
    bench_machine_read(&machine);
    char *scratch = main_make_scratch();
    bench_arms_prepare(&options.arms, options.bases[0], scratch);
    bench_say("seed %llu", (unsigned long long)options.seed);
    struct bench_run floor;
    bench_measure_floor(&session, &floor);
    bench_open_rows(&session, &floor);

    struct bench_result *results = lab_allocate(manifest.count, sizeof *results);
    size_t measured = main_measure_all(&session, &manifest, results);
    bench_close_rows(&session);
    bench_arms_remove_copies(&options.arms);
    (void)rmdir(scratch);

    struct bench_claims claims;
    bench_claims_judge(&claims, &options, results, measured);
    main_report(&session, &claims, &floor);
    int status = bench_claims_status(&claims);
    if (measured < manifest.count) {
        bench_say("interrupted: %zu of %zu workloads", measured, manifest.count);
        status = lab_worse_status(status, lab_verdict_status(LAB_INCONCLUSIVE));
    }
    return status;
}
