/* SPDX-License-Identifier: MIT
 *
 * What: writes the heap profile to the file that profile_dump names, as it lies in memory: at exit, and at each new peak, since
 * what is killed for its size does not exit.
 *
 * Why this way: the command makes of it what others read. The file is struct sj_profile, its sites, and behind them the text
 * of /proc/self/maps, which addresses are named by.
 *
 * Invariants: no file but this process's own is ever written to or replaced. It is whole at any moment but its first. Nothing is
 * allocated.
 *
 * Concurrency: while other threads still allocate, sites may be ahead of the sums by a sample each.
 */
#ifndef SJ_FRONT_PROFILE_DUMP_H
#define SJ_FRONT_PROFILE_DUMP_H

#include <stddef.h>

/* A sample, as sj__profile_note_malloc takes it; writes the file at a new peak. */
void sj__profile_sample(const void *block, size_t size_bytes, size_t chance_bytes, const void *caller);

/* At exit, if the options say so. */
void sj__profile_dump_at_exit(void);

#endif
