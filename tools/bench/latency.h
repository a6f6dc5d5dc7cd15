/* SPDX-License-Identifier: MIT
 *
 * What: how long single calls of malloc and free take (--latency): read from what the processes of a run left, and reported.
 *
 * Why this way: a mean hides the call that had to wait. Timing takes longer than what is timed, so it is done in runs of their
 * own once the blocks are over, in all arms by the same library in front of the allocator (latency_shim.c).
 *
 * Invariants: none of it is judged: no interval, no verdict. Operators new and delete, calloc and realloc are not timed, but
 * where they come down to malloc and free of the whole process.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_LATENCY_H
#define SJ_BENCH_LATENCY_H

#include <stdio.h>

#include "bench/latency_record.h"

struct bench_claims;
struct bench_session;

/* Of an arm: the sum over its runs and their processes. */
struct bench_latency {
    uint64_t runs;     /* in which a process left its times */
    uint64_t clock_ns; /* the greatest of the processes' */
    struct lab_histogram took[BENCH_TIMED_CALLS];
};

/* "malloc", "free" */
const char *bench_timed_name(enum bench_timed call);

/* Adds what the processes of one run appended to the file. */
void bench_latency_read(const char *path, struct bench_latency *latency);

void bench_latency_add(struct bench_latency *latency, const struct bench_latency *more);

/* One of each arm, with nothing in it; lives as long as the session. */
struct bench_latency *bench_latency_allocate(size_t arms);

/* A line for each workload and arm; nothing if none was timed. */
void bench_latency_report(FILE *out, const struct bench_session *session, const struct bench_claims *claims);

#endif
