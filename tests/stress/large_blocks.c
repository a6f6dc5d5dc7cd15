/* SPDX-License-Identifier: MIT */
/*
 * What: large blocks under load: threads that make, hand over, resize and free blocks of 40 to 600 KB, while others trim,
 * change the limits and fork.
 *
 * Why this way: kept blocks lie in several parts with locks of their own, between which threads move when they meet. Each
 * block carries its own address and size at both ends, so one that is given out twice, or scrubbed while live, shows. At the
 * end the library's books must say that all is freed, and what is kept must be within the limits, added up over all parts.
 *
 * Invariants: each block made is freed exactly once; the library must not report.
 *
 * Concurrency: eight threads, and one that disturbs; blocks pass between them through atomic exchanges.
 */
#include "support/calls.h"
#include "unit/unit.h"

#include "scrubjay.h"
#include "span/cache.h"

#include <pthread.h>
#include <sys/wait.h>

enum { THREADS = 8, PLACES = 64, SIZES = 12, STEP_BYTES = 48 << 10, ROUND = SJ_UNDER_TSAN ? 300 : 3000 };

struct block {
    struct block *self;
    size_t bytes;
};

static struct model_calls calls;
static struct block *places[PLACES];
static unsigned working;

static void mark(struct block *block, size_t bytes)
{
    *block = (struct block){ block, bytes };
    memcpy((char *)block + bytes - sizeof block, &block, sizeof block);
}

static void check(const struct block *block)
{
    const struct block *end;
    CHECK(block->self == block);
    memcpy(&end, (const char *)block + block->bytes - sizeof end, sizeof end);
    CHECK(end == block);
}

static void end_block(struct block *block)
{
    if (block == NULL)
        return;
    check(block);
    calls.free(block);
}

static size_t pick_bytes(uint64_t *random)
{
    return (1 + unit_random_below(random, SIZES)) * STEP_BYTES - unit_random_below(random, 2) * 4096;
}

static void *work(void *argument)
{
    uint64_t random = (uint64_t)(uintptr_t)argument;
    for (unsigned i = 0; i < ROUND; i++) {
        size_t bytes = pick_bytes(&random);
        struct block *block = calls.malloc(bytes);
        if (!CHECK(block != NULL))
            break;
        mark(block, bytes);
        if (unit_random_below(&random, 16) == 0) {
            bytes = pick_bytes(&random);
            block = calls.realloc(block, bytes);
            if (!CHECK(block != NULL))
                break;
            mark(block, bytes);
        }
        if (unit_random_below(&random, 2) == 0) /* else it dies where it was made */
            block = __atomic_exchange_n(&places[unit_random_below(&random, PLACES)], block, __ATOMIC_ACQ_REL);
        end_block(block);
    }
    (void)__atomic_fetch_sub(&working, 1, __ATOMIC_ACQ_REL);
    return NULL;
}

/* A child finds each part of the cache whole, whoever was at work in it. */
static void live_in_a_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 1; i <= SIZES; i++) {
            struct block *block = calls.malloc(i * STEP_BYTES);
            if (CHECK(block != NULL))
                mark(block, i * STEP_BYTES);
            end_block(block);
        }
        _exit((int)unit_failed());
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}

static void *disturb(void *argument)
{
    static const char *const counts[] = { "1", "16", "256" };
    uint64_t random = (uint64_t)(uintptr_t)argument;
    while (__atomic_load_n(&working, __ATOMIC_ACQUIRE) > 0) {
        switch (unit_random_below(&random, 4)) {
        case 0: sj_purge(true); break;
        case 1: CHECK_EQ(sj_ctl("cache_max_count", counts[unit_random_below(&random, 3)], NULL, 0), 0); break;
        case 2: CHECK_EQ(sj_ctl("release_ms", unit_random_below(&random, 2) == 0 ? "0" : "1000", NULL, 0), 0); break;
        default: live_in_a_child();
        }
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return NULL;
}

static void run_threads(uint64_t *random, unsigned disturbers)
{
    pthread_t threads[THREADS + 1];
    working = THREADS;
    for (unsigned i = 0; i < THREADS + disturbers; i++)
        if (!CHECK(pthread_create(&threads[i], NULL, i < THREADS ? work : disturb,
                                  (void *)(uintptr_t)unit_random(random)) == 0))
            _exit(1);
    for (unsigned i = 0; i < THREADS + disturbers; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < PLACES; i++) {
        end_block(places[i]);
        places[i] = NULL;
    }
}

static void check_books(void)
{
    struct sj_stats stats;
    CHECK_EQ(sj_stats_read(&stats), 0);
    CHECK_EQ(stats.large_live_blocks, 0);
    CHECK_EQ(stats.large_live_bytes, 0);
    CHECK_EQ(stats.freed_bytes,
             stats.scrubbed_at_free + stats.scrubbed_at_reuse + stats.scrubbed_by_kernel + stats.owed_bytes);
}

static void stress_large__holds_when_threads_hand_over_and_all_is_disturbed(void)
{
    uint64_t random = unit_state.seed;
    double end = unit_now_seconds() + unit_budget_seconds(2) / 2;
    do
        run_threads(&random, 1);
    while (!unit_failed() && unit_now_seconds() < end);
    check_books();
}

static void stress_large__keeps_no_more_than_allowed_in_all_parts_together(void)
{
    enum { ALLOWED = 24 };
    uint64_t random = unit_state.seed + 1;
    CHECK_EQ(sj_ctl("cache_max_count", "24", NULL, 0), 0);
    CHECK_EQ(sj_ctl("release_ms", "-1", NULL, 0), 0);
    run_threads(&random, 0);
    struct sj_cache_counts counts;
    sj__cache_read_counts(&counts);
    CHECK(counts.kept_blocks <= ALLOWED); /* run_threads ends with frees of one thread */
    CHECK(counts.hits > 0);
    check_books();
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    calls = calls_under_test();
    RUN(stress_large__holds_when_threads_hand_over_and_all_is_disturbed);
    RUN(stress_large__keeps_no_more_than_allowed_in_all_parts_together);
    return unit_end();
}
