/* SPDX-License-Identifier: MIT
 *
 * What: writes the heap profile to the file that profile_dump names, as it lies in memory.
 *
 * Why this way: the command makes of it what others read. The file is struct sj_profile, its sites, and behind them the text
 * of /proc/self/maps, which addresses are named by.
 *
 * Invariants: a file that exists is never written to. Nothing is allocated.
 *
 * Concurrency: while other threads still allocate, sites may be ahead of the sums by a sample each.
 */
#ifndef SJ_FRONT_PROFILE_DUMP_H
#define SJ_FRONT_PROFILE_DUMP_H

/* At exit, if the options say so. */
void sj__profile_dump_at_exit(void);

#endif
