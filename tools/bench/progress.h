/* SPDX-License-Identifier: MIT
 *
 * What: how far a session is: a bar that is drawn over on a terminal, a line each tenth elsewhere.
 *
 * Why this way: on stderr, so that results can be piped.
 *
 * Invariants: a message that comes while a bar stands begins on a fresh line.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_PROGRESS_H
#define SJ_BENCH_PROGRESS_H

#include <stddef.h>

/* `done` of `total` runs of this command; `left_seconds` for those that are missing. */
void bench_progress(const char *name, size_t done, size_t total, double left_seconds);

/* Takes the bar away. */
void bench_progress_clear(void);

#endif
