/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay bench`: the bundled workloads under every allocator of this machine.
 *
 * Why this way: the engine of tools/bench; here are only the arms.
 *
 * Invariants: results go to stdout, progress to stderr.
 *
 * Concurrency: one thread.
 */
#include "bench/engine.h"
#include "bench/peers.h"
#include "bench/text.h"
#include "command.h"

#include <string.h>

/* Memory is compared with the C library's, time with mimalloc's, if it is here. */
static void choose_arms(struct bench_options *options)
{
    if (options->arms.chosen)
        return;
    struct bench_arms extra = options->arms; /* --lib */
    options->arms.count = 0;
    bench_add_glibc(&options->arms);
    bench_add_peers(&options->arms);
    for (size_t i = 0; i < extra.count && options->arms.count < BENCH_ARMS_MAX; i++)
        options->arms.items[options->arms.count++] = extra.items[i];
    bench_add_levels(options, "sj");
    if (options->base_count > 0)
        return;
    options->base_names[options->base_count++] = "glibc";
    for (size_t i = 0; i < options->arms.count; i++)
        if (strcmp(options->arms.items[i].name, "mimalloc") == 0)
            options->base_names[options->base_count++] = "mimalloc";
}

int sj__command_bench(int argc, char **argv)
{
    static struct bench_options options;
    static struct bench_outcome outcome;
    struct bench_manifest manifest = { 0 };
    bench_options_read(&options, BENCH_BENCH, argc, argv);
    if (options.word_count > 0)
        bench_die("not an option: %s; a command of your own is for `scrubjay cost -- COMMAND`", options.words[0]);
    bench_engine_read_jobs(&options, &manifest);
    if (options.list) {
        bench_engine_list(&manifest);
        return 0;
    }
    choose_arms(&options);
    bench_options_find_bases(&options);
    bench_engine_measure(&outcome, &options, &manifest);
    bench_engine_report(&outcome);
    return bench_engine_status(&outcome);
}
