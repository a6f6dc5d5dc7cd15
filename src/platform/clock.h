/* SPDX-License-Identifier: MIT
 *
 * What: a coarse monotonic clock in milliseconds, and one to time a call with.
 *
 * Why this way: ages of free memory need no better; the coarse clock is read from the vDSO in a few ns.
 *
 * Invariants: never goes back. Tests may set it.
 *
 * Concurrency: any thread.
 */
#ifndef SJ_PLATFORM_CLOCK_H
#define SJ_PLATFORM_CLOCK_H

#include "base/compiler.h"

/* Milliseconds since some fixed moment before start. */
uint64_t sj__clock_ms(void);

/* Nanoseconds since some fixed moment before start, to time a system call with; 0 where the system refuses it. */
uint64_t sj__clock_ns(void);

/* Seconds since 1970. Async-signal-safe. */
uint64_t sj__clock_unix_seconds(void);

/* Test seam: the clock returns what `source` returns; NULL restores the system's. */
void sj__clock_set_source(uint64_t (*source)(void));

#endif
