/* SPDX-License-Identifier: MIT
 *
 * What: the raw rows on disk, as doc/lab-format.md describes them: rows.jsonl (a line each for the session, each workload's plan, each process) and rows.csv.
 *
 * Why this way: written as they come and flushed, so that a session that is cut short has lost nothing.
 *
 * Invariants: every number of a report can be computed again from these rows (load.h does); "format" in the first line changes when
 * a field changes its meaning.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_ROWS_H
#define SJ_BENCH_ROWS_H

#include "bench/session.h"

/* Before a session is gone on with: what was being written when it was killed is dropped, and said. */
void bench_mend_rows(const struct bench_options *options);

/* Opens the files in options->out, if it is given, and writes what the session knows of itself; a session that is gone on
 * with is appended to. */
void bench_open_rows(struct bench_session *session, const struct bench_run *floor);

/* If the session is gone on with: how many blocks of the workload count; the rows of others before this line do not. */
void bench_write_resumed(const struct bench_session *session, const struct bench_result *result);

void bench_write_plan(const struct bench_session *session, const struct bench_result *result);

void bench_write_row(const struct bench_session *session, const struct bench_result *result,
                     const struct bench_row *row);

/* Nothing if nothing was counted. */
void bench_write_counts(const struct bench_session *session, const struct bench_result *result, size_t arm);

/* Of every arm; nothing if it was not asked for. */
void bench_write_latency(const struct bench_session *session, const struct bench_result *result);

/* That an arm is out, and why. */
void bench_write_fault(const struct bench_session *session, const struct bench_result *result, size_t arm);

/* That a workload was not measured, and why, if it was not. */
void bench_write_refusal(const struct bench_session *session, const struct bench_result *result);

void bench_close_rows(struct bench_session *session);

#endif
