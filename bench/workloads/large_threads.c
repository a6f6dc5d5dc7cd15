/* SPDX-License-Identifier: MIT */
/*
 * What: each thread makes and frees blocks of 40 to 400 KB, up to four alive at a time. large-threads [THREADS] [BLOCKS].
 *
 * Why this way: buffers that come and go in every thread of a server. The blocks are hardly touched, so what is measured is the
 * allocator: whether threads wait for each other, and whether guards and pages are made anew each time. The sizes are eight,
 * as buffers' sizes are few.
 *
 * Invariants: the first and last byte of a block are read when it dies and add up to what was written.
 *
 * Concurrency: threads share nothing.
 */
#include "common.h"

enum { HELD = 4, SIZES = 8, STEP_BYTES = 50000 };

struct slot {
    unsigned char *block;
    size_t size_bytes;
};

struct worker {
    size_t seed;
    size_t blocks;
    uint64_t sum;
};

static uint64_t slot_empty(struct slot *slot)
{
    if (slot->block == NULL) {
        return 0;
    }
    uint64_t sum = (uint64_t)slot->block[0] + slot->block[slot->size_bytes - 1];
    free(slot->block);
    slot->block = NULL;
    return sum;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct bench_random random = bench_random_seeded(worker->seed);
    struct slot slots[HELD] = { { NULL, 0 } };
    uint64_t sum = 0;
    for (size_t i = 0; i < worker->blocks; i++) {
        struct slot *slot = &slots[bench_random_below(&random, HELD)];
        sum += slot_empty(slot);
        slot->size_bytes = (bench_random_below(&random, SIZES) + 1) * STEP_BYTES - 10000;
        slot->block = bench_allocate(slot->size_bytes);
        slot->block[0] = (unsigned char)i;
        slot->block[slot->size_bytes - 1] = (unsigned char)(i >> 8);
    }
    for (size_t i = 0; i < HELD; i++) {
        sum += slot_empty(&slots[i]);
    }
    worker->sum = sum;
    return NULL;
}

int main(int count, char **arguments)
{
    size_t threads = bench_argument(count, arguments, 1, 2);
    size_t blocks = bench_argument(count, arguments, 2, 600000);
    struct worker *workers = bench_allocate_zeroed(threads, sizeof *workers);
    for (size_t i = 0; i < threads; i++) {
        workers[i].seed = 17 + i;
        workers[i].blocks = blocks / threads;
    }
    bench_run_threads(threads, work, workers, sizeof *workers);
    uint64_t sum = 0;
    for (size_t i = 0; i < threads; i++) {
        sum += workers[i].sum;
    }
    free(workers);
    return bench_finish("large-threads", bench_mix(sum));
}
