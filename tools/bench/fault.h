/* SPDX-License-Identifier: MIT
 *
 * What: whether a run counts: did it end as it should, under the allocator that it is said to be of, with the same output?
 *
 * Why this way: a number of a run that did something else is worth nothing, so each is judged before the next begins,
 * and an arm that fails is out with the reason that its user needs.
 *
 * Invariants: the first run of the first baseline is what all others are compared with.
 *
 * Concurrency: one run at a time.
 */
#ifndef SJ_BENCH_FAULT_H
#define SJ_BENCH_FAULT_H

#include "bench/session.h"

/* The first run of the first baseline; NULL before there is one. */
const struct bench_run *bench_reference(const struct bench_session *session, const struct bench_result *result);

/* Why a run does not count, to be freed; NULL if it does. The text of its outputs must still be there. */
char *bench_fault(const struct bench_session *session, const struct bench_result *result, const struct bench_row *row);

#endif
