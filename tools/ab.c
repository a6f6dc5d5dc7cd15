/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay ab`: is B slower than A? Two builds, or two sets of options, and one verdict.
 *
 * Why this way: the engine of tools/bench with two arms; the last line on stdout is the verdict, the exit status says the
 * same, so that a script needs no parsing.
 *
 * Invariants: A is the baseline.
 *
 * Concurrency: one thread.
 */
#include "bench/engine.h"
#include "bench/layout.h"
#include "bench/load.h"
#include "bench/peers.h"
#include "bench/report.h"
#include "bench/text.h"
#include "command.h"
#include "library.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYOUTS_LEAST = 3 };

/* PATH, PATH:options or options. A path has a slash before anything else that is special. */
static void add_side(struct bench_options *options, const char *name, const char *side)
{
    size_t length = strcspn(side, ":=,");
    bool is_path = memchr(side, '/', length) != NULL || strcmp(side, "glibc") == 0;
    const char *settings = is_path ? side + length + (side[length] == ':' ? 1 : 0) : side;
    char *path = is_path ? bench_copy(side, length) : bench_copy("", 0);
    if (is_path && side[length] != ':' && side[length] != '\0')
        bench_die("%s: a path, or PATH:key=value,...", side);
    if (strcmp(path, "glibc") == 0)
        path[0] = '\0';
    const struct sj_launch launch = { .options = settings };
    if (settings[0] != '\0' && !sj__library_check_options(&launch))
        bench_die("%s is neither a path (with a slash in it) nor options", side);
    if (!is_path) {
        bench_add_scrubjay(options, name, settings);
    } else {
        char *arm = bench_format("%s=%s%s%s", name, path, settings[0] != '\0' ? ";SCRUBJAY_OPTIONS=" : "", settings);
        bench_arms_add(&options->arms, arm, true);
        free(arm);
    }
    free(path);
}

static void print_verdict(const struct bench_outcome *outcome)
{
    const struct bench_claims *claims = &outcome->claims;
    for (size_t i = 0; i < claims->count; i++) {
        const struct bench_claim *claim = &claims->items[i];
        if (claim->metric != BENCH_CPU)
            continue;
        if (claim->fault != NULL) {
            printf("%s: INVALID: %s\n", claim->result->workload->name, claim->fault);
            continue;
        }
        char *effect = bench_effect_text(claim->claim.head.log_median, claim->claim.log_interval);
        printf("%s: %s: B takes %s cpu of A\n", claim->result->workload->name,
               bench_verdict_word(claim->claim.verdict, BENCH_CPU), effect);
        free(effect);
    }
}

/* What --layouts adds up: a log ratio a layout and workload. */
struct layouts {
    double *logs; /* [workload * layouts + layout] */
    size_t count;
    bool invalid;
};

/* Links what both arms preload again, with one seed, into a folder. */
static void relink(struct bench_arms *arms, const char *folder, uint64_t seed)
{
    for (size_t i = 0; i < arms->count; i++) {
        struct bench_arm *arm = &arms->items[i];
        if (arm->preload[0] == '\0')
            continue;
        char *to = bench_format("%s/%zu.so", folder, i);
        bench_layout_link(arm->preload, seed, to);
        arm->preload = to;
    }
}

static void take_layout(struct layouts *layouts, const struct bench_outcome *outcome, size_t layout)
{
    for (size_t i = 0; i < outcome->claims.count; i++) {
        const struct bench_claim *claim = &outcome->claims.items[i];
        if (claim->metric != BENCH_CPU)
            continue;
        size_t workload = (size_t)(claim->result - outcome->results);
        if (claim->fault != NULL || claim->claim.verdict == LAB_INVALID)
            layouts->invalid = true;
        else
            layouts->logs[workload * layouts->count + layout] = claim->claim.head.log_median;
    }
}

/* The verdict over layouts: each is one observation. */
static int judge_layouts(const struct layouts *layouts, const struct bench_options *options,
                         const struct bench_manifest *manifest)
{
    int status = 0;
    if (layouts->invalid || bench_interrupted()) {
        puts(layouts->invalid ? "INVALID: see above" : "INCONCLUSIVE: interrupted");
        return lab_verdict_status(layouts->invalid ? LAB_INVALID : LAB_INCONCLUSIVE);
    }
    for (size_t i = 0; i < manifest->count; i++) {
        struct lab_summary summary =
            lab_summarise(layouts->logs + i * layouts->count, layouts->count, options->confidence);
        struct lab_interval logs = { log(summary.interval.low), log(summary.interval.high) };
        enum lab_verdict verdict = lab_verdict_of(log(summary.ratio), logs, options->delta_time);
        char *effect = bench_effect_text(log(summary.ratio), logs);
        printf("%s: %s: B takes %s cpu of A, over %zu layouts\n", manifest->items[i].name, lab_verdict_word(verdict),
               effect, layouts->count);
        free(effect);
        status = lab_worse_status(status, lab_verdict_status(verdict));
    }
    return status;
}

static int run_layouts(struct bench_options *options, struct bench_manifest *manifest)
{
    static struct bench_options session;
    static struct bench_outcome outcome;
    struct layouts layouts = { .logs = lab_allocate(manifest->count * options->layouts, sizeof *layouts.logs),
                               .count = options->layouts };
    if (options->layouts < LAYOUTS_LEAST || options->resume)
        bench_die("--layouts takes a number from %d on, and cannot be resumed", LAYOUTS_LEAST);
    char *folder = bench_make_scratch();
    for (size_t layout = 0; layout < options->layouts && !bench_interrupted(); layout++) {
        session = *options;
        session.budget_seconds = options->budget_seconds / (double)options->layouts;
        session.seed = options->seed + layout;
        if (options->out != NULL) {
            session.out = bench_format("%s/layout%zu", options->out, layout);
            if (!bench_make_directory(session.out))
                bench_die("cannot make the folder %s", session.out);
        }
        relink(&session.arms, folder, session.seed);
        bench_engine_measure(&outcome, &session, manifest);
        bench_engine_report(&outcome);
        putchar('\n');
        take_layout(&layouts, &outcome, layout);
    }
    int status = judge_layouts(&layouts, options, manifest);
    free(layouts.logs);
    return status;
}

int sj__command_ab(int argc, char **argv)
{
    static struct bench_options options;
    static struct bench_outcome outcome;
    struct bench_manifest manifest = { 0 };
    bench_options_read(&options, BENCH_AB, argc, argv);
    if (options.resume)
        bench_options_resume(&options, BENCH_AB);
    if (options.words_before_dashes != 2)
        bench_die("two sides are needed before --: A B -- COMMAND; --help shows them");
    bench_engine_read_jobs(&options, &manifest);
    add_side(&options, "A", options.words[0]);
    add_side(&options, "B", options.words[1]);
    bench_options_find_bases(&options);
    if (options.layouts > 0)
        return run_layouts(&options, &manifest);
    bench_engine_measure(&outcome, &options, &manifest);
    bench_engine_report(&outcome);
    putchar('\n');
    print_verdict(&outcome);
    return bench_engine_status(&outcome);
}
