/* SPDX-License-Identifier: MIT */
/*
 * What: threads that replace bursts of blocks of 8 to 16,000 bytes, every second burst made for another thread.
 * rptest [THREADS] [LOOPS].
 *
 * Why this way: the pattern of rpmalloc's benchmark: sizes fall off exponentially, bursts of about 65 frees and
 * 65 allocations walk the table by prime strides, and a whole burst is pushed on another thread's list, who frees it. One
 * byte a page is written, so that a large block costs its faults.
 *
 * Invariants: the first word of a block is its size; sizes born and sizes that died add up to the same.
 *
 * Concurrency: a thread's list of foreign bursts is a lock-free stack that is only pushed to and taken whole. Nobody pushes
 * on a long list while its owner still works, else the heap would be as large as the scheduler is unfair; who waits empties
 * its own list meanwhile, so two threads cannot wait for each other.
 */
#include "common.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum {
    HELD = 1000,
    MINIMUM_BYTES = 8,
    MAXIMUM_BYTES = 16000,
    BURST_MINIMUM = 32,
    BURST_MAXIMUM = 99,
    MAKE_STRIDE = 31,
    FREE_STRIDE = 37,
    FOREIGN_EVERY = 2,
    INBOX_BURSTS = 64,
};

struct burst {
    struct burst *next;
    size_t count;
    uint32_t **blocks;
};

struct worker {
    _Atomic(struct burst *) inbox;
    atomic_size_t inbox_bursts;
    atomic_bool finished;
    struct worker *all;
    size_t index;
    size_t threads;
    size_t loops;
    struct bench_random random;
    uint32_t *held[HELD];
    uint64_t born;
    uint64_t died;
    pthread_barrier_t *all_pushed;
};

/* The product of three even random numbers falls off about as fast as the exponential of the original. */
static size_t pick_size(struct bench_random *random)
{
    double share = 1.0;
    for (int i = 0; i < 3; i++) {
        share *= (double)bench_random_below(random, 65536) / 65536.0;
    }
    return MINIMUM_BYTES + (size_t)(share * (MAXIMUM_BYTES - MINIMUM_BYTES));
}

static uint32_t *block_make(struct worker *worker)
{
    size_t size_bytes = pick_size(&worker->random);
    char *block = bench_allocate(size_bytes);
    memcpy(block, &(uint32_t){ (uint32_t)size_bytes }, sizeof(uint32_t));
    for (size_t offset = BENCH_PAGE_BYTES; offset + BENCH_PAGE_BYTES < size_bytes; offset += BENCH_PAGE_BYTES) {
        block[offset] = 1;
    }
    block[size_bytes - 1] = 1;
    worker->born += size_bytes;
    return (uint32_t *)(void *)block;
}

static void block_drop(struct worker *worker, uint32_t *block)
{
    worker->died += block[0];
    free(block);
}

static void inbox_push(struct worker *worker, struct burst *burst)
{
    atomic_fetch_add_explicit(&worker->inbox_bursts, 1, memory_order_relaxed);
    struct burst *head = atomic_load_explicit(&worker->inbox, memory_order_relaxed);
    do {
        burst->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&worker->inbox, &head, burst, memory_order_release,
                                                    memory_order_relaxed));
}

static void inbox_empty(struct worker *worker)
{
    struct burst *burst = atomic_exchange_explicit(&worker->inbox, NULL, memory_order_acquire);
    while (burst != NULL) {
        struct burst *next = burst->next;
        for (size_t i = 0; i < burst->count; i++) {
            block_drop(worker, burst->blocks[i]);
        }
        free(burst->blocks);
        free(burst);
        atomic_fetch_sub_explicit(&worker->inbox_bursts, 1, memory_order_relaxed);
        burst = next;
    }
}

static bool inbox_is_full(struct worker *worker)
{
    return atomic_load_explicit(&worker->inbox_bursts, memory_order_relaxed) >= INBOX_BURSTS &&
           !atomic_load_explicit(&worker->finished, memory_order_relaxed);
}

/* Fills a burst and gives it to the threads in turn, oneself left out where there is another. */
static void burst_send(struct worker *worker, size_t turn)
{
    size_t to = turn % worker->threads;
    if (to == worker->index) {
        to = (to + 1) % worker->threads;
    }
    struct burst *burst = bench_allocate(sizeof *burst);
    burst->count = bench_random_size(&worker->random, BURST_MINIMUM, BURST_MAXIMUM);
    burst->blocks = bench_allocate(burst->count * sizeof burst->blocks[0]);
    for (size_t i = 0; i < burst->count; i++) {
        burst->blocks[i] = block_make(worker);
    }
    while (inbox_is_full(&worker->all[to])) {
        inbox_empty(worker);
        sched_yield();
    }
    inbox_push(&worker->all[to], burst);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    size_t free_at = 0;
    size_t make_at = 0;
    for (size_t loop = 0; loop < worker->loops; loop++) {
        size_t frees = bench_random_size(&worker->random, BURST_MINIMUM * 8 / 10, BURST_MAXIMUM * 8 / 10);
        size_t makes = bench_random_size(&worker->random, BURST_MINIMUM, BURST_MAXIMUM);
        for (size_t i = 0; i < frees; i++, free_at = (free_at + FREE_STRIDE) % HELD) {
            if (worker->held[free_at] != NULL) {
                block_drop(worker, worker->held[free_at]);
                worker->held[free_at] = NULL;
            }
        }
        inbox_empty(worker);
        for (size_t i = 0; i < makes; i++, make_at = (make_at + MAKE_STRIDE) % HELD) {
            if (worker->held[make_at] != NULL) {
                block_drop(worker, worker->held[make_at]);
            }
            worker->held[make_at] = block_make(worker);
        }
        if (loop % FOREIGN_EVERY == 0) {
            burst_send(worker, loop / FOREIGN_EVERY);
        }
    }
    atomic_store_explicit(&worker->finished, true, memory_order_relaxed);
    pthread_barrier_wait(worker->all_pushed);
    inbox_empty(worker);
    for (size_t i = 0; i < HELD; i++) {
        if (worker->held[i] != NULL) {
            block_drop(worker, worker->held[i]);
        }
    }
    return NULL;
}

int main(int count, char **arguments)
{
    size_t threads = bench_argument(count, arguments, 1, 2);
    size_t loops = bench_argument(count, arguments, 2, 20000);
    struct worker *workers = bench_allocate_zeroed(threads, sizeof *workers);
    pthread_barrier_t all_pushed;
    pthread_barrier_init(&all_pushed, NULL, (unsigned)threads);
    for (size_t i = 0; i < threads; i++) {
        workers[i].all = workers;
        workers[i].index = i;
        workers[i].threads = threads;
        workers[i].loops = loops;
        workers[i].random = bench_random_seeded(i);
        workers[i].all_pushed = &all_pushed;
    }
    bench_run_threads(threads, work, workers, sizeof *workers);
    uint64_t born = 0;
    uint64_t died = 0;
    for (size_t i = 0; i < threads; i++) {
        born += workers[i].born;
        died += workers[i].died;
    }
    pthread_barrier_destroy(&all_pushed);
    free(workers);
    if (born != died) {
        bench_fail("rptest: bytes were lost");
    }
    return bench_finish("rptest", bench_mix(born));
}
