/* SPDX-License-Identifier: MIT
 *
 * What: memory for the allocator's own records, away from all user memory.
 *
 * Why this way: records are of few sizes and live for ever or are recycled as the same type by their owner, so a bump
 * pointer is all that is needed: no free, no headers, no way to turn one record into another. Every record has a
 * 32-bit index (its distance from the base in cache lines), which is what the address map stores: half the size of
 * a pointer, and no entry can name anything outside this arena.
 *
 * Invariants: records are 64-byte aligned, zero when handed out, and never given back to the system. Index 0 and 1 are
 * the two standing records (see window.h).
 *
 * Concurrency: sj__arena_alloc takes a lock of rank META. Records reach other threads through whoever publishes them.
 */
#ifndef SJ_META_ARENA_H
#define SJ_META_ARENA_H

#include "base/compiler.h"

enum { SJ_RECORD_SHIFT = 6, SJ_RECORD_BYTES = 1 << SJ_RECORD_SHIFT };

/* Opens the arena. False if the kernel gives no memory at all. */
bool sj__arena_start(uint64_t random);

/* A zeroed record of `bytes`, rounded up to whole cache lines; NULL if the kernel refuses. */
void *sj__arena_alloc(size_t bytes);

/* The arena's base, for window.h. */
char *sj__arena_base(void);

/* Bytes handed out and bytes mapped. */
void sj__arena_bytes(size_t *used_bytes, size_t *mapped_bytes);

void sj__arena_lock_for_fork(void);
void sj__arena_unlock_after_fork(bool in_child);

#endif
