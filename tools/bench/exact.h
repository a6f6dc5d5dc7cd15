/* SPDX-License-Identifier: MIT
 *
 * What: the part of a report that is counted: calls and instructions of counts.h, and the library's own counters.
 *
 * Why this way: a counter that is the same in every run of an arm is exact, and needs no interval; one that is not is shown
 * as its median and marked. Arms that ask for the same blocks must say so: where both are exact and differ, they did not
 * do the same work, and no time of theirs can be compared.
 *
 * Invariants: pure functions of the results.
 *
 * Concurrency: none.
 */
#ifndef SJ_BENCH_EXACT_H
#define SJ_BENCH_EXACT_H

#include <stdio.h>

#include "bench/claims.h"

/* Of enum bench_call: "mmap" ... */
const char *bench_call_name(size_t kind);

/* The median of a counter over the measured runs of an arm; `exact` says if all have it. False if no run told it. */
bool bench_exact_counter(const struct bench_result *result, size_t arm, size_t counter, double *median, bool *exact);

/* Writes both tables, as far as there is something. */
void bench_exact_report(FILE *out, const struct bench_session *session, const struct bench_claims *claims);

#endif
