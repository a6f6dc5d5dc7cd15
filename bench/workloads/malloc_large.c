/* SPDX-License-Identifier: MIT */
/*
 * What: replaces random blocks of 5 to 25 MiB, twenty of them alive, each one written whole. malloc-large [BLOCKS].
 *
 * Why this way: from a report to mimalloc: a program that works on large buffers spends its time in page faults or in memset,
 * depending on whether the allocator gives memory back at each free or keeps it.
 *
 * Invariants: a byte in each quarter of a block is read when it dies.
 *
 * Concurrency: one thread.
 */
#include "common.h"

#include <string.h>

enum { HELD = 20, MINIMUM_BYTES = 5 << 20, MAXIMUM_BYTES = 25 << 20 };

struct slot {
    unsigned char *block;
    size_t size_bytes;
};

static uint64_t slot_empty(struct slot *slot)
{
    uint64_t sum = 0;
    if (slot->block != NULL) {
        for (size_t quarter = 0; quarter < 4; quarter++) {
            sum += slot->block[slot->size_bytes / 4 * quarter];
        }
        free(slot->block);
    }
    slot->block = NULL;
    return sum;
}

int main(int count, char **arguments)
{
    size_t blocks = bench_argument(count, arguments, 1, 150);
    struct bench_random random = bench_random_seeded(42);
    struct slot slots[HELD] = { { NULL, 0 } };
    uint64_t sum = 0;
    for (size_t i = 0; i < blocks; i++) {
        struct slot *slot = &slots[bench_random_below(&random, HELD)];
        sum += slot_empty(slot);
        slot->size_bytes = bench_random_size(&random, MINIMUM_BYTES, MAXIMUM_BYTES);
        slot->block = bench_allocate(slot->size_bytes);
        memset(slot->block, (int)i, slot->size_bytes);
    }
    for (size_t i = 0; i < HELD; i++) {
        sum += slot_empty(&slots[i]);
    }
    return bench_finish("malloc-large", bench_mix(sum));
}
