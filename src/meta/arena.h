/* SPDX-License-Identifier: MIT
 *
 * What: memory for the allocator's own records, away from all user memory.
 *
 * Why this way: records are of few sizes and live for ever or are recycled as the same type by their owner, so a bump
 * pointer is all that is needed: no free, no headers, no way to turn one record into another.
 *
 * Invariants: records are 64-byte aligned, zero when handed out, and never given back to the system.
 *
 * Concurrency: sj__arena_alloc takes a lock of rank META. Records reach other threads through whoever publishes them.
 */
#ifndef SJ_META_ARENA_H
#define SJ_META_ARENA_H

#include "base/compiler.h"

enum { SJ_RECORD_BYTES = 64 };

/* Opens the arena. False if the kernel gives no memory at all. */
bool sj__arena_start(uint64_t random);

/* A zeroed record of `bytes`, rounded up to whole cache lines; NULL if the kernel refuses. */
void *sj__arena_alloc(size_t bytes);

/* True if a record of `bytes` could begin at `record`: all of it was handed out, by one call or by several. Takes no lock. */
bool sj__arena_holds(const void *record, size_t bytes);

/* Bytes handed out. Takes no lock. */
size_t sj__arena_used_bytes(void);

/* The same, and bytes mapped. Takes no lock. */
void sj__arena_bytes(size_t *used_bytes, size_t *mapped_bytes);

/* Where it begins. */
const void *sj__arena_base(void);

void sj__arena_lock_for_fork(void);
void sj__arena_unlock_after_fork(bool in_child);

#endif
