/* SPDX-License-Identifier: MIT
 *
 * What: freed large blocks, kept whole for the next request of the same number of pages.
 *
 * Why this way: setting and lifting the two guard pages of a block costs four system calls, 2 microseconds, each time it
 * comes and goes (git pack-objects: 62,700 calls, 6 % of its time). A block that is kept keeps its guards, its pages and
 * its place. Only an exact fit is taken, so a block never is larger than was asked for and its guard is where it belongs.
 * A set-associative table by page count makes taking and putting a few loads under a lock.
 *
 * Invariants: the blocks kept are not live and no map entry names them. Their bytes are at most what sj__cache_put
 * allows.
 *
 * Concurrency: one lock of rank LARGE, held for the table only. Whoever gets a block owns it.
 */
#ifndef SJ_SPAN_CACHE_H
#define SJ_SPAN_CACHE_H

#include "span/large.h"

/* A kept block of exactly `usable_bytes`, with guards or without; NULL if there is none. The one freed last; with `rests`
 * (delay=run) the one freed first, and none if there is but one: a block rests until another of its size is freed. */
struct sj_large *sj__cache_take(size_t usable_bytes, bool guarded, bool rests);

/* Keeps a freed block. Returns the blocks that have to go for it, linked by `next`: older ones, or the block itself. */
struct sj_large *sj__cache_put(struct sj_large *large, size_t allowed_bytes);

/* Takes all blocks out, linked by `next`. */
struct sj_large *sj__cache_drain(void);

/* Bytes kept. */
size_t sj__cache_bytes(void);

void sj__cache_lock_for_fork(void);
void sj__cache_unlock_after_fork(bool in_child);

#endif
