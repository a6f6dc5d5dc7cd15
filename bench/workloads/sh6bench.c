/* SPDX-License-Identifier: MIT */
/*
 * What: small blocks of many sizes, freed oldest first, newest first, or later. sh6bench [THREADS] [PASSES].
 *
 * Why this way: see sh_pattern.h. Three of four sizes die at once, in either order; the blocks of each fourth size are
 * kept until the pass ends, so that the heap that the next size meets is never in perfect order.
 *
 * Invariants: the ring is empty at the end of a pass; the sum of the tags depends on the passes alone.
 *
 * Concurrency: threads share nothing.
 */
#include "sh_pattern.h"

enum { KEEP_EVERY = 4, BATCH_REPEATS = 5 };

struct worker {
    size_t passes;
    uint64_t sum;
    struct sh_ring ring;
    struct sh_ring kept;
};

static void ring_fill(struct sh_ring *ring, size_t size_bytes)
{
    size_t blocks = sh_blocks_of(size_bytes);
    for (ring->count = 0; ring->count < blocks; ring->count++) {
        ring->blocks[ring->count] = sh_block_make(size_bytes);
    }
}

/* Hands the newer half of the ring over to `kept`, as far as there is room. */
static void ring_keep_half(struct sh_ring *ring, struct sh_ring *kept)
{
    size_t keep = ring->count / 2;
    while (keep > 0 && kept->count < SH_RING_BLOCKS) {
        kept->blocks[kept->count++] = ring->blocks[--ring->count];
        keep--;
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct sh_ring *ring = &worker->ring;
    struct sh_ring *kept = &worker->kept;
    for (size_t pass = 0; pass < worker->passes; pass++) {
        size_t step = 0;
        kept->count = 0;
        for (size_t size_bytes = 1; size_bytes <= SH_LARGEST_BYTES; size_bytes = sh_next_size(size_bytes), step++) {
            for (size_t repeat = 0; repeat < BATCH_REPEATS; repeat++) {
                ring_fill(ring, size_bytes);
                if (step % KEEP_EVERY == KEEP_EVERY - 1) {
                    ring_keep_half(ring, kept);
                }
                size_t middle = ring->count / 2;
                worker->sum += sh_free_oldest_first(ring, 0, middle);
                worker->sum += sh_free_newest_first(ring, middle, ring->count);
            }
        }
        worker->sum += sh_free_oldest_first(kept, 0, kept->count);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    size_t threads = bench_argument(count, arguments, 1, 4);
    size_t passes = bench_argument(count, arguments, 2, 400);
    struct worker *workers = bench_allocate_zeroed(threads, sizeof *workers);
    for (size_t i = 0; i < threads; i++) {
        workers[i].passes = passes;
    }
    bench_run_threads(threads, work, workers, sizeof *workers);
    uint64_t checksum = 0;
    for (size_t i = 0; i < threads; i++) {
        checksum = bench_mix(checksum ^ workers[i].sum);
    }
    free(workers);
    return bench_finish("sh6bench", checksum);
}
