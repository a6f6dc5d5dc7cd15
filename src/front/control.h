/* SPDX-License-Identifier: MIT
 *
 * What: what front/control.c has for the other files of this floor.
 *
 * Why this way: mallopt is a name of glibc's, but its meaning is not tied to it.
 *
 * Invariants, concurrency: see control.c.
 */
#ifndef SJ_FRONT_CONTROL_H
#define SJ_FRONT_CONTROL_H

#include "policy/policy.h"

/* The settings in force, with what was changed live. */
void sj__control_settings(struct sj_settings *settings);

/* mallopt's meaning:
 *     M_TRIM_THRESHOLD (-1)            hold_max_bytes; negative: no limit
 *     M_MMAP_THRESHOLD (-3)            cache_max_entry_bytes: what is larger becomes a free run when it is freed; negative: no limit
 *     M_DECAY_TIME (-100)              release_ms; negative: never
 *     M_PURGE (-101)                   sj_purge(0)
 *     M_PURGE_ALL (-104)               sj_purge(1)
 *     M_PURGE_FAST (-105)              kept blocks and free runs only
 *     M_CACHE_COUNT_MAX (-200)         cache_max_count
 *     M_CACHE_SIZE_MAX (-201)          cache_max_entry_bytes
 *     M_ARENA_MAX (-8) and all others  accepted, without effect
 * Returns 1. */
int sj__control_mallopt(int code, int value);

#endif
