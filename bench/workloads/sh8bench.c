/* SPDX-License-Identifier: MIT */
/*
 * What: sh6bench's sizes, but half of the blocks are freed by another thread. sh8bench [THREADS] [PASSES].
 *
 * Why this way: see sh_pattern.h. The threads stand in a circle: when a thread has filled a ring, it puts it into the mailbox
 * of its neighbour and takes what lies in its own, so that blocks of all sizes die far from home, in bulk.
 *
 * Invariants: each ring is in one mailbox or with one thread. Who frees a block depends on timing, what is freed in
 * total does not, and the tags are added up over all threads.
 *
 * Concurrency: a mailbox is an atomic pointer, exchanged with acquire-release.
 */
#include "sh_pattern.h"

#include <stdatomic.h>

enum { BATCH_REPEATS = 5 };

struct worker {
    _Atomic(struct sh_ring *) mailbox;
    struct worker *neighbour;
    size_t passes;
    uint64_t sum;
    char padding[BENCH_CACHE_LINE_BYTES];
};

static void ring_fill(struct sh_ring *ring, size_t size_bytes)
{
    size_t blocks = sh_blocks_of(size_bytes);
    for (ring->count = 0; ring->count < blocks; ring->count++) {
        ring->blocks[ring->count] = sh_block_make(size_bytes);
    }
}

/* Frees a whole ring, one half in the order of birth and the other in reverse. */
static uint64_t ring_drain(struct sh_ring *ring)
{
    size_t middle = ring->count / 2;
    uint64_t sum = sh_free_newest_first(ring, middle, ring->count) + sh_free_oldest_first(ring, 0, middle);
    ring->count = 0;
    return sum;
}

/* Gives a full ring to the neighbour and comes back with an empty one: the one that lay there, drained here. */
static struct sh_ring *ring_trade(struct worker *worker, struct sh_ring *full)
{
    struct sh_ring *other = atomic_exchange_explicit(&worker->neighbour->mailbox, full, memory_order_acq_rel);
    if (other == NULL) {
        other = atomic_exchange_explicit(&worker->mailbox, NULL, memory_order_acq_rel);
    }
    if (other == NULL) {
        other = bench_allocate(sizeof *other);
        other->count = 0;
    }
    worker->sum += ring_drain(other);
    return other;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct sh_ring *ring = bench_allocate(sizeof *ring);
    for (size_t pass = 0; pass < worker->passes; pass++) {
        for (size_t size_bytes = 1; size_bytes <= SH_LARGEST_BYTES; size_bytes = sh_next_size(size_bytes)) {
            for (size_t repeat = 0; repeat < BATCH_REPEATS; repeat++) {
                ring_fill(ring, size_bytes);
                if (repeat % 2 == 0) {
                    ring = ring_trade(worker, ring);
                } else {
                    worker->sum += ring_drain(ring);
                }
            }
        }
    }
    free(ring);
    return NULL;
}

int main(int count, char **arguments)
{
    size_t threads = bench_argument(count, arguments, 1, 4);
    size_t passes = bench_argument(count, arguments, 2, 400);
    struct worker *workers = bench_allocate_zeroed(threads, sizeof *workers);
    for (size_t i = 0; i < threads; i++) {
        workers[i].neighbour = &workers[(i + 1) % threads];
        workers[i].passes = passes;
    }
    bench_run_threads(threads, work, workers, sizeof *workers);
    uint64_t sum = 0;
    for (size_t i = 0; i < threads; i++) {
        struct sh_ring *left = atomic_load_explicit(&workers[i].mailbox, memory_order_relaxed);
        if (left != NULL) {
            sum += ring_drain(left);
            free(left);
        }
        sum += workers[i].sum;
    }
    free(workers);
    return bench_finish("sh8bench", bench_mix(sum));
}
