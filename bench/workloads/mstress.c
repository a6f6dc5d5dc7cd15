/* SPDX-License-Identifier: MIT */
/*
 * What: threads that allocate, keep, exchange and free blocks of mixed sizes. mstress [THREADS] [ROUNDS] [LOAD].
 *
 * Why this way: the pattern of mimalloc's stress test: most blocks are small, 1 % are a hundred times larger, a few are
 * megabytes; a quarter of the steps swap a block with a table shared by all threads, so blocks die in other threads; each
 * round starts new threads, and half of the table lives on to the next. Every word is written at birth and
 * checked at death, which is what makes this workload move so many bytes.
 *
 * Invariants: words born equal words that died, and the tags of both add up to the same sum, whatever thread freed what.
 * The random stream of a thread does not depend on what the exchange gave it.
 *
 * Concurrency: the table is a row of atomic pointers, exchanged with acquire-release.
 */
#include "common.h"

#include <stdatomic.h>

enum { TABLE_SLOTS = 1000, OWN_SHIFTS = 5, KEPT_SHIFTS = 7, ROOM_STEP = 100000, BUSIEST = 8 };

static const uint64_t cookie = UINT64_C(0xbf58476d1ce4e5b9);

static _Atomic(uint64_t *) table[TABLE_SLOTS];

struct worker {
    struct bench_random random;
    size_t load;
    uint64_t born;
    uint64_t died;
    char padding[BENCH_CACHE_LINE_BYTES];
};

/* The blocks that a worker holds and will free: the list grows in large steps, as in the original. */
struct held {
    uint64_t **blocks;
    size_t count;
    size_t room;
};

static uint64_t *block_make(struct worker *worker, size_t words)
{
    if (bench_random_chance(&worker->random, 1)) {
        if (bench_random_chance(&worker->random, 1)) {
            words *= 10000;
        } else {
            words *= bench_random_chance(&worker->random, 10) ? 1000 : 100;
        }
    }
    uint64_t *block = bench_allocate(words * sizeof *block);
    for (size_t i = 0; i < words; i++) {
        block[i] = (words - i) ^ cookie;
    }
    worker->born += words;
    return block;
}

static void block_drop(uint64_t *block, uint64_t *died)
{
    if (block == NULL) {
        return;
    }
    uint64_t words = block[0] ^ cookie;
    for (size_t i = 0; i < words; i++) {
        if ((block[i] ^ cookie) != words - i) {
            bench_fail("mstress: a block was overwritten");
        }
    }
    *died += words;
    free(block);
}

static void held_add(struct held *held, uint64_t *block)
{
    if (held->count == held->room) {
        held->room += ROOM_STEP;
        held->blocks = bench_reallocate(held->blocks, held->room * sizeof held->blocks[0]);
    }
    held->blocks[held->count++] = block;
}

static void held_step(struct worker *worker, struct held *held)
{
    struct bench_random *random = &worker->random;
    if (held->count == 0) {
        return;
    }
    if (bench_random_chance(random, 66)) {
        uint64_t **victim = &held->blocks[bench_random_below(random, (uint32_t)held->count)];
        block_drop(*victim, &worker->died);
        *victim = NULL;
    }
    if (bench_random_chance(random, 25)) {
        uint64_t **mine = &held->blocks[bench_random_below(random, (uint32_t)held->count)];
        size_t theirs = bench_random_below(random, TABLE_SLOTS);
        *mine = atomic_exchange_explicit(&table[theirs], *mine, memory_order_acq_rel);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct bench_random *random = &worker->random;
    size_t to_make = worker->load;
    size_t to_keep = worker->load / 2;
    struct held own = { NULL, 0, 0 };
    struct held kept = { bench_allocate(to_keep * sizeof(uint64_t *)), 0, to_keep };
    while (to_make > 0 || to_keep > 0) {
        if (to_keep == 0 || (to_make > 0 && bench_random_chance(random, 50))) {
            to_make--;
            held_add(&own, block_make(worker, (size_t)1 << bench_random_below(random, OWN_SHIFTS)));
        } else {
            to_keep--;
            held_add(&kept, block_make(worker, (size_t)1 << bench_random_below(random, KEPT_SHIFTS)));
        }
        held_step(worker, &own);
    }
    for (size_t i = 0; i < kept.count; i++) {
        block_drop(kept.blocks[i], &worker->died);
    }
    for (size_t i = 0; i < own.count; i++) {
        block_drop(own.blocks[i], &worker->died);
    }
    free(kept.blocks);
    free(own.blocks);
    return NULL;
}

/* Empties the table, all of it or a random half. */
static void table_clear(struct bench_random *random, uint32_t percent, uint64_t *died)
{
    for (size_t i = 0; i < TABLE_SLOTS; i++) {
        if (bench_random_chance(random, percent)) {
            block_drop(atomic_exchange_explicit(&table[i], NULL, memory_order_acq_rel), died);
        }
    }
}

int main(int count, char **arguments)
{
    size_t threads = bench_argument(count, arguments, 1, 2);
    size_t rounds = bench_argument(count, arguments, 2, 100);
    size_t load = bench_argument(count, arguments, 3, 50);
    struct worker *workers = bench_allocate_zeroed(threads, sizeof *workers);
    struct bench_random random = bench_random_seeded(43);
    uint64_t died = 0;
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < threads; i++) {
            workers[i].random = bench_random_seeded(round * threads + i);
            workers[i].load = 100 * load * (i % BUSIEST + 1);
        }
        bench_run_threads(threads, work, workers, sizeof *workers);
        table_clear(&random, round + 1 == rounds ? 100 : 50, &died);
    }
    uint64_t born = 0;
    for (size_t i = 0; i < threads; i++) {
        born += workers[i].born;
        died += workers[i].died;
    }
    free(workers);
    if (born != died) {
        bench_fail("mstress: words were lost");
    }
    return bench_finish("mstress", bench_mix(born));
}
