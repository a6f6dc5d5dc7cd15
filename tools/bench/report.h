/* SPDX-License-Identifier: MIT
 *
 * What: the report as text: what was run and where, the table of medians, the effect lines, the summaries.
 *
 * Why this way: the table has the columns people know from mimalloc-bench, so that it can be laid beside other tables;
 * the lines below it say what the table cannot: how sure, against what noise, and what could have been seen.
 *
 * Invariants: an arm whose outputs differ, and a workload that was refused, show the reason and no times.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_REPORT_H
#define SJ_BENCH_REPORT_H

#include <stdio.h>

#include "bench/claims.h"

void bench_report_text(FILE *out, const struct bench_session *session, const struct bench_claims *claims,
                       const struct bench_run *floor);

/* "-1.5 % [-2.1, -0.9]"; the caller frees it. Also used by the tables in Markdown. */
char *bench_effect_text(double log_estimate, struct lab_interval logs);

/* The baseline's or the arm's median with its unit: "1.234 s", "12.3 MiB"; the caller frees it. */
char *bench_value_text(const struct bench_result *result, size_t arm, enum bench_metric metric);

#endif
