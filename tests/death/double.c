/* SPDX-License-Identifier: MIT */
/*
 * What: double frees on one thread, for every size class, alignment and way to get a block; SJ-004.
 *
 * Why this way: a double free must be found at the second free and not later, so the misuse is the last thing the
 * case does that could report, and the case ends by _exit: a check at process exit does not help it.
 *
 * Invariants: the block freed twice has never been handed out again in between (a neighbour of the same class is kept
 * alive, and the work in between uses other classes).
 *
 * Concurrency: single thread; threads.c has the cases with several.
 */
#include "death.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Ends the process with success before any check at exit could find what the second free let pass. */
static void end_twin(void)
{
    _exit(0);
}

static void twice(bool misuse, size_t size)
{
    void *block = death_new(size);
    death_free(block);
    if (misuse)
        death_free(block);
    end_twin();
}

static void with_neighbour(bool misuse, size_t size)
{
    void *neighbour = death_new(size);
    void *block = death_new(size);
    death_free(block);
    if (misuse)
        death_free(block);
    death_free(neighbour);
    end_twin();
}

static void after_another(bool misuse, size_t size)
{
    void *first = death_new(size);
    void *second = death_new(size);
    death_free(first);
    death_free(second);
    if (misuse)
        death_free(first);
    end_twin();
}

static void after_ten_others(bool misuse, size_t size)
{
    enum { OTHERS = 10 };
    void *first = death_new(size);
    void *others[OTHERS];
    for (int i = 0; i < OTHERS; i++)
        others[i] = death_new(size);
    death_free(first);
    for (int i = 0; i < OTHERS; i++)
        death_free(others[i]);
    if (misuse)
        death_free(first);
    end_twin();
}

static void free_again(bool misuse, void *block)
{
    if (block == NULL)
        death_cannot("no memory");
    death_free(block);
    if (misuse)
        death_free(block);
    end_twin();
}

static void after_many_operations(bool misuse, size_t size)
{
    enum { OPERATIONS = 20000, HELD = 64 };
    void *neighbour = death_new(size);
    void *block = death_new(size);
    void *held[HELD] = { NULL };
    death_free(block);
    for (size_t i = 0; i < OPERATIONS; i++) {
        size_t other = 200 + i * 37 % 3000;
        free(held[i % HELD]);
        /* Not of the same class: that one would hand the block out again, as it may. */
        held[i % HELD] = other > size - size / 4 && other <= size + size / 4 ? NULL : malloc(other);
        if (held[i % HELD] == block)
            free_again(misuse, death_new(size)); /* a large block's address serves another size: no case */
    }
    if (misuse)
        death_free(block);
    death_free(neighbour);
    end_twin();
}

/* The whole slab or block has been given back by then. */
static void after_trim(bool misuse, size_t size)
{
    enum { BLOCKS = 64 };
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = death_new(size);
    for (int i = 0; i < BLOCKS; i++)
        death_free(blocks[i]);
    malloc_trim(0);
    if (misuse)
        death_free(blocks[BLOCKS / 2]);
    end_twin();
}

static void aligned(bool misuse, size_t alignment)
{
    char *block = aligned_alloc(alignment, alignment);
    if (block == NULL)
        death_cannot("no memory");
    block[0] = 1;
    death_free(block);
    if (misuse)
        death_free(block);
    end_twin();
}

static void aligned_small(bool misuse, size_t alignment)
{
    void *block = NULL;
    if (posix_memalign(&block, alignment, 24) != 0)
        death_cannot("no memory");
    *(char *)block = 1;
    death_free(block);
    if (misuse)
        death_free(block);
    end_twin();
}

static void of_calloc(bool misuse, size_t size)
{
    free_again(misuse, calloc(1, size));
}
static void of_realloc(bool misuse, size_t size)
{
    free_again(misuse, realloc(NULL, size));
}
static void of_grown(bool misuse, size_t size)
{
    free_again(misuse, realloc(malloc(8), size));
}
static void of_reallocarray(bool misuse, size_t size)
{
    free_again(misuse, reallocarray(NULL, 2, size));
}
static void of_valloc(bool misuse, size_t size)
{
    free_again(misuse, valloc(size));
}
static void of_pvalloc(bool misuse, size_t size)
{
    free_again(misuse, pvalloc(size));
}
static void of_memalign(bool misuse, size_t size)
{
    free_again(misuse, memalign(64, size));
}

static void of_strdup(bool misuse, size_t size)
{
    (void)size;
    free_again(misuse, strdup("a string to be copied"));
}

static void of_asprintf(bool misuse, size_t size)
{
    char *text = NULL;
    if (asprintf(&text, "%zu and more text than fits a small slot", size) < 0)
        death_cannot("no memory");
    free_again(misuse, text);
}

/* The block a realloc moved away from. */
static void of_moved(bool misuse, size_t size)
{
    void *keep = death_new(size);
    void *old = death_new(size);
    void *moved = realloc(old, size * 8 + 4096);
    if (moved == old) {
        /* It grew in place: nothing to test at this size. Make it a plain double free. */
        death_free(moved);
        free_again(misuse, death_new(size));
    }
    if (misuse)
        death_free(old);
    death_free(moved);
    death_free(keep);
    end_twin();
}

static void of_shrunk(bool misuse, size_t size)
{
    void *old = death_new(1 << 20);
    void *moved = realloc(old, size);
    if (misuse && moved == old)
        death_free(moved);
    if (misuse)
        death_free(old);
    death_free(moved);
    end_twin();
}

static void after_realloc_to_zero(bool misuse, size_t size)
{
    void *block = death_new(size);
    void *nothing = realloc(block, 0);
    if (nothing != NULL)
        death_cannot("realloc to zero did not free");
    if (misuse)
        death_free(block);
    end_twin();
}

static void by_call(bool misuse, size_t call)
{
    void *block = death_new(100);
    death_free(block);
    if (misuse)
        death_give((enum death_call)call, block, 100);
    end_twin();
}

static void by_call_twice(bool misuse, size_t call)
{
    void *block = call == DEATH_FREE_ALIGNED_SIZED ? aligned_alloc(16, 100) : death_new(100);
    death_give((enum death_call)call, block, 100);
    if (misuse)
        death_give((enum death_call)call, block, 100);
    end_twin();
}

static void by_call_twice_large(bool misuse, size_t call)
{
    void *block = call == DEATH_FREE_ALIGNED_SIZED ? aligned_alloc(16, 100000) : death_new(100000);
    death_give((enum death_call)call, block, 100000);
    if (misuse)
        death_give((enum death_call)call, block, 100000);
    end_twin();
}

/* One of many live blocks is freed a second time. */
static void among_many(bool misuse, size_t size)
{
    enum { BLOCKS = 5000 };
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = death_new(size);
    for (int i = 0; i < BLOCKS; i += 2)
        death_free(blocks[i]);
    if (misuse)
        death_free(blocks[1234]);
    for (int i = 1; i < BLOCKS; i += 2)
        death_free(blocks[i]);
    end_twin();
}

static const size_t alignments[] = { 64,    128,   256,   512,    1024,   2048,   4096,    8192,
                                     16384, 32768, 65536, 131072, 262144, 524288, 1048576, SIZE_MAX };
static const size_t small_sizes[] = { 16, 48, 256, 1024, 4096, SIZE_MAX };
/* A neighbour keeps the slab of these; the addresses of a large block may serve slots of any class later. */
static const size_t slot_sizes[] = { 16, 48, 1000, 4096, 16384, 32768, SIZE_MAX };
static const size_t large_sizes[] = { 33792, 1048576, 67108864, SIZE_MAX };
static const size_t middle_sizes[] = { 8, 64, 3000, 40000, SIZE_MAX };

#define BY_SIZE(name, list, function)                          \
    {                                                          \
        name, "SJ-004", "0,1,2", DEATH_SIZE, 0, list, function \
    }

const struct death_family death_double[] = {
    BY_SIZE("double_free", death_all_sizes, twice),
    BY_SIZE("double_free_with_neighbour", death_all_sizes, with_neighbour),
    BY_SIZE("double_free_after_another", death_all_sizes, after_another),
    BY_SIZE("double_free_after_ten_others", death_few_sizes, after_ten_others),
    BY_SIZE("double_free_after_many_operations", slot_sizes, after_many_operations),
    { "double_free_large_after_many_operations", "SJ-004|SJ-003|SJ-002", "0,1,2", DEATH_SIZE, 0, large_sizes,
      after_many_operations },
    BY_SIZE("double_free_after_trim", small_sizes, after_trim),
    BY_SIZE("double_free_aligned", alignments, aligned),
    BY_SIZE("double_free_aligned_small", alignments, aligned_small),
    BY_SIZE("double_free_of_calloc", middle_sizes, of_calloc),
    BY_SIZE("double_free_of_realloc", middle_sizes, of_realloc),
    BY_SIZE("double_free_of_grown", middle_sizes, of_grown),
    BY_SIZE("double_free_of_reallocarray", middle_sizes, of_reallocarray),
    BY_SIZE("double_free_of_valloc", middle_sizes, of_valloc),
    BY_SIZE("double_free_of_pvalloc", middle_sizes, of_pvalloc),
    BY_SIZE("double_free_of_memalign", middle_sizes, of_memalign),
    { "double_free_of_strdup", "SJ-004", "0,1,2", DEATH_NO_PARAMETER, 0, NULL, of_strdup },
    { "double_free_of_asprintf", "SJ-004", "0,1,2", DEATH_NO_PARAMETER, 0, NULL, of_asprintf },
    BY_SIZE("double_free_of_moved", death_few_sizes, of_moved),
    BY_SIZE("double_free_of_shrunk", small_sizes, of_shrunk),
    BY_SIZE("double_free_after_realloc_to_zero", death_few_sizes, after_realloc_to_zero),
    BY_SIZE("double_free_among_many", small_sizes, among_many),
    { "double_free_by", "SJ-004", "0,1,2", DEATH_CALL, DEATH_FREES, NULL, by_call },
    { "double_free_twice_by", "SJ-004", "0,1,2", DEATH_CALL, DEATH_FREES, NULL, by_call_twice },
    { "double_free_large_twice_by", "SJ-004", "0,1,2", DEATH_CALL, DEATH_FREES, NULL, by_call_twice_large },
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
