/* SPDX-License-Identifier: MIT
 *
 * What: see load.h.
 *
 * Why this way: see load.h.
 */
#include "bench/load.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/exact.h"
#include "bench/json.h"
#include "bench/text.h"

enum { LOAD_FORMAT = 2 };

#define LOAD_INTEGER_MAX 9007199254740992.0 /* 2^53: every whole number up to it is a double */

static char *load_copy(const char *text)
{
    return bench_copy(text, strlen(text));
}

static const char *load_text(const struct json_t *line, const char *name)
{
    return bench_json_text(line, name, "n/a");
}

/* Numbers of a file that is not trusted: what an integer can't be is taken as missing. */
static size_t load_whole(double number)
{
    return number > 0 && number <= LOAD_INTEGER_MAX ? (size_t)number : 0;
}

static size_t load_size(const struct json_t *line, const char *name)
{
    return load_whole(bench_json_number(line, name, 0));
}

static int load_int(const struct json_t *line, const char *name, int missing)
{
    double number = bench_json_number(line, name, missing);
    return number >= INT_MIN && number <= INT_MAX ? (int)number : missing;
}

static char *load_path(const char *file)
{
    struct stat status;
    if (stat(file, &status) != 0)
        bench_die("%s: %s", file, strerror(errno));
    return S_ISDIR(status.st_mode) ? bench_format("%s/rows.jsonl", file) : load_copy(file);
}

static void load_arm(struct bench_arms *arms, const struct json_t *item)
{
    if (arms->count > BENCH_ARMS_MAX)
        bench_die("more than %d arms", BENCH_ARMS_MAX);
    struct bench_arm *arm = &arms->items[arms->count++];
    arm->name = load_copy(load_text(item, "name"));
    arm->library = load_copy(bench_json_text(item, "library", ""));
    arm->preload = arm->library;
    size_t count = bench_json_count(item, "variables");
    for (size_t i = 0; i < count && i < BENCH_ARM_VARIABLES_MAX; i++)
        arm->variables[arm->variable_count++] = load_copy(bench_json_word(item, "variables", i));
}

static void load_machine(struct bench_machine *machine, const struct json_t *line)
{
    machine->cpu_model = load_copy(load_text(line, "cpu_model"));
    machine->cpus = (unsigned)load_size(line, "cpus");
    machine->kernel = load_copy(load_text(line, "kernel"));
    machine->libc = load_copy(load_text(line, "libc"));
    machine->governor = load_copy(load_text(line, "governor"));
    machine->huge_pages = load_copy(load_text(line, "huge_pages"));
    machine->address_randomisation = load_copy(load_text(line, "address_randomisation"));
    machine->load = load_copy(load_text(line, "load"));
    machine->performance_counters = load_copy(load_text(line, "instructions"));
    machine->from_file = true;
}

static void load_session(struct bench_loaded *loaded, const struct json_t *line)
{
    struct bench_options *options = &loaded->options;
    options->command = load_copy(load_text(line, "command"));
    options->folder = load_copy(bench_json_text(line, "folder", ""));
    options->seed = load_size(line, "seed");
    options->confidence = bench_json_number(line, "confidence", 0.95);
    options->delta_time = bench_json_number(line, "delta_time", 0.01);
    options->delta_memory = bench_json_number(line, "delta_memory", 0.02);
    options->least_seconds = bench_json_number(line, "least_s", 0.02);
    for (size_t i = 0; i < bench_json_count(line, "arms"); i++)
        load_arm(&options->arms, bench_json_item(line, "arms", i));
    options->arms.null = bench_arms_find(&options->arms, load_text(line, "null"));
    for (size_t i = 0; i < bench_json_count(line, "bases") && i < BENCH_BASES_MAX; i++)
        options->bases[options->base_count++] = bench_arms_find(&options->arms, bench_json_word(line, "bases", i));
    if (options->base_count == 0)
        options->bases[options->base_count++] = bench_arms_find(&options->arms, load_text(line, "base"));
    load_machine(&loaded->outcome.machine, line);
    loaded->outcome.floor.wall_seconds = bench_json_number(line, "floor_wall_s", 0);
    loaded->outcome.floor.cpu_seconds = bench_json_number(line, "floor_cpu_s", 0);
    loaded->outcome.floor.peak_rss_kib = bench_json_number(line, "floor_rss_kib", 0);
}

/* The result of this workload, a new one if it is the first that is heard of it. */
static struct bench_result *load_result(struct bench_loaded *loaded, const char *name)
{
    struct bench_manifest *manifest = &loaded->manifest;
    for (size_t i = 0; i < manifest->count; i++) {
        const char *known = manifest->items[i].name;
        if (known != NULL && strcmp(known, name) == 0)
            return &loaded->outcome.results[i];
    }
    if (manifest->count == BENCH_WORKLOADS_MAX)
        bench_die("more than %d commands", BENCH_WORKLOADS_MAX);
    struct bench_workload *workload = &manifest->items[manifest->count];
    struct bench_result *result = &loaded->outcome.results[manifest->count++];
    workload->name = load_copy(name);
    workload->real = true;
    workload->command = load_copy("");
    result->workload = workload;
    return result;
}

static void load_plan(struct bench_loaded *loaded, const struct json_t *line)
{
    struct bench_result *result = load_result(loaded, load_text(line, "workload"));
    struct bench_workload *workload = &loaded->manifest.items[result - loaded->outcome.results];
    workload->real = strcmp(load_text(line, "kind"), "real") == 0;
    workload->command = load_copy(load_text(line, "command"));
    workload->threads = (unsigned)load_size(line, "threads");
    workload->ignore_stdout = bench_json_true(line, "ignore_stdout");
    workload->ignore_stderr = bench_json_true(line, "ignore_stderr");
    result->plan.blocks = load_size(line, "blocks");
    result->plan.visible_effect = bench_json_number(line, "visible_effect_log", INFINITY);
}

static uint64_t load_hash(const struct json_t *line, const char *name)
{
    return strtoull(bench_json_text(line, name, "0"), NULL, 16);
}

/* Rows of earlier versions have none; a curve that no run can have had is left out. */
static void load_memory(struct lab_series *kib, const struct json_t *line)
{
    static const char name[] = "rss_over_time_kib";
    size_t count = bench_json_count(line, name);
    double seconds = bench_json_number(line, "rss_over_time_s", 0);
    if (!(seconds > 0 && seconds <= LOAD_INTEGER_MAX) || count > LAB_SERIES_MAX)
        return;
    for (size_t i = 0; i < count; i++) {
        kib->values[i] = bench_json_element(line, name, i, -1);
        if (!(kib->values[i] >= 0 && kib->values[i] <= LOAD_INTEGER_MAX))
            return;
    }
    kib->span = seconds;
    kib->count = count;
}

/* Only the outcome of the run matters from here on; what ended otherwise is in a fault. */
static void load_run(struct bench_run *run, const struct json_t *line)
{
    run->wall_seconds = bench_json_number(line, "wall_s", 0);
    run->cpu_seconds = bench_json_number(line, "cpu_s", 0);
    run->user_seconds = bench_json_number(line, "user_s", 0);
    run->system_seconds = bench_json_number(line, "sys_s", 0);
    run->peak_rss_kib = bench_json_number(line, "peak_rss_kib", 0);
    run->mean_rss_kib = bench_json_number(line, "mean_rss_kib", 0);
    load_memory(&run->rss_kib, line);
    run->minor_faults = load_size(line, "minor_faults");
    run->major_faults = load_size(line, "major_faults");
    run->voluntary_switches = load_size(line, "voluntary_switches");
    run->involuntary_switches = load_size(line, "involuntary_switches");
    run->wait_status = load_int(line, "wait_status", 0);
    run->output.hash = load_hash(line, "stdout_hash");
    run->output.bytes = load_size(line, "stdout_bytes");
    run->errors.hash = load_hash(line, "stderr_hash");
    run->errors.bytes = load_size(line, "stderr_bytes");
    run->output.fd = run->errors.fd = -1;
    run->proof.started = (unsigned)load_size(line, "processes");
    run->proof.ended = (unsigned)load_size(line, "processes_ended");
    run->proof.off = (unsigned)load_size(line, "processes_off");
    run->proof.peak_rss_sum_bytes = 1024 * (uint64_t)load_size(line, "peak_rss_sum_kib");
    const struct json_t *counters = bench_json_member(line, "counters");
    if (counters == NULL)
        run->proof.ended = 0; /* left out: there is nothing to show of any process */
    for (size_t i = 0; counters != NULL && bench_counter_name(i) != NULL; i++)
        bench_counter_set(&run->proof, i, load_size(counters, bench_counter_name(i)));
    snprintf(run->proof.build_id, sizeof run->proof.build_id, "%s", bench_json_text(line, "build_id", ""));
    snprintf(run->proof.options, sizeof run->proof.options, "%s", bench_json_text(line, "options", ""));
}

static void load_row(struct bench_loaded *loaded, const struct json_t *line)
{
    struct bench_result *result = load_result(loaded, load_text(line, "workload"));
    struct bench_row *row = bench_add_row(result);
    row->arm = bench_arms_find(&loaded->options.arms, load_text(line, "arm"));
    row->warm_up = bench_json_true(line, "warm_up");
    row->block = load_size(line, "block");
    row->half = (unsigned)load_size(line, "half") & 1U;
    row->position = load_size(line, "position");
    row->flagged = bench_json_true(line, "flagged");
    row->cpu = load_int(line, "cpu", -1);
    row->padding_bytes = load_size(line, "padding_bytes");
    row->started_seconds = bench_json_number(line, "started_s", 0);
    row->pressure_percent = bench_json_number(line, "pressure_percent", -1);
    row->others_seconds = bench_json_number(line, "others_s", 0);
    row->stolen_seconds = bench_json_number(line, "stolen_s", 0);
    load_run(&row->run, line);
    if (!row->warm_up && row->block + 1 > result->blocks)
        result->blocks = row->block + 1;
}

static void load_counts(struct bench_loaded *loaded, const struct json_t *line)
{
    struct bench_result *result = load_result(loaded, load_text(line, "workload"));
    struct bench_counts *counts = &result->counts[bench_arms_find(&loaded->options.arms, load_text(line, "arm"))];
    counts->instructions = load_size(line, "instructions");
    counts->traced = load_size(line, "calls") > 0;
    counts->exact = bench_json_true(line, "exact");
    counts->calls = load_size(line, "calls");
    counts->mappings = load_size(line, "mappings");
    for (size_t kind = 0; kind < BENCH_CALL_KINDS; kind++)
        counts->calls_of[kind] = load_size(line, bench_call_name(kind));
}

static void load_latency(struct bench_loaded *loaded, const struct json_t *line)
{
    struct bench_result *result = load_result(loaded, load_text(line, "workload"));
    size_t arm = bench_arms_find(&loaded->options.arms, load_text(line, "arm"));
    if (result->latency == NULL)
        result->latency = bench_latency_allocate(loaded->options.arms.count);
    struct bench_latency *latency = &result->latency[arm];
    *latency = (struct bench_latency){ .runs = load_size(line, "runs"), .clock_ns = load_size(line, "clock_ns") };
    for (unsigned call = 0; call < BENCH_TIMED_CALLS; call++) {
        struct lab_histogram *took = &latency->took[call];
        char *most = bench_format("%s_most_ns", bench_timed_name(call));
        char *counts = bench_format("%s_counts", bench_timed_name(call));
        took->most = load_size(line, most);
        for (size_t i = 0; i < bench_json_count(line, counts) && i < LAB_HISTOGRAM_BUCKETS; i++)
            took->counts[i] = load_whole(bench_json_element(line, counts, i, 0));
        free(counts);
        free(most);
    }
}

/* Warm-up stays: it is in no number of a report. */
static void load_keep_blocks(struct bench_result *result, size_t blocks)
{
    size_t kept = 0;
    for (size_t i = 0; i < result->row_count; i++)
        if (result->rows[i].warm_up || result->rows[i].block < blocks)
            result->rows[kept++] = result->rows[i];
    result->row_count = kept;
    result->blocks = blocks;
}

/* A block that was cut short was run again, so its first rows do not count. */
static void load_resumed(struct bench_loaded *loaded, const struct json_t *line)
{
    struct bench_result *result = load_result(loaded, load_text(line, "workload"));
    size_t blocks = load_size(line, "blocks");
    if (blocks < result->blocks)
        load_keep_blocks(result, blocks);
}

static void load_line(struct bench_loaded *loaded, const struct json_t *line)
{
    const char *type = load_text(line, "type");
    if (strcmp(type, "plan") == 0) {
        load_plan(loaded, line);
    } else if (strcmp(type, "row") == 0) {
        load_row(loaded, line);
    } else if (strcmp(type, "resumed") == 0) {
        load_resumed(loaded, line);
    } else if (strcmp(type, "counts") == 0) {
        load_counts(loaded, line);
    } else if (strcmp(type, "latency") == 0) {
        load_latency(loaded, line);
    } else if (strcmp(type, "fault") == 0) {
        struct bench_result *result = load_result(loaded, load_text(line, "workload"));
        size_t arm = bench_arms_find(&loaded->options.arms, load_text(line, "arm"));
        result->faults[arm] = load_copy(load_text(line, "why"));
    } else if (strcmp(type, "refused") == 0) {
        load_result(loaded, load_text(line, "workload"))->refused = load_copy(load_text(line, "why"));
    }
}

/* Rows of the last block, if it was cut short, are dropped: it will be run again, or does not count. */
static void load_drop_partial(const struct bench_arms *arms, struct bench_result *result)
{
    if (result->blocks == 0)
        return;
    size_t last = result->blocks - 1;
    size_t expected = 0;
    size_t found = 0;
    for (size_t arm = 0; arm < arms->count; arm++)
        expected += result->faults[arm] == NULL ? 2 : 0;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct bench_row *row = &result->rows[i];
        found += !row->warm_up && row->block == last && result->faults[row->arm] == NULL ? 1 : 0;
    }
    if (found < expected)
        load_keep_blocks(result, last);
}

static void load_finish(struct bench_loaded *loaded)
{
    struct bench_outcome *outcome = &loaded->outcome;
    for (size_t i = 0; i < loaded->manifest.count; i++) {
        struct bench_result *result = &outcome->results[i];
        load_drop_partial(&loaded->options.arms, result);
        if (result->blocks == 0 && result->refused == NULL)
            result->refused = load_copy("interrupted");
    }
    outcome->measured = outcome->wanted = loaded->manifest.count;
    outcome->session = (struct bench_session){ .options = &loaded->options, .machine = &outcome->machine };
}

void bench_load(struct bench_loaded *loaded, const char *file)
{
    memset(loaded, 0, sizeof *loaded);
    loaded->manifest.items = calloc(BENCH_WORKLOADS_MAX, sizeof *loaded->manifest.items);
    loaded->outcome.results = calloc(BENCH_WORKLOADS_MAX, sizeof *loaded->outcome.results);
    if (loaded->manifest.items == NULL || loaded->outcome.results == NULL)
        abort();
    char *path = load_path(file);
    struct bench_json_file in;
    bench_json_open(&in, path, "");
    struct json_t *line;
    while ((line = bench_json_next(&in)) != NULL) {
        bool first = in.line == 1;
        bool session = strcmp(load_text(line, "type"), "session") == 0;
        if (first != session || (first && load_size(line, "format") != LOAD_FORMAT))
            bench_die("%s:%zu: not a session's rows of format %d", path, in.line, LOAD_FORMAT);
        if (first)
            load_session(loaded, line);
        else
            load_line(loaded, line);
        bench_json_free(line);
    }
    if (loaded->options.command == NULL)
        bench_die("%s is empty", path);
    bench_json_close(&in);
    free(path);
    load_finish(loaded);
}
