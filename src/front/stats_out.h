/* SPDX-License-Identifier: MIT
 *
 * What: where the statistics go: the option stats, and malloc_stats.
 *
 * Why this way: a file is written whole under a name of its own and then renamed, so that a collector never reads half of it,
 * and nobody who can guess a name has something else overwritten. When it is due a slow path finds out by the word that
 * it reads for the release clock anyway: no thread, no signal, nothing on a hot path.
 *
 * Invariants: nothing is written unless asked for. Allocates nothing; one file at a time.
 *
 * Concurrency: a file is written by one thread at a time; who comes meanwhile goes on.
 */
#ifndef SJ_FRONT_STATS_OUT_H
#define SJ_FRONT_STATS_OUT_H

#include "policy/policy.h"
#include "span/release.h"

/* The options are known: sets when the file is to be written first. */
void sj__stats_out_start(const struct sj_settings *settings);

SJ_ALWAYS_INLINE bool sj_stats_out_is_due(void)
{
    uint64_t due_ms = sj_load_relaxed_u64(&sj__release_alarm_ms);
    return due_ms != SJ_NEVER_MS && sj__clock_ms() >= due_ms;
}

/* Writes the file. For a thread deep inside the allocator, signals blocked, no lock held but the one for requests. */
void sj__stats_out_write(void);

void sj__stats_out_at_exit(void);

/* On fd 2 because the program asked (malloc_stats): whatever the options say and whatever fd 2 is now. */
void sj__stats_out_print(void);

#endif
