/* SPDX-License-Identifier: MIT
 *
 * What: a small futex lock with a rank.
 *
 * Why this way: three states in one word (free, held, held with waiters), so that lock and unlock without contention
 * are one atomic operation each and no system call. It allocates nothing, needs no constructor (all zero is free),
 * and survives fork: the child sets it back to zero.
 *
 * Invariants: a thread takes locks in rising rank only (equal ranks in fork alone, by id); debug builds check it, but
 * not for sj__try_lock, which cannot deadlock, nor for rank 0, which is unranked. The word holds 0 free, 1 held,
 * 2 held and somebody may wait.
 *
 * Concurrency: sj__lock acquires (pairs with the release in sj__unlock).
 */
#ifndef SJ_PLATFORM_LOCK_H
#define SJ_PLATFORM_LOCK_H

#include "base/atomic.h"

/* Lower ranks are taken first. */
enum sj_lock_rank {
    SJ_RANK_START = 1, /* one thread runs the start-up */
    SJ_RANK_LIVE,      /* one thread serves other processes, or raises the level */
    SJ_RANK_RELEASE,   /* one thread makes the pass of the release clock */
    SJ_RANK_NAMED,     /* the lists of arenas */
    SJ_RANK_HEAPS,     /* the list of heaps, adoption */
    SJ_RANK_HEAP,      /* one heap's slow path; never two at once but in fork (by id) */
    SJ_RANK_ABANDONED, /* the queue of abandoned heaps: a pointer swap */
    SJ_RANK_ACCOUNTS,  /* opening an account */
    SJ_RANK_LARGE,     /* records of slabs and large blocks */
    SJ_RANK_RUNS,      /* free runs of the window */
    SJ_RANK_PROFILE,   /* the tables of the heap profile */
    SJ_RANK_META,      /* metadata arenas */
    SJ_RANK_ENTROPY,
    SJ_RANK_LIMIT
};

struct sj_lock {
    struct sj_atomic_u32 state;
    uint32_t rank; /* enum sj_lock_rank; 0 is unranked */
};

#define SJ_LOCK_INIT(lock_rank)             \
    {                                       \
        .state = { 0 }, .rank = (lock_rank) \
    }

void sj__lock_wait(struct sj_lock *lock);
void sj__lock_wake(struct sj_lock *lock);

/* The rank check: calls in a debug build, nothing in a release build. */
#if defined(SJ_DEBUG)
void sj__lock_check_rank(const struct sj_lock *lock);
void sj__lock_note_taken(const struct sj_lock *lock);
void sj__lock_note_released(const struct sj_lock *lock);
void sj__lock_note_reset(const struct sj_lock *lock);
#else
SJ_ALWAYS_INLINE void sj__lock_check_rank(const struct sj_lock *lock)
{
    (void)lock;
}
SJ_ALWAYS_INLINE void sj__lock_note_taken(const struct sj_lock *lock)
{
    (void)lock;
}
SJ_ALWAYS_INLINE void sj__lock_note_released(const struct sj_lock *lock)
{
    (void)lock;
}
SJ_ALWAYS_INLINE void sj__lock_note_reset(const struct sj_lock *lock)
{
    (void)lock;
}
#endif

/* Takes the lock if it is free. Never waits. */
SJ_ALWAYS_INLINE bool sj__try_lock(struct sj_lock *lock)
{
    uint32_t expected = 0;

    if (!sj_compare_exchange_acq_rel_u32(&lock->state, &expected, 1)) /* pairs with sj__unlock's exchange */
        return false;
    sj__lock_note_taken(lock);
    return true;
}

/* Takes the lock, waiting for at most *patience_ms, which it lowers by what it has waited. False: whoever holds it may be
 * stopped. */
bool sj__lock_in_time(struct sj_lock *lock, unsigned *patience_ms);

/* Takes the lock, waiting for it if need be. */
SJ_ALWAYS_INLINE void sj__lock(struct sj_lock *lock)
{
    uint32_t expected = 0;

    sj__lock_check_rank(lock);
    if (sj_unlikely(!sj_compare_exchange_acq_rel_u32(&lock->state, &expected, 1))) /* pairs with sj__unlock */
        sj__lock_wait(lock);
    sj__lock_note_taken(lock);
}

SJ_ALWAYS_INLINE void sj__unlock(struct sj_lock *lock)
{
    sj__lock_note_released(lock);
    if (sj_unlikely(sj_exchange_acq_rel_u32(&lock->state, 0) == 2)) /* pairs with sj__lock and sj__lock_wait */
        sj__lock_wake(lock);
}

/* In the child of a fork: nobody else is there. */
SJ_ALWAYS_INLINE void sj__lock_reset(struct sj_lock *lock)
{
    sj__lock_note_reset(lock);
    sj_store_relaxed_u32(&lock->state, 0);
}

#endif
