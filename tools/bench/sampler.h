/* SPDX-License-Identifier: MIT
 *
 * What: the resident memory of a run over its time: samples of the command and its descendants, and what is kept of them.
 *
 * Why this way: a peak says nothing of how long memory was held. The kernel keeps no such mean, and what an allocator knows
 * is its own memory only, so every arm is looked at from outside, the same way. A thread of the runner reads two small
 * files a process, on the runner's CPU; the gaps grow with the run, so that one of minutes is looked at a thousand times at
 * most.
 *
 * Invariants: pages that two processes share count twice. Children of threads other than a process's first are not seen.
 *
 * Concurrency: a thread between begin and end; the sampler is its own until then.
 */
#ifndef SJ_BENCH_SAMPLER_H
#define SJ_BENCH_SAMPLER_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include "lab/series.h"

struct bench_sampler {
    pthread_t thread;
    pid_t launcher;
    int stop;                  /* an eventfd */
    struct lab_point *samples; /* seconds, KiB */
    size_t count;
    size_t room;
};

/* Begins to look at the children of `launcher`. */
void bench_sampler_begin(struct bench_sampler *sampler, pid_t launcher);

/* Their resident memory over the time of the run: seconds to the microsecond, whole KiB, as rows hold them. No values if it
 * was too short to see. */
void bench_sampler_end(struct bench_sampler *sampler, struct lab_series *kib);

#endif
