/* SPDX-License-Identifier: MIT */
/*
 * What: memory over a long time: producers with one thread that only frees, producers that exit and are replaced, and
 * generations of threads.
 *
 * Why this way: what piles up shows as resident memory against the bytes that are live, and as system calls that go on
 * for ever; both are counted, by the kernel and by the library, never timed. Each test is a process of its own, so
 * that its peak is its own. The seconds it takes are the budget's: two in a hurry, minutes in the long check.
 *
 * Invariants: each block made is freed exactly once.
 *
 * Concurrency: producers push and one consumer pops, under a mutex.
 */
#include "support/calls.h"
#include "support/process.h"
#include "unit/unit.h"

#include "platform/pages.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

enum { PRODUCERS = 3, RING = 1 << 15, LIVE_BYTES = 128 << 20, LIFE_BLOCKS = 20000, THREADS = 16, MIB = 1 << 20 };

static const bool counts_memory = !SJ_UNDER_ASAN && !SJ_UNDER_TSAN;

struct block {
    struct block *self;
    size_t bytes;
};

static struct model_calls calls;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *ring[RING];
static size_t pushed, popped, live_bytes, most_live_bytes;
static unsigned producing;
static double until;

static void in_child(void (*measure)(void))
{
    pid_t child = fork();
    if (child == 0) {
        measure();
        _exit((int)unit_failed());
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}

static bool push(struct block *block)
{
    pthread_mutex_lock(&lock);
    bool fits = live_bytes + block->bytes <= LIVE_BYTES && pushed - popped < RING;
    if (fits) {
        ring[pushed++ % RING] = block;
        live_bytes += block->bytes;
        most_live_bytes = live_bytes > most_live_bytes ? live_bytes : most_live_bytes;
    }
    pthread_mutex_unlock(&lock);
    return fits;
}

/* The oldest, but not before the half is full while anybody produces; NULL at the end. */
static struct block *pop(void)
{
    struct block *block = NULL;
    for (bool waits = true; block == NULL && waits;) {
        pthread_mutex_lock(&lock);
        waits = producing > 0;
        if (pushed > popped && (live_bytes > LIVE_BYTES / 2 || !waits)) {
            block = ring[popped++ % RING];
            live_bytes -= block->bytes;
        }
        pthread_mutex_unlock(&lock);
        if (block == NULL && waits)
            sched_yield();
    }
    return block;
}

static size_t pick_size(uint64_t *random)
{
    uint64_t kind = unit_random_below(random, 100);
    return sizeof(struct block) + unit_random_below(random, kind < 70 ? 1000 : kind < 97 ? 16000 : 200000);
}

static void *produce(void *argument)
{
    uint64_t random = (uint64_t)(uintptr_t)argument;
    for (unsigned i = 0; i < LIFE_BLOCKS; i++) {
        size_t bytes = pick_size(&random);
        struct block *block = calls.malloc(bytes);
        if (!CHECK(block != NULL))
            break;
        memset(block, 0x5a, bytes);
        *block = (struct block){ block, bytes };
        while (!push(block))
            sched_yield();
    }
    return NULL;
}

static void *consume(void *unused)
{
    for (struct block *block; (block = pop()) != NULL;) {
        CHECK(block->self == block);
        calls.free(block);
    }
    return unused;
}

/* One place for a producer, taken by one thread after the other. */
static void *produce_in_turn(void *argument)
{
    uint64_t random = unit_state.seed + (uint64_t)(uintptr_t)argument;
    do {
        pthread_t thread;
        if (!CHECK(pthread_create(&thread, NULL, produce, (void *)(uintptr_t)unit_random(&random)) == 0))
            break;
        pthread_join(thread, NULL);
    } while (!unit_failed() && unit_now_seconds() < until);
    pthread_mutex_lock(&lock);
    producing--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void producers_and_a_consumer(void)
{
    pthread_t places[PRODUCERS], consumer;
    size_t base = (size_t)resident_bytes();
    until = unit_now_seconds() + unit_budget_seconds(2) / 2;
    producing = PRODUCERS;
    for (uintptr_t i = 0; i < PRODUCERS; i++)
        CHECK(pthread_create(&places[i], NULL, produce_in_turn, (void *)i) == 0);
    CHECK(pthread_create(&consumer, NULL, consume, NULL) == 0);
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(places[i], NULL);
    pthread_join(consumer, NULL);
    size_t peak = (size_t)status_bytes("VmHWM:") - base;
    unit_print("# %zu blocks, %zu MiB live at most, %zu MiB resident at most\n", pushed, most_live_bytes / MIB,
               peak / MIB);
    CHECK_EQ(live_bytes, 0);
    CHECK(most_live_bytes > LIVE_BYTES / 2);
    CHECK(!counts_memory || peak <= most_live_bytes * 3 / 2);
}

static void stress_memory__is_bounded_when_one_thread_only_frees(void)
{
    in_child(producers_and_a_consumer);
}

/* --- Generations. --- */

static pthread_barrier_t all_hold;

/* All threads of a generation hold their blocks at one moment, so that each generation needs the same. */
static void *live_and_die(void *argument)
{
    enum { HELD = 64 };
    void *held[HELD] = { NULL };
    uint64_t random = (uint64_t)(uintptr_t)argument;
    for (unsigned i = 0; i < 400; i++) {
        size_t at = unit_random_below(&random, HELD);
        calls.free(held[at]);
        size_t bytes = 1 + unit_random_below(&random, unit_random_below(&random, 50) == 0 ? 100000 : 2000);
        held[at] = calls.malloc(bytes);
        if (CHECK(held[at] != NULL))
            memset(held[at], 1, bytes);
    }
    pthread_barrier_wait(&all_hold);
    for (unsigned i = 0; i < HELD; i++)
        calls.free(held[i]);
    return NULL;
}

static void run_generation(uint64_t *random)
{
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        if (!CHECK(pthread_create(&threads[i], NULL, live_and_die, (void *)(uintptr_t)unit_random(random)) == 0))
            _exit(1);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static uint64_t mapping_calls(void)
{
    struct sj_pages_counters counters;
    sj__pages_read_counters(&counters);
    return counters.maps + counters.unmaps;
}

static void generations(void)
{
    enum { WARM = 100, GENERATIONS = SJ_UNDER_TSAN ? 200 : 1000 };
    uint64_t random = unit_state.seed;
    double end = unit_now_seconds() + unit_budget_seconds(2) / 2;
    unsigned done = 0;
    pthread_barrier_init(&all_hold, NULL, THREADS);
    for (; done < WARM; done++)
        run_generation(&random);
    uint64_t calls_before = mapping_calls();
    size_t before = (size_t)resident_bytes();
    while (done < GENERATIONS || unit_now_seconds() < end) {
        run_generation(&random);
        done++;
    }
    uint64_t made = mapping_calls() - calls_before;
    size_t after = (size_t)resident_bytes();
    unit_print("# generation %u to %u: %llu mappings made or removed; %zu KiB resident, %zu KiB\n", (unsigned)WARM,
               done, (unsigned long long)made, before / 1024, after / 1024);
    CHECK(made <= 100);
    CHECK(!counts_memory || after <= before + before / 4 + MIB);
}

static void stress_memory__is_flat_over_generations_of_threads(void)
{
    in_child(generations);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    calls = calls_under_test();
    RUN(stress_memory__is_bounded_when_one_thread_only_frees);
    RUN(stress_memory__is_flat_over_generations_of_threads);
    return unit_end();
}
