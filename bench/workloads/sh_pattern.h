/* SPDX-License-Identifier: MIT */
/*
 * What: what sh6bench and sh8bench share: the ladder of sizes, and a ring of blocks that is filled and drained.
 *
 * Why this way: both programs come from a vendor's benchmark whose text is not free, so these are written from its
 * published description: many sizes from 1 to 1,000 bytes, the small ones much more often, blocks freed partly in
 * the order of their birth, partly in reverse, with a part kept over the next size.
 *
 * Invariants: the first byte of a block holds its tag and its last byte is written.
 *
 * Concurrency: a ring belongs to one thread at a time.
 */
#ifndef SCRUBJAY_BENCH_SH_PATTERN_H
#define SCRUBJAY_BENCH_SH_PATTERN_H

#include "common.h"

enum { SH_LARGEST_BYTES = 1000, SH_RING_BLOCKS = 2000 };

struct sh_ring {
    unsigned char *blocks[SH_RING_BLOCKS];
    size_t count;
};

/* The next size of the ladder: about one and a half times the last. */
static inline size_t sh_next_size(size_t size_bytes)
{
    return size_bytes * 3 / 2 + 1;
}

/* How many blocks of this size a pass makes: the same number of bytes for each size, within bounds. */
static inline size_t sh_blocks_of(size_t size_bytes)
{
    size_t blocks = 4 * SH_RING_BLOCKS / (size_bytes + 3);
    if (blocks > SH_RING_BLOCKS / 2) {
        return SH_RING_BLOCKS / 2;
    }
    return blocks < 8 ? 8 : blocks;
}

static inline unsigned char *sh_block_make(size_t size_bytes)
{
    unsigned char *block = bench_allocate(size_bytes);
    block[size_bytes - 1] = 0;
    block[0] = (unsigned char)size_bytes;
    return block;
}

static inline uint64_t sh_block_drop(unsigned char *block)
{
    uint64_t tag = block[0];
    free(block);
    return tag;
}

/* Frees blocks first ... last - 1 in the order of their birth, or in reverse. */
static inline uint64_t sh_free_oldest_first(struct sh_ring *ring, size_t first, size_t last)
{
    uint64_t sum = 0;
    for (size_t i = first; i < last; i++) {
        sum += sh_block_drop(ring->blocks[i]);
    }
    return sum;
}

static inline uint64_t sh_free_newest_first(struct sh_ring *ring, size_t first, size_t last)
{
    uint64_t sum = 0;
    for (size_t i = last; i > first; i--) {
        sum += sh_block_drop(ring->blocks[i - 1]);
    }
    return sum;
}

#endif
