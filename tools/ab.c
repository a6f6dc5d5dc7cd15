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
#include "bench/load.h"
#include "bench/peers.h"
#include "bench/report.h"
#include "bench/text.h"
#include "command.h"
#include "library.h"

#include <stdlib.h>
#include <string.h>

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
    bench_engine_measure(&outcome, &options, &manifest);
    bench_engine_report(&outcome);
    putchar('\n');
    print_verdict(&outcome);
    return bench_engine_status(&outcome);
}
