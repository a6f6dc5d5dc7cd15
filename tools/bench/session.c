/* SPDX-License-Identifier: MIT
 *
 * What: see session.h.
 *
 * Why this way: see session.h.
 */
#include "bench/session.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "bench/fault.h"
#include "bench/plan.h"
#include "bench/progress.h"
#include "bench/rows.h"
#include "bench/text.h"
#include "bench/views.h"
#include "lab/stats.h"

enum { SESSION_WARM_UPS_MAX = 3, SESSION_FLOOR_RUNS = 21, SESSION_HEAPS_ALONE = 2, SESSION_TIMED_RUNS = 4 };

static const double SESSION_SETTLED = 0.05; /* the later half of a warm-up block may differ by this */

static volatile sig_atomic_t session_interrupted;

static void session_interrupt(int signal)
{
    (void)signal;
    session_interrupted = 1;
}

void bench_watch_signals(void)
{
    struct sigaction action = { .sa_handler = session_interrupt };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool bench_interrupted(void)
{
    return session_interrupted != 0;
}

double bench_now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct bench_row *bench_add_row(struct bench_result *result)
{
    if (result->row_count == result->row_room) {
        result->row_room = result->row_room > 0 ? 2 * result->row_room : 64;
        result->rows = realloc(result->rows, result->row_room * sizeof *result->rows);
        if (result->rows == NULL)
            abort();
    }
    struct bench_row *row = &result->rows[result->row_count++];
    memset(row, 0, sizeof *row);
    return row;
}

struct session_half {
    size_t padding_bytes;
    uint64_t seed;
    bool flagged;
    bool timed; /* call by call: --latency */
    double pressure_percent;
};

/* How long to wait for a quiet machine: as asked for, but not so long that the blocks still to come miss the budget. */
static double session_patience(const struct bench_session *session, const struct bench_result *result)
{
    const struct bench_options *options = session->options;
    if (options->pairs > 0)
        return options->pressure_wait_seconds;
    double needed = (double)(result->plan.blocks - result->blocks) * session->block_seconds;
    double spare = session->ends_seconds - bench_now_seconds() - needed;
    return fmax(0, fmin(spare, options->pressure_wait_seconds));
}

/* Draws what the pairs of a half block share, once the machine is quiet. */
static struct session_half session_begin_half(struct bench_session *session, const struct bench_result *result,
                                              bool warm_up)
{
    const struct bench_options *options = session->options;
    struct session_half half = { .padding_bytes =
                                     16 * (size_t)lab_random_below(&session->random, BENCH_PADDING_MAX / 16 + 1),
                                 .seed = lab_random_next(&session->random) };
    double patience = session_patience(session, result);
    half.flagged = !warm_up;
    for (; half.flagged && patience >= 0 && !bench_interrupted(); patience -= 1)
        half.flagged = !bench_machine_wait_quiet(session->machine, result->workload->threads,
                                                 options->pressure_limit_percent, fmin(patience, 1));
    half.pressure_percent = bench_machine_pressure();
    return half;
}

/* The caller frees .environment. */
static struct bench_launch session_launch(const struct bench_session *session, const struct bench_result *result,
                                          size_t arm, const struct session_half *half)
{
    const struct bench_options *options = session->options;
    struct bench_shared shared = { .home = options->dir,
                                   .variables = result->workload->variables,
                                   .record = session->record,
                                   .shim = half->timed ? options->shim : NULL,
                                   .times = session->times,
                                   .padding_bytes = half->padding_bytes,
                                   .seed = half->seed };
    return (struct bench_launch){ .launcher = options->launcher,
                                  .words = result->workload->words,
                                  .environment = bench_arms_environment(&options->arms, arm, &shared),
                                  .directory = options->dir,
                                  .input = options->input != NULL ? options->input : "/dev/null",
                                  .record = session->record,
                                  .normalise = options->normalise,
                                  .client = options->client,
                                  .cpu = bench_machine_place(session->machine, result->workload->threads),
                                  .limit_seconds = options->limit_seconds };
}

static void session_run_one(struct bench_session *session, struct bench_result *result, size_t arm,
                            const struct session_half *half, struct bench_row *row)
{
    struct bench_launch launch = session_launch(session, result, arm, half);
    struct bench_busy before = bench_machine_busy();
    row->arm = arm;
    row->cpu = launch.cpu;
    row->padding_bytes = half->padding_bytes;
    row->pressure_percent = half->pressure_percent;
    row->started_seconds = bench_now_seconds() - session->began_seconds;
    bench_launch_run(&launch, &row->run);
    struct bench_busy after = bench_machine_busy();
    row->stolen_seconds = after.stolen_seconds - before.stolen_seconds;
    row->others_seconds = fmax(0, after.busy_seconds - before.busy_seconds - row->run.cpu_seconds);
    bench_arms_free_environment(launch.environment);
}

/* The arms still in, in the order of a new block; returns their number. */
static size_t session_draw_order(struct bench_session *session, const struct bench_result *result, size_t *order)
{
    size_t present[BENCH_ARMS_MAX + 1];
    size_t count = 0;
    for (size_t arm = 0; arm < session->options->arms.count; arm++)
        if (result->faults[arm] == NULL)
            present[count++] = arm;
    lab_design_block(&session->random, count, order);
    for (size_t i = 0; i < 2 * count; i++)
        order[i] = present[order[i]];
    return count;
}

/* The draws of a block depend on the seed and the block alone, so that a session can be gone on with, or a block be run
 * elsewhere. */
static void session_seed(struct bench_session *session, const char *name, size_t block, bool warm_up)
{
    uint64_t mixed = session->options->seed;
    for (const char *at = name; *at != '\0'; at++)
        mixed = (mixed ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    lab_random_seed(&session->random, mixed + 2 * block + (warm_up ? 1 : 0));
}

static void session_show_progress(const struct bench_result *result, size_t position, size_t runs)
{
    size_t total = result->plan.blocks * runs;
    size_t done = result->blocks * runs + position + 1;
    double seconds = result->rows[result->row_count - 1].started_seconds - result->measured_from;
    if (total > 0)
        bench_progress(result->workload->name, done, total, seconds / (double)done * (double)(total - done));
}

/* Runs one block. False if the baseline failed, or somebody wants to stop: then the workload is over. */
static bool session_run_block(struct bench_session *session, struct bench_result *result, size_t block, bool warm_up)
{
    const struct bench_options *options = session->options;
    size_t order[2 * (BENCH_ARMS_MAX + 1)];
    session_seed(session, result->workload->name, block, warm_up);
    size_t count = session_draw_order(session, result, order);
    struct session_half half = { 0 };
    for (size_t position = 0; position < 2 * count; position++) {
        if (position % count == 0)
            half = session_begin_half(session, result, warm_up);
        size_t arm = order[position];
        if (result->faults[arm] != NULL)
            continue;
        struct bench_row *row = bench_add_row(result);
        row->block = block;
        row->position = position;
        row->half = position < count ? 0 : 1;
        row->warm_up = warm_up;
        row->flagged = half.flagged;
        session_run_one(session, result, arm, &half, row);
        if (bench_interrupted()) {
            bench_close_outputs(&row->run);
            result->row_count--;
            return false;
        }
        result->faults[arm] = bench_fault(session, result, row);
        bench_close_outputs(&row->run);
        bench_write_row(session, result, row);
        if (!warm_up)
            session_show_progress(result, position, 2 * count);
        if (result->faults[arm] != NULL) {
            bench_say("%s: %s is out: %s", result->workload->name, options->arms.items[arm].name, result->faults[arm]);
            bench_write_fault(session, result, arm);
        }
    }
    return result->faults[options->bases[0]] == NULL && result->faults[options->arms.null] == NULL;
}

/* Has a warm-up block shown a machine at rest: no major faults, and the later half as fast as the earlier? */
static bool session_settled(const struct bench_result *result, size_t block)
{
    double seconds[2] = { 0, 0 };
    uint64_t major_faults = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct bench_row *row = &result->rows[i];
        if (row->block != block)
            continue;
        seconds[row->half] += row->run.cpu_seconds;
        major_faults += row->run.major_faults;
    }
    return major_faults == 0 && seconds[0] > 0 && fabs(seconds[1] / seconds[0] - 1) <= SESSION_SETTLED;
}

/* Up to three blocks that do not count; the duration of the last one, or a negative number if the workload is over. */
static double session_warm_up(struct bench_session *session, struct bench_result *result)
{
    for (size_t block = 0;; block++) {
        double began = bench_now_seconds();
        if (!session_run_block(session, result, block, true))
            return -1;
        if (session_settled(result, block) || block + 1 == SESSION_WARM_UPS_MAX)
            return bench_now_seconds() - began;
    }
}

/* Does the command use more than one CPU at a time? Found out by one run, under Scrubjay if it is an arm: that counts
 * the threads that allocate (a process with one has two heaps, its own and the shared one). */
static unsigned session_count_threads(struct bench_session *session, struct bench_result *result)
{
    const struct bench_options *options = session->options;
    struct session_half half = { 0 };
    struct bench_row row = { 0 };
    size_t arm = options->bases[0];
    for (size_t i = 0; i < options->arms.null; i++)
        if (options->arms.items[i].ours)
            arm = i;
    session_run_one(session, result, arm, &half, &row);
    bench_close_outputs(&row.run);
    const struct bench_proof *proof = &row.run.proof;
    return row.run.cpu_seconds > 1.05 * row.run.wall_seconds ||
                   proof->counters.heaps > SESSION_HEAPS_ALONE * proof->ended
               ? 2
               : 1;
}

static bool session_prepare(struct bench_session *session, struct bench_workload *workload, struct bench_result *result)
{
    (void)bench_machine_place(session->machine, UINT16_MAX);
    if (workload->prepare != NULL && bench_run_shell(workload->prepare, session->options->dir) != 0)
        result->refused = bench_format("prepare failed: %s", workload->prepare);
    else if (!bench_workload_resolve(workload))
        result->refused = bench_format("no such program: %s", workload->command);
    else if (workload->threads == 0 && session->options->client != NULL)
        workload->threads = 2; /* the client works at the same time */
    else if (workload->threads == 0) {
        workload->threads = UINT16_MAX;
        workload->threads = session_count_threads(session, result);
    }
    return result->refused == NULL;
}

static char *session_broken(const struct bench_session *session, const struct bench_result *result)
{
    const struct bench_options *options = session->options;
    if (bench_interrupted())
        return bench_format("interrupted");
    const char *fault = result->faults[options->bases[0]];
    if (fault != NULL)
        return bench_format("baseline: %s", fault);
    return bench_format("the baseline differs from itself: %s", result->faults[options->arms.null]);
}

/* Warm-up and plan; false if there is nothing to measure. */
static bool session_begin(struct bench_session *session, struct bench_result *result, double ends_seconds)
{
    const struct bench_options *options = session->options;
    double block_seconds = session_warm_up(session, result);
    if (block_seconds < 0) {
        result->refused = session_broken(session, result);
        return false;
    }
    double shortest = bench_view_median(result, options->bases[0], BENCH_WALL, true);
    if (shortest < options->least_seconds) {
        result->refused = bench_format("a run takes %.1f ms, under %.0f ms the start of the process is what is "
                                       "measured: batch the work",
                                       1e3 * shortest, 1e3 * options->least_seconds);
        return false;
    }
    session->block_seconds = block_seconds;
    bench_plan(session, result, block_seconds, ends_seconds - bench_now_seconds());
    bench_write_plan(session, result);
    return true;
}

/* --calls: twice, since only what is the same twice is exact. */
static void session_count_calls(const struct bench_launch *launch, struct bench_counts *counts)
{
    struct bench_counts again = { 0 };
    if (!bench_count_calls(launch, counts) || !bench_count_calls(launch, &again)) {
        counts->traced = false;
        return;
    }
    counts->exact = counts->calls == again.calls && counts->mappings == again.mappings &&
                    memcmp(counts->calls_of, again.calls_of, sizeof again.calls_of) == 0;
}

/* --calls and --instructions: with one seed and one padding for all arms. */
static void session_count(struct bench_session *session, struct bench_result *result)
{
    const struct bench_options *options = session->options;
    const struct session_half half = { .seed = options->seed };
    const struct bench_run *reference = bench_reference(session, result);
    for (size_t arm = 0; arm < options->arms.null && !bench_interrupted(); arm++) {
        struct bench_counts counts = { 0 };
        if (result->faults[arm] != NULL)
            continue;
        struct bench_launch launch = session_launch(session, result, arm, &half);
        if (options->count_calls)
            session_count_calls(&launch, &counts);
        if (options->count_instructions)
            (void)bench_count_instructions(&launch, &counts);
        bench_arms_free_environment(launch.environment);
        if (reference != NULL && counts.wait_status == reference->wait_status)
            result->counts[arm] = counts;
        else
            bench_say("%s: %s is not counted: it ends otherwise when it is traced", result->workload->name,
                      options->arms.items[arm].name);
        bench_write_counts(session, result, arm);
    }
}

static void session_time_run(struct bench_session *session, struct bench_result *result, size_t arm, unsigned run)
{
    const struct session_half half = { .seed = session->options->seed + run, .timed = true };
    struct bench_row row = { 0 };
    if (!bench_proof_reset(session->times))
        bench_die("%s: %s", session->times, strerror(errno));
    session_run_one(session, result, arm, &half, &row);
    char *fault = bench_interrupted() ? bench_format("interrupted") : bench_fault(session, result, &row);
    bench_close_outputs(&row.run);
    if (fault == NULL)
        bench_latency_read(session->times, &result->latency[arm]);
    else
        bench_say("%s: calls of %s are not timed: %s", result->workload->name, session->options->arms.items[arm].name,
                  fault);
    free(fault);
}

/* --latency: the arms take turns, so that none has a quiet minute for itself. */
static void session_time_calls(struct bench_session *session, struct bench_result *result)
{
    const struct bench_options *options = session->options;
    result->latency = bench_latency_allocate(options->arms.count);
    for (unsigned run = 0; run < SESSION_TIMED_RUNS; run++)
        for (size_t arm = 0; arm < options->arms.null && !bench_interrupted(); arm++)
            if (result->faults[arm] == NULL)
                session_time_run(session, result, arm, run);
    bench_write_latency(session, result);
}

void bench_measure(struct bench_session *session, struct bench_workload *workload, double budget_seconds,
                   struct bench_result *result)
{
    const struct bench_options *options = session->options;
    double ends_seconds = bench_now_seconds() + budget_seconds;
    session->ends_seconds = ends_seconds;
    session->block_seconds = 0;
    result->workload = workload;
    bench_write_resumed(session, result);
    if (result->refused != NULL || !session_prepare(session, workload, result) ||
        (result->plan.blocks == 0 && !session_begin(session, result, ends_seconds))) {
        bench_write_refusal(session, result);
        return;
    }
    result->measured_from = bench_now_seconds() - session->began_seconds;
    while (result->blocks < result->plan.blocks && !result->stopped_early) {
        if (!session_run_block(session, result, result->blocks, false)) {
            if (!bench_interrupted() || result->blocks == 0)
                result->refused = session_broken(session, result);
            break;
        }
        result->blocks++;
        if (options->sequential && result->blocks >= session->least_blocks)
            result->stopped_early = bench_decided(session, result);
    }
    bench_progress_clear();
    if (result->refused == NULL && (options->count_calls || options->count_instructions))
        session_count(session, result);
    if (result->refused == NULL && options->time_calls && !bench_interrupted())
        session_time_calls(session, result);
    bench_write_refusal(session, result);
}

void bench_measure_floor(struct bench_session *session, struct bench_run *floor)
{
    const struct bench_options *options = session->options;
    static char program[] = "/bin/true";
    char *words[] = { program, NULL };
    double wall[SESSION_FLOOR_RUNS];
    double cpu[SESSION_FLOOR_RUNS];
    double rss[SESSION_FLOOR_RUNS];
    struct bench_shared shared = { .home = options->dir, .record = session->record };
    char **environment = bench_arms_environment(&options->arms, options->bases[0], &shared);
    struct bench_launch launch = { .launcher = options->launcher,
                                   .words = words,
                                   .environment = environment,
                                   .directory = options->dir,
                                   .input = "/dev/null",
                                   .record = session->record,
                                   .cpu = bench_machine_place(session->machine, 1),
                                   .limit_seconds = options->limit_seconds };
    for (size_t i = 0; i < SESSION_FLOOR_RUNS; i++) {
        bench_launch_run(&launch, floor);
        bench_close_outputs(floor);
        if (floor->lost || floor->exec_errno != 0)
            bench_die("the launcher %s does not work here", options->launcher);
        wall[i] = floor->wall_seconds;
        cpu[i] = floor->cpu_seconds;
        rss[i] = floor->peak_rss_kib;
    }
    floor->wall_seconds = lab_median(wall, SESSION_FLOOR_RUNS);
    floor->cpu_seconds = lab_median(cpu, SESSION_FLOOR_RUNS);
    floor->peak_rss_kib = lab_median(rss, SESSION_FLOOR_RUNS);
    bench_arms_free_environment(environment);
}
