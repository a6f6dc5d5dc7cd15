/* SPDX-License-Identifier: MIT
 *
 * What: the claims of a session as JSON Lines, claims.jsonl: everything the statistics found, a line each.
 *
 * Why this way: the text report shows what is needed to judge; this has the rest (second tests, raw interval, warnings)
 * for scripts and for those who doubt.
 *
 * Invariants: what is infinite or missing is null. Logs are natural.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_RESULTS_H
#define SJ_BENCH_RESULTS_H

#include "bench/claims.h"

/* Into options->out, if it is given. */
void bench_write_claims(const struct bench_session *session, const struct bench_claims *claims);

#endif
