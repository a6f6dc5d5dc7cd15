/* SPDX-License-Identifier: MIT
 *
 * What: delay=quarantine: freed slots in the quarantine of their class, on their way to being available again.
 *
 * Why this way: a quarantine a heap and class, bounded in bytes, so that a slot rests while that much of its class is freed. What
 * has left it rests again as with delay=run. An entry is the slab's record and the slot's number in one word: letting a slot
 * out touches the record, and no user memory.
 *
 * Invariants: a slot in quarantine is neither live nor available, so its slab counts it as used. Its slab is owned by the
 * quarantine's heap: a slab changes hands, and is closed, only when none of its slots is in there.
 *
 * Concurrency: as the heap's bins: its owner, or whoever has taken an abandoned heap.
 */
#ifndef SJ_HEAP_DETAIN_H
#define SJ_HEAP_DETAIN_H

#include "heap/heap.h"

enum { SJ_DETAIN_SLOT_BITS = 16 }; /* of an entry; the record's address, of 48 bits, lies above */

SJ_ALWAYS_INLINE uint64_t sj_detain_entry(const struct sj_slab *slab, size_t slot)
{
    return (uint64_t)(uintptr_t)slab << SJ_DETAIN_SLOT_BITS | slot;
}

SJ_ALWAYS_INLINE struct sj_slab *sj_detain_slab(uint64_t entry)
{
    return (struct sj_slab *)(uintptr_t)(entry >> SJ_DETAIN_SLOT_BITS);
}

SJ_ALWAYS_INLINE size_t sj_detain_slot(uint64_t entry)
{
    return entry & ((1u << SJ_DETAIN_SLOT_BITS) - 1);
}

/* Gives the class a quarantine, if it has none. Takes locks that all threads share. */
void sj__detain_prepare(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index);

/* Where a slot that has just stopped being live goes by policy. Returns the slab in which one has become available; NULL if none
 * has. The caller looks after its count. */
struct sj_slab *sj__detain(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab, size_t slot);

/* How many of the slab's slots are in quarantine. */
unsigned sj__detain_count(const struct sj_heap *heap, const struct sj_slab *slab);

/* Lets all of a class out. Under the heap's lock. */
void sj__detain_end(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index);

/* After a raise: lets all out of quarantines that are to be of another size. Under the heap's lock. */
void sj__detain_resize(const struct sj_policy *policy, struct sj_heap *heap);

#endif
