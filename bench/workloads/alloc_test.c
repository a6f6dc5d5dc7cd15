/* SPDX-License-Identifier: MIT */
/*
 * What: toggles random slots of a half-full table: an empty slot gets a block, a full one loses it.
 * alloc-test [THREADS] [OPERATIONS].
 *
 * Why this way: the pattern of OLogN's allocator tester: slots are picked by a Pareto law (a few are touched all the
 * time, most rarely), sizes halve in likelihood with each doubling up to 1 KiB, and each block is written when it is
 * made and read when it is freed, so that the caches see what a program would show them.
 *
 * Invariants: every byte of a block is the low byte of its size, so what is read at death is known at birth.
 *
 * Concurrency: threads share nothing; the operations and the slots are divided between them.
 */
#include "common.h"

#include <string.h>

enum { SLOTS = 1 << 18, SIZE_BITS = 10, SMALLEST_BITS = 3, LEVELS = 7 };

struct slot {
    unsigned char *block;
    size_t size_bytes;
};

struct worker {
    size_t seed;
    size_t slots;
    size_t operations;
    uint64_t sum;
    char padding[BENCH_CACHE_LINE_BYTES];
};

/* Of the picks, the share in thousandths that falls on each level, and the share of the slots that the level holds:
 * the 80:20 law applied six times. */
static const uint32_t level_picks[LEVELS] = { 262, 655, 901, 983, 998, 999, 1000 };
static const double level_ends[LEVELS] = { 0.000064, 0.0016, 0.01696, 0.09888, 0.34464, 0.737856, 1.0 };

static size_t pick_slot(struct worker *worker, struct bench_random *random)
{
    uint32_t pick = bench_random_below(random, 1000);
    size_t level = 0;
    while (pick >= level_picks[level]) {
        level++;
    }
    size_t start = level == 0 ? 0 : (size_t)(level_ends[level - 1] * (double)worker->slots);
    size_t end = (size_t)(level_ends[level] * (double)worker->slots);
    return end > start ? start + bench_random_below(random, (uint32_t)(end - start)) : start;
}

static size_t pick_size(struct bench_random *random)
{
    uint32_t classes = bench_random_below(random, 1U << (SIZE_BITS - SMALLEST_BITS)) + 1;
    size_t half = (size_t)4 << __builtin_ctz(classes);
    return half + 1 + bench_random_below(random, (uint32_t)half);
}

static void slot_fill(struct slot *slot, struct bench_random *random)
{
    slot->size_bytes = pick_size(random);
    slot->block = bench_allocate(slot->size_bytes);
    memset(slot->block, (int)slot->size_bytes, slot->size_bytes);
}

static uint64_t slot_empty(struct slot *slot)
{
    uint64_t sum = 0;
    uint64_t word = 0;
    size_t at = 0;
    for (; at + sizeof word <= slot->size_bytes; at += sizeof word) {
        memcpy(&word, slot->block + at, sizeof word);
        sum += word;
    }
    for (; at < slot->size_bytes; at++) {
        sum += slot->block[at];
    }
    free(slot->block);
    slot->block = NULL;
    return sum;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct bench_random random = bench_random_seeded(worker->seed);
    struct slot *slots = bench_allocate_zeroed(worker->slots, sizeof *slots);
    uint64_t sum = 0;
    for (size_t i = 0; i < worker->slots; i++) {
        if (bench_random_chance(&random, 50)) {
            slot_fill(&slots[i], &random);
        }
    }
    for (size_t i = 0; i < worker->operations; i++) {
        struct slot *slot = &slots[pick_slot(worker, &random)];
        if (slot->block != NULL) {
            sum += slot_empty(slot);
        } else {
            slot_fill(slot, &random);
        }
    }
    for (size_t i = 0; i < worker->slots; i++) {
        if (slots[i].block != NULL) {
            sum += slot_empty(&slots[i]);
        }
    }
    free(slots);
    worker->sum = sum;
    return NULL;
}

int main(int count, char **arguments)
{
    size_t threads = bench_argument(count, arguments, 1, 1);
    size_t operations = bench_argument(count, arguments, 2, 10000000);
    struct worker *workers = bench_allocate_zeroed(threads, sizeof *workers);
    for (size_t i = 0; i < threads; i++) {
        workers[i].seed = i;
        workers[i].slots = SLOTS / threads;
        workers[i].operations = operations / threads;
    }
    bench_run_threads(threads, work, workers, sizeof *workers);
    uint64_t checksum = 0;
    for (size_t i = 0; i < threads; i++) {
        checksum = bench_mix(checksum ^ workers[i].sum);
    }
    free(workers);
    return bench_finish("alloc-test", checksum);
}
