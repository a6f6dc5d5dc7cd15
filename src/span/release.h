/* SPDX-License-Identifier: MIT
 *
 * What: the release clock: when the oldest free memory that holds pages is to go back to the system; the limits on what
 * is held; the form of the books kept about holding.
 *
 * Why this way: every slow path asks whether something is due: one load and compare while nothing is held, else a coarse
 * clock besides. So no thread and no timer is needed, and what is held in runs, kept blocks and idle slabs has one age.
 * The books make "would another interval have been better?" a sum over a histogram: see doc/release.md.
 *
 * Invariants: while memory of age `a` is held and release_ms is not never, the due time is at most a + release_ms. A
 * pass sets it to never before it looks, and lowers it to what it has left; whoever puts memory down lowers it after that.
 *
 * Concurrency: atomics, any thread. Books are guarded by the lock of whoever keeps them.
 */
#ifndef SJ_SPAN_RELEASE_H
#define SJ_SPAN_RELEASE_H

#include "base/atomic.h"
#include "base/bits.h"
#include "platform/clock.h"
#include "policy/policy.h"

#define SJ_NEVER_MS      UINT64_MAX
#define SJ_DUE_BY_LIMITS 0 /* a due time: sooner than any, since limits have changed */

/* The limits in force: struct sj_hold as others may read it while it is changed. */
struct sj_release_limits {
    struct sj_atomic_u64 release_ms; /* SJ_NEVER_MS: not by time */
    struct sj_atomic_u64 pass_bytes;
    struct sj_atomic_u64 hold_bytes;
    struct sj_atomic_u64 cache_bytes;
    struct sj_atomic_u64 cache_count;
    struct sj_atomic_u64 cache_entry_bytes;
    struct sj_atomic_u64 limit_bytes;    /* of all memory; UINT64_MAX: none */
    struct sj_atomic_u64 pressure_bytes; /* of all memory, from which on nothing free is held; at most limit_bytes */
};
extern struct sj_release_limits sj__release_limits;

/* When the next pass is due; SJ_NEVER_MS while nothing is held. */
extern struct sj_atomic_u64 sj__release_due_ms;

/* When somebody else than the clock wants a slow path to come by; SJ_NEVER_MS: nobody does. Whoever sets it lowers the due time
 * to it; passes do from then on. */
extern struct sj_atomic_u64 sj__release_alarm_ms;

/* Puts limits in force. What is held already is looked at on the next slow path: kept blocks and free runs, each of them as a
 * whole, if more of it is held than is allowed now. cache_max_entry_bytes is for what is freed from now on. */
void sj__release_set(const struct sj_hold *hold);
void sj__release_get(struct sj_hold *hold);

/* Says what the system allows this process; UINT64_MAX: it does not say. Before sj__release_set. */
void sj__release_set_allowance(uint64_t bytes);

/* The due time becomes `due_ms`, if that is sooner. */
void sj__release_lower_due(uint64_t due_ms);

/* To be told after memory that holds pages was put down, free since `freed_ms`; without locks held or with. */
SJ_ALWAYS_INLINE void sj_release_note_held(uint64_t freed_ms)
{
    uint64_t age_ms = sj_load_relaxed_u64(&sj__release_limits.release_ms);
    if (age_ms != SJ_NEVER_MS && sj_load_relaxed_u64(&sj__release_due_ms) > freed_ms + age_ms)
        sj__release_lower_due(freed_ms + age_ms);
}

/* The age of what is to be due in `rest_ms`. */
SJ_ALWAYS_INLINE uint64_t sj_release_age_due_in(uint64_t rest_ms)
{
    uint64_t age_ms = sj_load_relaxed_u64(&sj__release_limits.release_ms);
    uint64_t due_ms = sj__clock_ms() + rest_ms;
    return due_ms > age_ms ? due_ms - age_ms : 0;
}

SJ_ALWAYS_INLINE bool sj_release_is_due(void)
{
    uint64_t due_ms = sj_load_relaxed_u64(&sj__release_due_ms);
    return sj_unlikely(due_ms != SJ_NEVER_MS) && sj__clock_ms() >= due_ms;
}

/* ---- Books ------------------------------------------------------------------------------------------------------ */

enum { SJ_GAP_BUCKETS = 24 }; /* bucket 0: under 1 ms; bucket i: from 2^(i-1) ms up to 2^i; the last one: all above */

struct sj_hold_books {
    uint64_t held_byte_ms;              /* bytes held, summed over milliseconds */
    uint64_t summed_ms;                 /* up to this moment */
    uint64_t gap_count[SJ_GAP_BUCKETS]; /* reuses by the time between free and reuse */
    uint64_t gap_bytes[SJ_GAP_BUCKETS];
    uint64_t aged_bytes; /* given back because of their age */
    uint64_t aged_calls; /* in so many system calls */
};

/* To be called before the bytes held change. */
SJ_ALWAYS_INLINE void sj_books_sum(struct sj_hold_books *books, size_t held_bytes, uint64_t now_ms)
{
    if (now_ms > books->summed_ms) {
        books->held_byte_ms += held_bytes * (now_ms - books->summed_ms);
        books->summed_ms = now_ms;
    }
}

SJ_ALWAYS_INLINE void sj_books_note_reuse(struct sj_hold_books *books, uint64_t freed_ms, uint64_t now_ms, size_t bytes)
{
    uint64_t gap_ms = now_ms > freed_ms ? now_ms - freed_ms : 0;
    unsigned bucket = gap_ms == 0 ? 0 : sj_highest_bit(gap_ms) + 1;
    bucket = bucket < SJ_GAP_BUCKETS ? bucket : SJ_GAP_BUCKETS - 1;
    books->gap_count[bucket]++;
    books->gap_bytes[bucket] += bytes;
}

#endif
