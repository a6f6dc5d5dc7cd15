/* SPDX-License-Identifier: MIT */
/*
 * What: makes N blocks of one size and frees them all, over and over. glibc-simple [OPERATIONS] [SIZE].
 *
 * Why this way: glibc's own microbenchmark: groups of 25, 100, 400 and 1,600 blocks fall into, fill and overflow the caches
 * that allocators keep a thread; once in the main thread before any other exists, once in another thread, once in
 * the main thread after. Half of a group is freed oldest first, half newest first; every byte is written.
 *
 * Invariants: the sum of one byte a block is known from the arguments.
 *
 * Concurrency: one thread at a time.
 */
#include "common.h"

enum { GROUPS = 4, LARGEST_GROUP = 1600 };

static const size_t group_sizes[GROUPS] = { 25, 100, 400, LARGEST_GROUP };

struct worker {
    size_t operations;
    size_t size_bytes;
    uint64_t sum;
};

static uint64_t group_run(unsigned char **blocks, size_t group, size_t repeats, size_t size_bytes)
{
    uint64_t sum = 0;
    for (size_t repeat = 0; repeat < repeats; repeat++) {
        for (size_t i = 0; i < group; i++) {
            /* By a pointer of its own: through blocks[i] each byte would wait for the store of the pointer, for a time that
             * depends on where the linker has put this loop (a factor of two, under any allocator). */
            unsigned char *block = bench_allocate(size_bytes);
            for (size_t at = 0; at < size_bytes; at++) {
                block[at] = (unsigned char)(at + i);
            }
            blocks[i] = block;
        }
        for (size_t i = 0; i < group / 2; i++) {
            sum += blocks[i][i % size_bytes];
            free(blocks[i]);
        }
        for (size_t i = group; i > group / 2; i--) {
            sum += blocks[i - 1][i % size_bytes];
            free(blocks[i - 1]);
        }
    }
    return sum;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    unsigned char **blocks = bench_allocate(LARGEST_GROUP * sizeof *blocks);
    for (size_t i = 0; i < GROUPS; i++) {
        worker->sum += group_run(blocks, group_sizes[i], worker->operations / group_sizes[i], worker->size_bytes);
    }
    free(blocks);
    return NULL;
}

int main(int count, char **arguments)
{
    struct worker worker = {
        .operations = bench_argument(count, arguments, 1, 2000000),
        .size_bytes = bench_argument(count, arguments, 2, 16),
    };
    work(&worker);
    bench_run_threads(1, work, &worker, sizeof worker);
    work(&worker);
    return bench_finish("glibc-simple", bench_mix(worker.sum));
}
