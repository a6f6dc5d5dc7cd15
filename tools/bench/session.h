/* SPDX-License-Identifier: MIT
 *
 * What: the measurement of one workload: warm-up, plan, blocks, checks; what comes out is rows, one a process.
 *
 * Why this way: measuring knows nothing of statistics but the plan, and reporting nothing of processes: rows are all
 * that passes between them, and all that is written to disk.
 *
 * Invariants: rows are in run order; each block holds every arm still in the session once in each half. An arm whose
 * output or exit status differs from the baseline's is out of the workload at once, and its reason is kept.
 *
 * Concurrency: one run at a time.
 */
#ifndef SJ_BENCH_SESSION_H
#define SJ_BENCH_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/counts.h"
#include "bench/latency.h"
#include "bench/launch.h"
#include "bench/machine.h"
#include "bench/manifest.h"
#include "bench/options.h"
#include "lab/design.h"

struct bench_row {
    size_t block;    /* within the warm-up, or within the measured blocks */
    size_t position; /* in the block, 0 ... 2 * arms - 1 */
    unsigned half;
    size_t arm;
    bool warm_up;
    bool flagged;
    int cpu; /* pinned to, or -1 */
    size_t padding_bytes;
    double started_seconds; /* since the session began */
    double pressure_percent;
    double others_seconds; /* CPU time others used meanwhile, as far as ticks show */
    double stolen_seconds;
    struct bench_run run;
};

struct bench_result {
    const struct bench_workload *workload;
    struct bench_row *rows;
    size_t row_count;
    size_t row_room;
    size_t blocks;                                  /* measured */
    struct lab_plan plan;                           /* .blocks is 0 before the warm-up is over */
    double measured_from;                           /* seconds since the session began */
    bool stopped_early;                             /* --sequential */
    char *refused;                                  /* why nothing was measured; NULL if something was */
    char *faults[BENCH_ARMS_MAX + 1];               /* why this arm is out; NULL if it is not */
    struct bench_counts counts[BENCH_ARMS_MAX + 1]; /* after the blocks, if they are asked for */
    struct bench_latency *latency;                  /* of each arm; NULL if it is not asked for */
};

struct bench_session {
    const struct bench_options *options;
    const struct bench_machine *machine;
    struct lab_random random;
    char *record; /* file that the processes of a run write their records to */
    char *times;  /* and that for --latency */
    double began_seconds;
    double ends_seconds;  /* of the workload at hand, by its share of the budget */
    double block_seconds; /* what a block took in the warm-up; 0 before */
    size_t least_blocks;  /* so many workloads need more blocks for a claim to survive the correction */
    FILE *json;           /* rows as they come; may be NULL */
    FILE *csv;
};

double bench_now_seconds(void);

/* A new row at the end, zeroed. */
struct bench_row *bench_add_row(struct bench_result *result);

/* Measures a workload, in at most budget_seconds if it can. What `result` holds already, from a session that was cut
 * short, is gone on with. */
void bench_measure(struct bench_session *session, struct bench_workload *workload, double budget_seconds,
                   struct bench_result *result);

/* What one run of /bin/true costs under the harness: the floor of every number. */
void bench_measure_floor(struct bench_session *session, struct bench_run *floor);

/* From now on SIGINT and SIGTERM end the session, with a report of the blocks that are whole. */
void bench_watch_signals(void);

bool bench_interrupted(void);

#endif
