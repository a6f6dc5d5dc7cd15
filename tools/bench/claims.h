/* SPDX-License-Identifier: MIT
 *
 * What: every claim of a session: each workload, each arm against each baseline, each judged metric; and the summaries
 * over workloads.
 *
 * Why this way: judged once, then printed as text and as Markdown, so that the two cannot differ.
 *
 * Invariants: the order is by baseline, workload, arm, metric. The null control is nobody's head. The correction for
 * several workloads is over cpu, by arm and baseline.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_BENCH_CLAIMS_H
#define SJ_BENCH_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/session.h"
#include "bench/views.h"
#include "lab/family.h"
#include "lab/verdict.h"

struct bench_claim {
    const struct bench_result *result;
    size_t base;
    size_t head;
    enum bench_metric metric;
    const char *fault; /* why there is nothing to judge; else NULL */
    struct lab_claim claim;
};

struct bench_claims {
    const struct bench_options *options;
    const struct bench_result *results;
    size_t result_count;
    struct bench_claim *items;
    size_t count;
};

void bench_claims_judge(struct bench_claims *claims, const struct bench_options *options,
                        const struct bench_result *results, size_t result_count);

struct bench_summary {
    struct lab_summary all;
    struct lab_summary real; /* .workloads is 0 if there are none */
    const char *worst_name;  /* of all */
    const char *worst_real_name;
};

/* Of one arm and metric; .all.workloads is 0 if nothing was measured. */
struct bench_summary bench_claims_summarise(const struct bench_claims *claims, size_t base, size_t head,
                                            enum bench_metric metric);

/* The exit status of the session: by the cpu claims against the first baseline. */
int bench_claims_status(const struct bench_claims *claims);

/* The verdict as printed: SLOWER and FASTER of memory are called LARGER and SMALLER. */
const char *bench_verdict_word(enum lab_verdict verdict, enum bench_metric metric);

#endif
