/* SPDX-License-Identifier: MIT
 *
 * What: the slow half of the futex lock, and the rank check of debug builds.
 *
 * Why this way: a short spin first, because the allocator holds a lock for well under a microsecond and a futex round
 * trip costs several. The spin only reads, so that the holder keeps the line; it ends at once when somebody already
 * sleeps. A waiter that slept takes the lock as "held with waiters", since it can't know whether it was the last: one
 * needless wake at most. A fair queue was refused: it needs memory per waiter and hands the lock to threads that are
 * not running.
 *
 * Invariants: the word goes to 2 only here. Only the thread that holds a lock unlocks it. errno is preserved. No
 * cancellation point is passed: syscall() is none.
 *
 * Concurrency: see lock.h. The rank counts are thread-local.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "platform/lock.h"

#include "platform/thread.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOCK_FREE = 0,
    LOCK_HELD = 1,
    LOCK_CONTENDED = 2,
    LOCK_SPINS = 100 /* about 2 microseconds with the pause below */
};

/* From linux/futex.h, which a libc need not bring along. */
enum { LOCK_FUTEX_WAIT_PRIVATE = 0 | 128, LOCK_FUTEX_WAKE_PRIVATE = 1 | 128 };

static inline void lock_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

static void lock_futex(struct sj_lock *lock, int operation, uint32_t value)
{
    int saved_errno = errno;

    /* A failure is a spurious wake (EINTR, EAGAIN) or nobody to wake: both callers stand it. */
    (void)syscall(SYS_futex, &lock->state.value, operation, value, NULL, NULL, 0);
    errno = saved_errno;
}

static bool lock_spin(struct sj_lock *lock)
{
    for (unsigned i = 0; i < LOCK_SPINS; i++) {
        uint32_t state = sj_load_relaxed_u32(&lock->state);

        if (state == LOCK_CONTENDED)
            return false;
        if (state == LOCK_FREE &&
            sj_compare_exchange_acq_rel_u32(&lock->state, &state, LOCK_HELD)) /* pairs with sj__unlock */
            return true;
        lock_pause();
    }
    return false;
}

bool sj__lock_in_time(struct sj_lock *lock, unsigned *patience_ms)
{
    while (!sj__try_lock(lock)) {
        if (*patience_ms == 0 || !sj__thread_sleep(1))
            return false;
        --*patience_ms;
    }
    return true;
}

SJ_COLD void sj__lock_wait(struct sj_lock *lock)
{
    if (lock_spin(lock))
        return;
    while (sj_exchange_acq_rel_u32(&lock->state, LOCK_CONTENDED) != LOCK_FREE) /* pairs with sj__unlock */
        lock_futex(lock, LOCK_FUTEX_WAIT_PRIVATE, LOCK_CONTENDED);
}

SJ_COLD void sj__lock_wake(struct sj_lock *lock)
{
    lock_futex(lock, LOCK_FUTEX_WAKE_PRIVATE, 1);
}

#if defined(SJ_DEBUG)

/* Locks of each rank that this thread holds. */
static _Thread_local uint32_t lock_held[SJ_RANK_LIMIT];

void sj__lock_check_rank(const struct sj_lock *lock)
{
    sj_assert(lock->rank < SJ_RANK_LIMIT);
    if (lock->rank == 0)
        return;
    for (uint32_t rank = lock->rank + 1; rank < SJ_RANK_LIMIT; rank++)
        sj_assert(lock_held[rank] == 0); /* taking locks in falling rank: a deadlock waits here */
}

void sj__lock_note_taken(const struct sj_lock *lock)
{
    sj_assert(lock->rank < SJ_RANK_LIMIT);
    lock_held[lock->rank]++;
}

void sj__lock_note_released(const struct sj_lock *lock)
{
    sj_assert(lock->rank < SJ_RANK_LIMIT);
    sj_assert(lock_held[lock->rank] > 0); /* only the holder unlocks */
    lock_held[lock->rank]--;
}

void sj__lock_note_reset(const struct sj_lock *lock)
{
    sj_assert(lock->rank < SJ_RANK_LIMIT);
    if (lock_held[lock->rank] > 0)
        lock_held[lock->rank]--;
}

#endif
