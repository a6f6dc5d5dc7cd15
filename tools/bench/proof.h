/* SPDX-License-Identifier: MIT
 *
 * What: what the processes of a run said of themselves: the records of policy/record.h, read and summed.
 *
 * Why this way: that an arm really ran is not concluded from the environment it was given but told by the library.
 *
 * Invariants: a record that a kill has cut short is left out, and no other with it; counters are sums over the processes that reached their exit; of build and options the first process's.
 *
 * Concurrency: one run at a time.
 */
#ifndef SJ_BENCH_PROOF_H
#define SJ_BENCH_PROOF_H

#include <stdbool.h>
#include <stdio.h>

#include "policy/record.h"
#include "scrubjay.h"

struct bench_proof {
    unsigned started; /* processes with the library in them */
    unsigned ended;   /* records at exit: forked children are among them, processes ended by a signal or _exit not */
    unsigned off;     /* processes with the library in them, but not in force */
    char build_id[SJ_STATUS_BUILD_BYTES];
    char options[SJ_OPTIONS_TEXT_BYTES];
    uint64_t peak_rss_sum_bytes; /* over the processes */
    struct sj_stats counters;
};

/* Empties the file for the next run; false with errno if it cannot be made. */
bool bench_proof_reset(const char *path);

void bench_proof_read(const char *path, struct bench_proof *proof);

/* The members of struct sj_stats that add up over processes, by name, for rows; NULL behind the last one. */
const char *bench_counter_name(size_t index);
void bench_counter_set(struct bench_proof *proof, size_t index, uint64_t value);
uint64_t bench_counter_value(const struct bench_proof *proof, size_t index);

#endif
