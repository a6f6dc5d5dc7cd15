/* SPDX-License-Identifier: MIT
 *
 * What: the heap profile: which stacks allocate, and which of that lives.
 *
 * Why this way: each byte that is allocated is sampled with the same chance, so an allocation with a chance that grows with its
 * size, and what a sample stands for is its size divided by that chance: an estimate without bias. Small ones are drawn where a
 * bin gets its slots (heap.c), so the fast paths know nothing of it; the sampled one itself is served from the heap that all
 * threads share. So its free leaves the owner's fast path by itself, and only frees that do are looked up here. Large blocks,
 * and those of arenas and labels, are drawn one by one. doc/adr/0113.
 *
 *     .bss     struct sj_profile        what readers begin with
 *     arena    chunks of sites          a stack and what it has allocated, what of it lives, and lived at the peak
 *     arena    chunks of records        a sampled block that lives: where, its site, what it stands for
 *
 * Invariants: a block that lives has one record at most. Tables are bounded; what finds no place is counted in all the same.
 *
 * Concurrency: one lock of rank PROFILE. Whether a block may be sampled is told without it, by the head of its chain: it is not
 * empty as long as the block's own record is in it.
 */
#ifndef SJ_HEAP_PROFILE_H
#define SJ_HEAP_PROFILE_H

#include "policy/policy.h"
#include "policy/profile.h"

enum { SJ_PROFILE_HEAD_BITS = 14, SJ_PROFILE_CHUNK_RECORDS = 512, SJ_PROFILE_RECORD_CHUNKS = 128 };

/* A sampled block that lives. Records are counted from 1. */
struct sj_profile_record {
    uint32_t next; /* in its chain, or among the free ones; 0: the last */
    uint32_t site;
    uint64_t address; /* 0: a free one */
    struct sj_profile_tally weight;
};

extern SJ_HIDDEN struct sj_profile sj__profile;
extern SJ_HIDDEN uint32_t sj__profile_rate; /* the mean of bytes between samples; 0: no profile */
extern SJ_HIDDEN struct sj_atomic_u32 sj__profile_heads[1 << SJ_PROFILE_HEAD_BITS]; /* 0: an empty chain */
extern SJ_HIDDEN struct sj_profile_record *sj__profile_records[SJ_PROFILE_RECORD_CHUNKS];

/* Once, before the first heap. */
void sj__profile_start(const struct sj_settings *settings);

/* How many bytes are not sampled before one is. UINT64_MAX: none ever. */
uint64_t sj__profile_draw(void);

/* True if a block that was just allocated, and not out of a thread's bin, is a sample: a large one, or one of an account. */
bool sj__profile_is_due(size_t size_bytes);

/* A sample: `chance_bytes` is what the draw went over, not 0, and `caller` the return address in the program. True if what lives
 * has come to a new peak of some size. */
bool sj__profile_note_malloc(const void *block, size_t size_bytes, size_t chance_bytes, const void *caller);

void sj__profile_forget(const void *block);

/* Before many blocks are freed at once: forgets those of which `is_one` says so, which takes no lock. */
void sj__profile_forget_those(bool (*is_one)(const void *block, const void *of), const void *of);

SJ_ALWAYS_INLINE size_t sj_profile_head_of(const void *block)
{
    const uint64_t spread = 0x9e3779b97f4a7c15u;
    return (size_t)(((uint64_t)(uintptr_t)block >> 4) * spread >> (64 - SJ_PROFILE_HEAD_BITS));
}

/* Before a block is freed that may be a sample. */
SJ_ALWAYS_INLINE void sj_profile_note_free(const void *block)
{
    if (sj_unlikely(sj__profile_rate != 0 && sj_load_relaxed_u32(&sj__profile_heads[sj_profile_head_of(block)]) != 0))
        sj__profile_forget(block);
}

/* The site of a live sample; NULL if the block is none. For reports: takes no lock, so it may be wrong. */
const struct sj_profile_site *sj__profile_site_of(const void *block);

void sj__profile_lock_for_fork(void);
void sj__profile_unlock_after_fork(bool in_child);

#endif
