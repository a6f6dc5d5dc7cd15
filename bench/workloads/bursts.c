/* SPDX-License-Identifier: MIT */
/*
 * What: bursts of work with pauses between them: a server that has something to do now and then. bursts [ROUNDS].
 *
 * Why this way: whether freed memory should be held until the next burst depends on how long that takes; so the pauses are of
 * 5, 50, 200, 600 and 1,500 ms, in a fixed order. A burst makes, writes and frees 48 MiB: blocks of 100 to 800 KB, and small ones.
 *
 * Invariants: a byte of every block is read when it dies. The pauses make no calls.
 *
 * Concurrency: one thread.
 */
#include "common.h"

#include <string.h>
#include <time.h>

enum { LARGE_BLOCKS = 64, SMALL_BLOCKS = 60000, SMALL_BYTES = 256 };

static unsigned char *large[LARGE_BLOCKS];
static unsigned char *small[SMALL_BLOCKS];

static uint64_t burst(struct bench_random *random)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < LARGE_BLOCKS; i++) {
        size_t size_bytes = (bench_random_below(random, 8) + 1) * 100000;
        large[i] = memset(bench_allocate(size_bytes), (int)i, size_bytes);
    }
    for (size_t i = 0; i < SMALL_BLOCKS; i++)
        small[i] = memset(bench_allocate(SMALL_BYTES), (int)i, SMALL_BYTES);
    for (size_t i = 0; i < LARGE_BLOCKS; i++) {
        sum += large[i][99999];
        free(large[i]);
    }
    for (size_t i = 0; i < SMALL_BLOCKS; i++) {
        sum += small[i][SMALL_BYTES - 1];
        free(small[i]);
    }
    return sum;
}

int main(int count, char **arguments)
{
    static const long pauses_ms[] = { 5, 50, 5, 200, 5, 50, 600, 50, 200, 1500 };
    size_t rounds = bench_argument(count, arguments, 1, 10);
    struct bench_random random = bench_random_seeded(7);
    uint64_t sum = 0;
    for (size_t i = 0; i < rounds; i++) {
        long pause_ms = pauses_ms[i % (sizeof pauses_ms / sizeof pauses_ms[0])];
        struct timespec pause = { .tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000 };
        sum += burst(&random);
        nanosleep(&pause, NULL);
    }
    return bench_finish("bursts", bench_mix(sum));
}
