/* SPDX-License-Identifier: MIT */
/*
 * What: each thread replaces random blocks of its own set of 1,024, with sizes of 4 bytes to 32 KiB.
 * glibc-thread [THREADS] [OPERATIONS].
 *
 * Why this way: the second of glibc's microbenchmarks: sizes fall off with their inverse square, so most are under
 * 16 bytes and a few are thousands of times that; every byte is written. The original counts for two seconds; here the
 * operations are fixed and divided between the threads.
 *
 * Invariants: the first and last byte of a block are read when it dies and add up to what was written.
 *
 * Concurrency: threads share nothing.
 */
#include "common.h"

#include <string.h>

enum { HELD = 1024, MINIMUM_BYTES = 4, MAXIMUM_BYTES = 32768 };

struct slot {
    unsigned char *block;
    size_t size_bytes;
};

struct worker {
    size_t seed;
    size_t operations;
    uint64_t sum;
    struct slot slots[HELD];
};

/* Density falls with the square of the size: 1/size is even between its bounds. */
static size_t pick_size(struct bench_random *random)
{
    double share = (double)bench_random_next(random) / 4294967296.0;
    double smallest = 1.0 / MINIMUM_BYTES;
    double largest = 1.0 / MAXIMUM_BYTES;
    return (size_t)(1.0 / (smallest + share * (largest - smallest)));
}

static uint64_t slot_empty(struct slot *slot)
{
    if (slot->block == NULL) {
        return 0;
    }
    uint64_t sum = (uint64_t)slot->block[0] + slot->block[slot->size_bytes - 1];
    free(slot->block);
    return sum;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct bench_random random = bench_random_seeded(worker->seed);
    uint64_t sum = 0;
    for (size_t i = 0; i < worker->operations; i++) {
        struct slot *slot = &worker->slots[bench_random_below(&random, HELD)];
        sum += slot_empty(slot);
        slot->size_bytes = pick_size(&random);
        slot->block = bench_allocate(slot->size_bytes);
        memset(slot->block, (int)i, slot->size_bytes);
    }
    for (size_t i = 0; i < HELD; i++) {
        sum += slot_empty(&worker->slots[i]);
    }
    worker->sum = sum;
    return NULL;
}

int main(int count, char **arguments)
{
    size_t threads = bench_argument(count, arguments, 1, 8);
    size_t operations = bench_argument(count, arguments, 2, 24000000);
    struct worker *workers = bench_allocate_zeroed(threads, sizeof *workers);
    for (size_t i = 0; i < threads; i++) {
        workers[i].seed = 88 + i;
        workers[i].operations = operations / threads;
    }
    bench_run_threads(threads, work, workers, sizeof *workers);
    uint64_t sum = 0;
    for (size_t i = 0; i < threads; i++) {
        sum += workers[i].sum;
    }
    free(workers);
    return bench_finish("glibc-thread", bench_mix(sum));
}
