/* SPDX-License-Identifier: MIT
 *
 * What: the forms of `scrubjay cost` that stand in files of their own.
 *
 * Why this way: cost.c would be too long.
 *
 * Invariants: each takes its own name as argv[0] and returns an exit status.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_TOOLS_COST_H
#define SJ_TOOLS_COST_H

#include "bench/options.h"

int sj__cost_plan(int argc, char **argv);
int sj__cost_run_block(int argc, char **argv);

/* The arms that were asked for, or the usual ones; and the baselines. */
void sj__cost_choose_arms(struct bench_options *options);

#endif
