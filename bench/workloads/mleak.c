/* SPDX-License-Identifier: MIT */
/*
 * What: starts threads that make one block, swap it for an older one, free that and end. mleak [ROUNDS].
 *
 * Why this way: mimalloc's thread-leak test: ten threads a round, thousands in all, each leaving one block alive behind. An
 * allocator that keeps a heap for each dead thread, or drops it, shows here in memory and in the cost of a thread.
 *
 * Invariants: the slot that a thread swaps is picked before it starts, so the random stream is one thread's.
 *
 * Concurrency: the shared slots are atomic pointers, exchanged with acquire-release.
 */
#include "common.h"

#include <stdatomic.h>

enum { THREADS = 10, SLOTS = 1000, BLOCK_WORDS = 16 };

static _Atomic(uint64_t *) slots[SLOTS];

struct worker {
    size_t slot;
    uint64_t tag;
    uint64_t sum;
    char padding[BENCH_CACHE_LINE_BYTES];
};

static uint64_t block_drop(uint64_t *block)
{
    uint64_t tag = 0;
    if (block != NULL) {
        tag = block[0] + block[BLOCK_WORDS - 1];
        free(block);
    }
    return tag;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    uint64_t *block = bench_allocate_zeroed(BLOCK_WORDS, sizeof *block);
    block[0] = worker->tag;
    worker->sum += block_drop(atomic_exchange_explicit(&slots[worker->slot], block, memory_order_acq_rel));
    return NULL;
}

int main(int count, char **arguments)
{
    size_t rounds = bench_argument(count, arguments, 1, 1500);
    struct worker *workers = bench_allocate_zeroed(THREADS, sizeof *workers);
    struct bench_random random = bench_random_seeded(1);
    uint64_t sum = 0;
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < THREADS; i++) {
            workers[i].slot = bench_random_below(&random, SLOTS);
            workers[i].tag = round * THREADS + i;
        }
        bench_run_threads(THREADS, work, workers, sizeof *workers);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        sum += block_drop(atomic_load_explicit(&slots[i], memory_order_relaxed));
    }
    for (size_t i = 0; i < THREADS; i++) {
        sum += workers[i].sum;
    }
    free(workers);
    return bench_finish("mleak", bench_mix(sum));
}
