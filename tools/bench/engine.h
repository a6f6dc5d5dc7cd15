/* SPDX-License-Identifier: MIT
 *
 * What: a session from the first run to the report: what `cost`, `ab` and `bench` share.
 *
 * Why this way: one engine; the commands differ in their arms and in what they print.
 *
 * Invariants: results go to stdout, progress to stderr.
 *
 * Concurrency: one thread; once a session at a time.
 */
#ifndef SJ_BENCH_ENGINE_H
#define SJ_BENCH_ENGINE_H

#include "bench/claims.h"

struct bench_outcome {
    struct bench_session session;
    struct bench_machine machine;
    struct bench_run floor;
    struct bench_result *results;
    size_t measured; /* workloads */
    size_t wanted;
    struct bench_claims claims;
};

/* Measures, judges, writes rows; the arms must be there. `outcome` lives as long as `options` and `manifest`. */
void bench_engine_measure(struct bench_outcome *outcome, struct bench_options *options,
                          struct bench_manifest *manifest);

/* Writes all rows of a session that was read back into options->out, if it is given. */
void bench_engine_write_rows(struct bench_outcome *outcome);

/* Prints the report, and writes it with claims, tables and the page report.html into options->out. */
void bench_engine_report(const struct bench_outcome *outcome);

/* Writes the page to this file. */
void bench_engine_write_page(const struct bench_outcome *outcome, const char *path);

/* The exit status, by the CPU claims. */
int bench_engine_status(const struct bench_outcome *outcome);

/* Reads the commands to measure: the list, or the words after --. */
void bench_engine_read_jobs(struct bench_options *options, struct bench_manifest *manifest);

void bench_engine_list(const struct bench_manifest *manifest);

#endif
