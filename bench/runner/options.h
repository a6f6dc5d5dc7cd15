/* SPDX-License-Identifier: MIT
 *
 * What: the command line of the runner.
 *
 * Why this way: every choice that shapes a result is an option with a default, and the whole command is printed with the
 * result, so that a session can be repeated.
 *
 * Invariants: after bench_options_read() every field has a value; bases[0] is the arm the null control copies.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_RUNNER_OPTIONS_H
#define SJ_RUNNER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/arms.h"

enum { BENCH_BASES_MAX = 4, BENCH_PATTERNS_MAX = 64 };

struct bench_options {
    const char *manifest; /* list of workloads */
    char *bin;            /* {bin}; also where the launcher is */
    char *dir;            /* {dir}, and the working directory of every command */
    const char *out;      /* directory of raw rows and tables; NULL for none */
    char *command;        /* this command line */
    struct bench_arms arms;
    size_t bases[BENCH_BASES_MAX];
    size_t base_count;
    char *patterns[BENCH_PATTERNS_MAX];
    size_t pattern_count;
    uint64_t seed;
    double budget_seconds; /* of the whole session */
    size_t pairs;          /* 0: by the budget */
    double delta_time;
    double delta_memory;
    double confidence;
    double pressure_limit_percent;
    double pressure_wait_seconds;
    double least_seconds;   /* shorter runs are refused */
    unsigned limit_seconds; /* longer runs are killed */
    bool list;
    bool sequential;
    bool ignore_errors; /* stderr is not compared */
};

void bench_options_read(struct bench_options *options, int argc, char **argv);

#endif
