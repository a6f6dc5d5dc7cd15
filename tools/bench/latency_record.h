/* SPDX-License-Identifier: MIT
 *
 * What: what a process under --latency appends at its exit to the file that BENCH_LATENCY names: how long its calls of malloc
 * and free took.
 *
 * Why this way: a fixed block in one write to a file opened for appending, as src/policy/record.h has it.
 *
 * Invariants: written and read by one build, so it has no version.
 *
 * Concurrency: one write a process.
 */
#ifndef SJ_BENCH_LATENCY_RECORD_H
#define SJ_BENCH_LATENCY_RECORD_H

#include "lab/histogram.h"

#define BENCH_LATENCY_VARIABLE "BENCH_LATENCY"
#define BENCH_LATENCY_MAGIC    UINT64_C(0x736a5f6c6174656e)

/* Not a power of two: programs repeat themselves in such steps, and always the same calls would be timed. */
enum { BENCH_LATENCY_EVERY = 7 };

enum bench_timed { BENCH_TIMED_MALLOC, BENCH_TIMED_FREE, BENCH_TIMED_CALLS };

struct bench_latency_record {
    uint64_t magic;
    uint64_t clock_ns;                            /* what reading the clock adds to each time, at least */
    struct lab_histogram took[BENCH_TIMED_CALLS]; /* nanoseconds, the clock's own among them */
};

#endif
