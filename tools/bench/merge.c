/* SPDX-License-Identifier: MIT
 *
 * What: sessions put together: merged with others, or gone on with; see load.h.
 *
 * Why this way: a block holds all arms on one machine, so blocks of several sessions can stand in one row; what must be
 * the same is what the arms are. Unlike machines differ in what an arm costs, not only in speed: their mean is nobody's
 * cost, so they are refused unless asked for.
 *
 * Invariants: blocks are numbered anew, in the order of the sessions.
 *
 * Concurrency: one thread.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/json.h"
#include "bench/load.h"
#include "bench/text.h"

char **bench_load_arguments(const char *file, int *argc, char **folder, uint64_t *seed)
{
    char *path = bench_format("%s/rows.jsonl", file);
    struct bench_json_file in;
    bench_json_open(&in, path, ": is it the --out of a session?");
    struct json_t *line = bench_json_next(&in);
    size_t count = line != NULL ? bench_json_count(line, "argv") : 0;
    if (count == 0)
        bench_die("%s does not tell how the session was started", path);
    char **arguments = calloc(count + 1, sizeof *arguments);
    if (arguments == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        arguments[i] = bench_format("%s", bench_json_word(line, "argv", i));
    *argc = (int)count;
    *folder = bench_format("%s", bench_json_text(line, "folder", "."));
    *seed = (uint64_t)bench_json_number(line, "seed", 0);
    bench_json_free(line);
    bench_json_close(&in);
    free(path);
    return arguments;
}

void bench_load_results(struct bench_outcome *outcome, struct bench_manifest *manifest)
{
    static struct bench_loaded loaded;
    const struct bench_options *options = outcome->session.options;
    bench_load(&loaded, options->out);
    if (loaded.options.arms.count != options->arms.count)
        bench_die("%s has %zu arms, this session %zu", options->out, loaded.options.arms.count, options->arms.count);
    for (size_t i = 0; i < manifest->count; i++) {
        for (size_t k = 0; k < loaded.manifest.count; k++) {
            if (strcmp(manifest->items[i].name, loaded.manifest.items[k].name) != 0)
                continue;
            struct bench_result *result = &outcome->results[i];
            *result = loaded.outcome.results[k];
            result->workload = &manifest->items[i];
            manifest->items[i].threads = loaded.manifest.items[k].threads;
            if (result->refused != NULL && strcmp(result->refused, "interrupted") == 0)
                *result = (struct bench_result){ .workload = &manifest->items[i] };
            else
                bench_say("%s: %zu of %zu blocks are there", manifest->items[i].name, result->blocks,
                          result->plan.blocks);
        }
    }
}

static void merge_check(const struct bench_loaded *loaded, const struct bench_loaded *more, bool unlike)
{
    const struct bench_machine *one = &loaded->outcome.machine;
    const struct bench_machine *other = &more->outcome.machine;
    const char *const pairs[][3] = {
        { "cpu", one->cpu_model, other->cpu_model },
        { "kernel", one->kernel, other->kernel },
        { "libc", one->libc, other->libc },
        { "governor", one->governor, other->governor },
        { "huge pages", one->huge_pages, other->huge_pages },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (!unlike && strcmp(pairs[i][1], pairs[i][2]) != 0)
            bench_die("the machines are not alike: %s is %s and %s; --unlike merges them all the same", pairs[i][0],
                      pairs[i][1], pairs[i][2]);
    if (!unlike && one->cpus != other->cpus)
        bench_die("the machines are not alike: %u and %u CPUs; --unlike merges them all the same", one->cpus,
                  other->cpus);
    const struct bench_arms *arms = &loaded->options.arms;
    bool same = arms->count == more->options.arms.count && arms->null == more->options.arms.null &&
                loaded->options.bases[0] == more->options.bases[0];
    for (size_t i = 0; same && i < arms->count; i++) {
        const struct bench_arm *arm = &arms->items[i];
        const struct bench_arm *twin = &more->options.arms.items[i];
        same = strcmp(arm->name, twin->name) == 0 && arm->variable_count == twin->variable_count;
        for (size_t k = 0; same && k < arm->variable_count; k++)
            same = strcmp(arm->variables[k], twin->variables[k]) == 0;
    }
    if (!same)
        bench_die("the sessions have not the same arms");
}

/* Of each arm the build that ran, as far as processes told, must be one. */
static void merge_check_builds(const struct bench_result *result, const struct bench_result *more)
{
    for (size_t i = 0; i < more->row_count; i++) {
        const struct bench_row *row = &more->rows[i];
        for (size_t k = 0; k < result->row_count; k++)
            if (result->rows[k].arm == row->arm &&
                strcmp(result->rows[k].run.proof.build_id, row->run.proof.build_id) != 0)
                bench_die("%s: the sessions ran different builds of one arm", result->workload->name);
    }
}

/* Of what was compared within a session: what differs between two runs of two sessions; NULL if nothing does. */
static const char *merge_difference(const struct bench_workload *workload, const struct bench_run *one,
                                    const struct bench_run *other)
{
    if (one->wait_status != other->wait_status)
        return "exit status";
    if (!workload->ignore_stdout &&
        (one->output.hash != other->output.hash || one->output.bytes != other->output.bytes))
        return "stdout";
    if (!workload->ignore_stderr &&
        (one->errors.hash != other->errors.hash || one->errors.bytes != other->errors.bytes))
        return "stderr";
    return NULL;
}

/* Within a session all arms that are in it agree; so one run of each session tells. */
static void merge_check_outputs(const struct bench_loaded *loaded, struct bench_result *result,
                                const struct bench_result *more)
{
    const struct bench_run *one = NULL;
    const struct bench_run *other = NULL;
    size_t base = loaded->options.bases[0];
    for (size_t i = 0; i < result->row_count && one == NULL; i++)
        one = result->rows[i].arm == base ? &result->rows[i].run : NULL;
    for (size_t i = 0; i < more->row_count && other == NULL; i++)
        other = more->rows[i].arm == base ? &more->rows[i].run : NULL;
    const char *what = one != NULL && other != NULL ? merge_difference(result->workload, one, other) : NULL;
    for (size_t arm = 0; what != NULL && arm < loaded->options.arms.count; arm++)
        if (result->faults[arm] == NULL)
            result->faults[arm] = bench_format("%s differs between the sessions", what);
}

static void merge_result(struct bench_loaded *loaded, struct bench_result *result, const struct bench_result *more)
{
    merge_check_builds(result, more);
    merge_check_outputs(loaded, result, more);
    for (size_t i = 0; i < more->row_count; i++) {
        struct bench_row *row = bench_add_row(result);
        *row = more->rows[i];
        row->block += row->warm_up ? 0 : result->blocks;
    }
    if (result->latency == NULL)
        result->latency = more->latency;
    else if (more->latency != NULL)
        for (size_t arm = 0; arm < loaded->options.arms.count; arm++)
            bench_latency_add(&result->latency[arm], &more->latency[arm]);
    result->blocks += more->blocks;
    result->plan.blocks = result->blocks;
    for (size_t arm = 0; arm < loaded->options.arms.count; arm++)
        if (result->faults[arm] == NULL)
            result->faults[arm] = more->faults[arm];
    if (more->refused == NULL)
        result->refused = NULL;
}

void bench_load_merge(struct bench_loaded *loaded, const struct bench_loaded *more, bool unlike)
{
    struct bench_result *results = loaded->outcome.results;
    if (results == NULL || more->outcome.results == NULL)
        abort(); /* bench_load() has made them */
    merge_check(loaded, more, unlike);
    for (size_t i = 0; i < more->manifest.count; i++) {
        struct bench_result *result = NULL;
        for (size_t k = 0; k < loaded->manifest.count; k++)
            if (strcmp(loaded->manifest.items[k].name, more->manifest.items[i].name) == 0)
                result = &results[k];
        if (result != NULL) {
            merge_result(loaded, result, &more->outcome.results[i]);
            continue;
        }
        if (loaded->manifest.count == BENCH_WORKLOADS_MAX)
            bench_die("more than %d commands", BENCH_WORKLOADS_MAX);
        size_t at = loaded->manifest.count++;
        loaded->manifest.items[at] = more->manifest.items[i];
        results[at] = more->outcome.results[i];
        results[at].workload = &loaded->manifest.items[at];
    }
    loaded->outcome.measured = loaded->outcome.wanted = loaded->manifest.count;
}
