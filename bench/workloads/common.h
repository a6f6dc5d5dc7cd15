/* SPDX-License-Identifier: MIT */
/*
 * What: the few things every workload needs: a seeded random generator, counted arguments, an allocation that
 * cannot fail silently, threads that run one function, and the checksum line.
 *
 * Why this way: a workload must measure the allocator and little else, so the helpers on its hot path are inline and
 * cheap (one multiply for a random number), and none of them allocates on the program's behalf. Sizes come from
 * bench_random, never from rand(), so that every C library gives the same stream.
 *
 * Invariants: a program prints one line, `checksum NAME HEX`, on standard output and nothing else; the line depends on
 * the arguments alone, not on the allocator, the addresses it returns, or the order in which threads ran.
 *
 * Concurrency: a struct bench_random belongs to one thread. Everything else is stateless.
 */
#ifndef SCRUBJAY_BENCH_COMMON_H
#define SCRUBJAY_BENCH_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define BENCH_CACHE_LINE_BYTES 64
#define BENCH_PAGE_BYTES       4096

struct bench_random {
    uint64_t state;
};

/* The finaliser of MurmurHash3: spreads every input bit over the word. */
static inline uint64_t bench_mix(uint64_t value)
{
    value ^= value >> 33;
    value *= UINT64_C(0xff51afd7ed558ccd);
    value ^= value >> 33;
    value *= UINT64_C(0xc4ceb9fe1a85ec53);
    value ^= value >> 33;
    return value;
}

static inline struct bench_random bench_random_seeded(uint64_t seed)
{
    return (struct bench_random){ bench_mix(seed + 1) | 1 };
}

/* A 64-bit congruential step with its weak low bits folded away; good enough to pick sizes and indexes. */
static inline uint32_t bench_random_next(struct bench_random *random)
{
    random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((random->state ^ (random->state >> 22)) >> 29);
}

/* A number in 0 ... limit - 1; `limit` is at least 1. */
static inline uint32_t bench_random_below(struct bench_random *random, uint32_t limit)
{
    return (uint32_t)(((uint64_t)bench_random_next(random) * limit) >> 32);
}

/* A size in minimum_bytes ... maximum_bytes, both included. */
static inline size_t bench_random_size(struct bench_random *random, size_t minimum_bytes, size_t maximum_bytes)
{
    return minimum_bytes + bench_random_below(random, (uint32_t)(maximum_bytes - minimum_bytes + 1));
}

static inline int bench_random_chance(struct bench_random *random, uint32_t percent)
{
    return bench_random_below(random, 100) < percent;
}

_Noreturn void bench_fail(const char *reason);

/* malloc, calloc and realloc that end the program instead of returning NULL. */
static inline void *bench_allocate(size_t size_bytes)
{
    void *block = malloc(size_bytes);
    if (block == NULL) {
        bench_fail("out of memory");
    }
    return block;
}

static inline void *bench_allocate_zeroed(size_t count, size_t size_bytes)
{
    void *block = calloc(count, size_bytes);
    if (block == NULL) {
        bench_fail("out of memory");
    }
    return block;
}

static inline void *bench_reallocate(void *block, size_t size_bytes)
{
    void *moved = realloc(block, size_bytes);
    if (moved == NULL) {
        bench_fail("out of memory");
    }
    return moved;
}

/* The index-th argument as a number of at least 1, or `otherwise` if it is not given; a bad number ends the program. */
size_t bench_argument(int count, char **arguments, int index, size_t otherwise);

/* Runs entry(states + i * stride_bytes) for each i < threads, each in its own thread, and waits for all of them. */
void bench_run_threads(size_t threads, void *(*entry)(void *state), void *states, size_t stride_bytes);

/* Prints the program's one line and flushes it; returns the exit status for main. */
int bench_finish(const char *name, uint64_t checksum);

#endif
