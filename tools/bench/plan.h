/* SPDX-License-Identifier: MIT
 *
 * What: how many blocks a workload takes, from the spread that its warm-up showed, and when it may end before.
 *
 * Why this way: the number is fixed before the first block that counts, or the session would stop where it likes what
 * it sees; only the sequential test, which allows for looking, may end it earlier.
 *
 * Concurrency: one run at a time.
 */
#ifndef SJ_BENCH_PLAN_H
#define SJ_BENCH_PLAN_H

#include "bench/session.h"

/* Sets result->plan after the warm-up, and says what it comes to. */
void bench_plan(struct bench_session *session, struct bench_result *result, double block_seconds,
                double budget_seconds);

/* --sequential: has every arm's sign test said enough? */
bool bench_decided(const struct bench_session *session, const struct bench_result *result);

#endif
