/* SPDX-License-Identifier: MIT */
/*
 * What: stores behind live blocks, found when the block is freed or resized; SJ-016.
 *
 * Why this way: the store is one byte at the first place that is not the program's, as malloc_usable_size says, or as was
 * asked for; at levels without canaries that place is the slot's slack or the next slot, and nothing is asserted there.
 *
 * Invariants: the sizes leave a byte behind them whatever the option and the alignment. A twin fills its block to the brim.
 *
 * Concurrency: overrun_freed_in_thread starts one thread and joins it.
 */
#include "death.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>

enum { SURE_BYTES = 8 }; /* a canary of a small block has them */

/* Fills the block, and one byte at `offset`. The byte is a terminator: the smallest change there is. */
static void store(bool misuse, char *block, size_t offset, int byte)
{
    memset(block, 'x', malloc_usable_size(block));
    if (misuse)
        ((volatile char *)block)[offset] = (char)byte;
}

static void by_terminator(bool misuse, size_t size)
{
    char *block = death_new(size);
    store(misuse, block, malloc_usable_size(block), 0);
    death_free(block);
}

static void of_last_byte(bool misuse, size_t size)
{
    char *block = death_new(size);
    size_t offset = malloc_usable_size(block) + SURE_BYTES - 1;
    store(misuse, block, offset, block[offset] ^ 1);
    death_free(block);
}

/* One byte past what was asked for: exact. */
static void of_request(bool misuse, size_t size)
{
    char *block = death_new(size);
    store(misuse, block, size, 0);
    death_free(block);
}

static void of_calloc(bool misuse, size_t size)
{
    for (int round = 0; round < 2; round++) { /* the second may get what the first has left */
        char *block = death_hide(calloc(1, size));
        store(misuse, block, malloc_usable_size(block), 0);
        death_free(block);
    }
}

static void of_aligned(bool misuse, size_t size)
{
    for (size_t alignment = 8192; alignment >= 16; alignment /= 2) {
        char *block = death_hide(aligned_alloc(alignment, size));
        store(misuse && alignment == 16, block, malloc_usable_size(block), 0);
        death_free(block);
    }
}

static void found_by_realloc(bool misuse, size_t size)
{
    char *block = death_new(size);
    store(misuse, block, malloc_usable_size(block), 0);
    death_free(realloc(block, size * 2));
}

/* Every size up to 300 bytes more and back: the canary moves with the end. */
static void after_realloc(bool misuse, size_t size)
{
    char *block = death_new(size);
    for (size_t more = 0; more < 300; more++)
        store(false, block = death_hide(realloc(block, size + more)), 0, 0);
    for (size_t more = 300; more-- > 0;)
        store(false, block = death_hide(realloc(block, size + more)), 0, 0);
    store(misuse, block, malloc_usable_size(block), 0);
    death_free(block);
}

static void *free_it(void *block)
{
    death_free(block);
    return NULL;
}

static void freed_in_thread(bool misuse, size_t size)
{
    char *block = death_new(size);
    pthread_t thread;
    store(misuse, block, malloc_usable_size(block), 0);
    if (pthread_create(&thread, NULL, free_it, block) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
}

static void freed_sized(bool misuse, size_t size)
{
    char *block = death_new(size);
    store(misuse, block, malloc_usable_size(block), 0);
    free_sized(block, size);
}

/* Large ones from 32761 on: with 8 bytes more they fit no slot. */
static const size_t sizes[] = { 1,   8,   9,    16,   17,    24,    25,    40,     100,     120,
                                121, 200, 1000, 5000, 20000, 32760, 32761, 100001, SIZE_MAX };
static const size_t small_sizes[] = { 1, 8, 9, 16, 40, 100, 120, 121, 200, 1000, 20000, 32760, SIZE_MAX };

#define BY_SIZE(name, levels, list, function)                 \
    {                                                         \
        name, "SJ-016", levels, DEATH_SIZE, 0, list, function \
    }

const struct death_family death_overrun[] = {
    BY_SIZE("overrun_terminator", "3,4", sizes, by_terminator),
    BY_SIZE("overrun_last_byte", "3,4", small_sizes, of_last_byte),
    BY_SIZE("overrun_request", "4", sizes, of_request),
    BY_SIZE("overrun_calloc", "3,4", sizes, of_calloc),
    BY_SIZE("overrun_aligned", "3,4", sizes, of_aligned),
    BY_SIZE("overrun_found_by_realloc", "3,4", sizes, found_by_realloc),
    BY_SIZE("overrun_after_realloc", "3,4", sizes, after_realloc),
    BY_SIZE("overrun_freed_in_thread", "3,4", sizes, freed_in_thread),
    BY_SIZE("overrun_freed_sized", "3,4", sizes, freed_sized),
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
