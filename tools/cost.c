/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay cost`: what each level, and each single option, costs a program; also shows and merges sessions.
 *
 * Why this way: the engine of tools/bench; here are only the arms and the forms of the command.
 *
 * Invariants: results go to stdout, progress to stderr.
 *
 * Concurrency: one thread.
 */
#include "cost.h"
#include "bench/budget.h"
#include "bench/engine.h"
#include "bench/load.h"
#include "bench/peers.h"
#include "bench/text.h"
#include "command.h"
#include "policy/policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add_usual_arms(struct bench_options *options)
{
    if (options->base_level > SJ_LEVEL_MAX)
        bench_die("--base-level takes a number from 0 to %d", SJ_LEVEL_MAX);
    if (options->arms.chosen)
        return;
    if (options->no_ladder && !options->single_options)
        bench_die("--no-ladder leaves nothing to measure without --options");
    if (options->no_ladder) {
        bench_add_level(options, "level", options->base_level);
        (void)bench_add_single_options(options, options->base_level, false);
        return;
    }
    struct bench_arms extra = options->arms; /* --lib */
    options->arms.count = 0;
    bench_add_glibc(&options->arms);
    for (size_t i = 0; i < extra.count && options->arms.count < BENCH_ARMS_MAX; i++)
        options->arms.items[options->arms.count++] = extra.items[i];
    bench_add_levels(options, "level");
    if (!options->single_options)
        return;
    (void)bench_add_single_options(options, options->base_level, false);
    if (options->base_count > 0)
        return;
    options->base_names[options->base_count++] = "glibc";
    options->base_names[options->base_count++] = bench_format("level%u", options->base_level);
}

void sj__cost_choose_arms(struct bench_options *options)
{
    add_usual_arms(options);
    bench_options_find_bases(options);
}

static int show(int argc, char **argv)
{
    static struct bench_loaded loaded;
    const char *html = NULL;
    const char *file = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--html") == 0 && i + 1 < argc)
            html = argv[++i];
        else if (argv[i][0] != '-' && file == NULL)
            file = argv[i];
        else
            bench_die("usage: scrubjay cost show FILE|DIR [--html FILE]");
    }
    if (file == NULL)
        bench_die("usage: scrubjay cost show FILE|DIR [--html FILE]");
    bench_load(&loaded, file);
    bench_claims_judge(&loaded.outcome.claims, &loaded.options, loaded.outcome.results, loaded.outcome.measured);
    bench_engine_report(&loaded.outcome);
    if (html != NULL)
        bench_engine_write_page(&loaded.outcome, html);
    return bench_claims_status(&loaded.outcome.claims);
}

static int merge(int argc, char **argv)
{
    static struct bench_loaded loaded, more;
    bool unlike = false;
    const char *out = NULL;
    int first = 1;
    for (; first < argc && strncmp(argv[first], "--", 2) == 0; first++) {
        if (strcmp(argv[first], "--unlike") == 0)
            unlike = true;
        else if (strcmp(argv[first], "--out") == 0 && first + 1 < argc)
            out = argv[++first];
        else
            bench_die("usage: scrubjay cost merge [--unlike] [--out DIR] DIR...");
    }
    if (first == argc)
        bench_die("usage: scrubjay cost merge [--unlike] [--out DIR] DIR...");
    bench_load(&loaded, argv[first]);
    for (int i = first + 1; i < argc; i++) {
        bench_load(&more, argv[i]);
        bench_load_merge(&loaded, &more, unlike);
    }
    if (out != NULL && !bench_make_directory(out))
        bench_die("cannot make the folder %s", out);
    loaded.options.out = out;
    bench_claims_judge(&loaded.outcome.claims, &loaded.options, loaded.outcome.results, loaded.outcome.measured);
    bench_engine_write_rows(&loaded.outcome);
    bench_engine_report(&loaded.outcome);
    return bench_claims_status(&loaded.outcome.claims);
}

/* --resume: the session's own command line again, in its own folder. */
static void read_options(struct bench_options *options, int argc, char **argv)
{
    bench_options_read(options, BENCH_COST, argc, argv);
    if (options->resume)
        bench_options_resume(options, BENCH_COST);
}

int sj__command_cost(int argc, char **argv)
{
    static struct bench_options options;
    static struct bench_outcome outcome;
    struct bench_manifest manifest = { 0 };
    if (argc > 1 && strcmp(argv[1], "show") == 0)
        return show(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "merge") == 0)
        return merge(argc - 1, argv + 1);
    if (argc > 1 && (strcmp(argv[1], "plan") == 0 || strcmp(argv[1], "run-block") == 0)) {
        bool plan = strcmp(argv[1], "plan") == 0;
        argv[1] = argv[0];
        return plan ? sj__cost_plan(argc - 1, argv + 1) : sj__cost_run_block(argc - 1, argv + 1);
    }
    read_options(&options, argc, argv);
    bench_engine_read_jobs(&options, &manifest);
    if (options.list) {
        bench_engine_list(&manifest);
        return 0;
    }
    if (options.budget != NULL)
        return bench_budget_find(&options, &manifest);
    sj__cost_choose_arms(&options);
    bench_engine_measure(&outcome, &options, &manifest);
    bench_engine_report(&outcome);
    return bench_engine_status(&outcome);
}
