/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay cost --budget`: the strongest policy that costs a program no more than it may.
 *
 * Why this way: found by measuring, in three sessions: the levels against the C library's allocator; on the strongest level
 * that fits, each option that protects more, alone; and the chosen set as a whole, against the C library's allocator again,
 * because prices need not add up. What does not fit as a whole loses its dearest option and is measured again.
 *
 * Invariants: nothing is recommended that was not measured as it is recommended. "None fits" and "cannot tell" are answers.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_BUDGET_H
#define SJ_BENCH_BUDGET_H

#include "bench/manifest.h"
#include "bench/options.h"

/* Exit status: 0 found, 1 none fits, 2 cannot tell, 3 invalid. */
int bench_budget_find(struct bench_options *options, struct bench_manifest *manifest);

#endif
