/* SPDX-License-Identifier: MIT */
/*
 * What: the inner loop of cache-scratch and cache-thrash: make a small block, write it many times, free it.
 *
 * Why this way: both of Berger's programs ask one question: do two threads ever write to one cache line because the
 * allocator put their blocks side by side? They differ only in where the first block comes from.
 *
 * Invariants: the writes are volatile, so that the compiler keeps them all.
 *
 * Concurrency: a block belongs to one thread.
 */
#ifndef SCRUBJAY_BENCH_CACHE_SHARING_H
#define SCRUBJAY_BENCH_CACHE_SHARING_H

#include "common.h"

enum { SHARING_BLOCK_BYTES = 8, SHARING_BLOCKS = 1000, SHARING_WRITES = 1200000 };

struct sharing_worker {
    void *first;
    size_t blocks;
    size_t writes;
    uint64_t sum;
    char padding[BENCH_CACHE_LINE_BYTES];
};

static inline uint64_t sharing_loop(size_t blocks, size_t writes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < blocks; i++) {
        volatile unsigned char *block = bench_allocate(SHARING_BLOCK_BYTES);
        size_t j = 0;
        do {
            block[j % SHARING_BLOCK_BYTES] = (unsigned char)j;
        } while (++j < writes);
        sum += block[0];
        free((void *)(uintptr_t)block);
    }
    return sum;
}

/* Divides the writes between the threads, runs them, and prints the result; `first` blocks are given if asked. */
static inline int sharing_main(const char *name, int count, char **arguments, void *(*entry)(void *), int give_first)
{
    size_t threads = bench_argument(count, arguments, 1, 2);
    size_t blocks = bench_argument(count, arguments, 2, SHARING_BLOCKS);
    struct sharing_worker *workers = bench_allocate_zeroed(threads, sizeof *workers);
    for (size_t i = 0; i < threads; i++) {
        workers[i].first = give_first ? bench_allocate(SHARING_BLOCK_BYTES) : NULL;
        workers[i].blocks = blocks;
        workers[i].writes = SHARING_WRITES / threads;
    }
    bench_run_threads(threads, entry, workers, sizeof *workers);
    uint64_t sum = 0;
    for (size_t i = 0; i < threads; i++) {
        sum += workers[i].sum;
    }
    free(workers);
    return bench_finish(name, bench_mix(sum));
}

#endif
