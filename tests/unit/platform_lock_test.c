/* SPDX-License-Identifier: MIT
 *
 * What: the futex lock.
 *
 * Why this way: a plain counter under the lock is wrong at once if two threads are ever inside; holders that sleep force
 * the waiters past their spin and into the futex.
 *
 * Invariants: none.
 *
 * Concurrency: four threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "platform/lock.h"

#include <pthread.h>
#include <sys/wait.h>

enum { THREADS = 4, ROUNDS = 50000, SLEEPY_ROUNDS = 200 };

static struct sj_lock lock = SJ_LOCK_INIT(SJ_RANK_LARGE);
static uint64_t counter; /* under `lock`; not atomic on purpose */

static void *count_up(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < ROUNDS; i++) {
        sj__lock(&lock);
        counter++;
        sj__unlock(&lock);
    }
    return NULL;
}

static void *count_up_asleep(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < SLEEPY_ROUNDS; i++) {
        sj__lock(&lock);
        uint64_t seen = counter;
        (void)usleep(20);
        counter = seen + 1;
        sj__unlock(&lock);
    }
    return NULL;
}

static void *count_up_trying(void *unused)
{
    (void)unused;
    for (unsigned done = 0; done < ROUNDS;) {
        if (sj__try_lock(&lock)) {
            counter++;
            done++;
            sj__unlock(&lock);
        }
    }
    return NULL;
}

static void run_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];

    counter = 0;
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, body, NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_EQ(sj_load_relaxed_u32(&lock.state), 0);
}

static void platform_lock__lets_one_in_when_four_count(void)
{
    run_threads(count_up);
    CHECK_EQ(counter, THREADS * ROUNDS);
}

static void platform_lock__waiters_sleep_and_wake_when_holder_sleeps(void)
{
    run_threads(count_up_asleep);
    CHECK_EQ(counter, THREADS * SLEEPY_ROUNDS);
}

static void platform_lock__lets_one_in_when_four_try(void)
{
    run_threads(count_up_trying);
    CHECK_EQ(counter, THREADS * ROUNDS);
}

static void platform_lock__try_fails_while_held(void)
{
    CHECK(sj__try_lock(&lock));
    CHECK(!sj__try_lock(&lock));
    sj__unlock(&lock);
    CHECK(sj__try_lock(&lock));
    sj__unlock(&lock);
}

static void *wait_for_lock(void *seen_errno)
{
    errno = 4242;
    sj__lock(&lock);
    sj__unlock(&lock);
    *(int *)seen_errno = errno;
    return NULL;
}

static void platform_lock__keeps_errno_when_it_waits(void)
{
    pthread_t thread;
    int seen_errno = 0;

    sj__lock(&lock);
    CHECK(pthread_create(&thread, NULL, wait_for_lock, &seen_errno) == 0);
    (void)usleep(20000); /* past the spin */
    errno = 4343;
    sj__unlock(&lock);
    CHECK_EQ(errno, 4343);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ(seen_errno, 4242);
}

static void platform_lock__is_free_in_the_child_when_reset(void)
{
    int status = -1;

    sj__lock(&lock);
    pid_t child = fork();
    if (child == 0) {
        sj__lock_reset(&lock);
        bool taken = sj__try_lock(&lock);
        if (taken)
            sj__unlock(&lock);
        _exit(taken ? 0 : 1);
    }
    sj__unlock(&lock);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

static void platform_lock__zero_memory_is_a_free_lock(void)
{
    static struct sj_lock zero;

    sj__lock(&zero);
    CHECK(!sj__try_lock(&zero));
    sj__unlock(&zero);
}

static int status_of_taking(struct sj_lock *first, struct sj_lock *second)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        sj__lock(first);
        sj__lock(second);
        sj__unlock(second);
        sj__unlock(first);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static void platform_lock__debug_build_stops_falling_ranks(void)
{
    static struct sj_lock low = SJ_LOCK_INIT(SJ_RANK_START);
    static struct sj_lock high = SJ_LOCK_INIT(SJ_RANK_META);

    CHECK_EQ(status_of_taking(&low, &high), 0);
#if defined(SJ_DEBUG)
    CHECK(WIFSIGNALED(status_of_taking(&high, &low)));
#else
    SKIP("ranks are checked in debug builds");
#endif
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(platform_lock__lets_one_in_when_four_count);
    RUN(platform_lock__waiters_sleep_and_wake_when_holder_sleeps);
    RUN(platform_lock__lets_one_in_when_four_try);
    RUN(platform_lock__try_fails_while_held);
    RUN(platform_lock__keeps_errno_when_it_waits);
    RUN(platform_lock__is_free_in_the_child_when_reset);
    RUN(platform_lock__zero_memory_is_a_free_lock);
    RUN(platform_lock__debug_build_stops_falling_ranks);
    return unit_end();
}
