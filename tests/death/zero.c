/* SPDX-License-Identifier: MIT */
/*
 * What: zero-sized blocks: touching one faults, freeing one twice is a double free, and a neighbouring address is
 * refused.
 *
 * Why this way: a zero-sized block is distinct and unusable at every level; a program that reads or writes through
 * it has a bug that would otherwise corrupt a neighbour.
 *
 * Invariants: the twin makes and frees the same blocks without touching them.
 *
 * Concurrency: single thread.
 */
#include "death.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

static void touch(bool misuse, void *block, bool write_it)
{
    volatile char *byte = death_hide(block);
    if (byte == NULL)
        death_cannot("a zero-sized block is NULL");
    if (misuse && write_it)
        *byte = 1;
    else if (misuse)
        (void)*byte;
    death_free(block);
    _exit(0);
}

static void write_malloc(bool misuse, size_t unused)
{
    (void)unused;
    touch(misuse, malloc(0), true);
}
static void read_malloc(bool misuse, size_t unused)
{
    (void)unused;
    touch(misuse, malloc(0), false);
}
static void write_calloc(bool misuse, size_t unused)
{
    (void)unused;
    touch(misuse, calloc(0, 8), true);
}
static void write_calloc_second(bool misuse, size_t unused)
{
    (void)unused;
    touch(misuse, calloc(8, 0), true);
}
static void write_realloc(bool misuse, size_t unused)
{
    (void)unused;
    touch(misuse, realloc(NULL, 0), true);
}
static void write_aligned(bool misuse, size_t alignment)
{
    touch(misuse, aligned_alloc(alignment, 0), true);
}
static void write_memalign(bool misuse, size_t alignment)
{
    touch(misuse, memalign(alignment, 0), true);
}

static void write_posix_memalign(bool misuse, size_t alignment)
{
    void *block = NULL;
    if (posix_memalign(&block, alignment, 0) != 0)
        death_cannot("posix_memalign failed");
    touch(misuse, block, true);
}

static void write_behind(bool misuse, size_t offset)
{
    char *block = death_hide(malloc(0));
    if (misuse)
        *(volatile char *)death_offset(block, (ptrdiff_t)offset) = 1;
    death_free(block);
    _exit(0);
}

/* Among live blocks the thousandth is as unusable as the first. */
static void write_thousandth(bool misuse, size_t unused)
{
    enum { BLOCKS = 1000 };
    static char *blocks[BLOCKS];
    (void)unused;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(0);
    if (misuse)
        *(volatile char *)death_hide(blocks[BLOCKS - 1]) = 1;
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    _exit(0);
}

/* Slots of zero-sized blocks do not become usable by reuse, nor do used ones become zero-sized. */
static void write_after_churn(bool misuse, size_t unused)
{
    (void)unused;
    for (int i = 0; i < 5000; i++) {
        death_free(death_hide(malloc(0)));
        death_free(death_new(1 + (size_t)i % 64));
    }
    write_malloc(misuse, 0);
}

static void twice(bool misuse, size_t unused)
{
    (void)unused;
    void *block = death_hide(malloc(0));
    death_free(block);
    if (misuse)
        death_free(block);
    _exit(0);
}

static void twice_with_neighbours(bool misuse, size_t unused)
{
    (void)unused;
    void *before = death_hide(malloc(0)), *block = death_hide(malloc(0)), *after = death_hide(malloc(0));
    death_free(block);
    death_free(before);
    if (misuse)
        death_free(block);
    death_free(after);
    _exit(0);
}

static void *free_it(void *block)
{
    death_free(block);
    return NULL;
}

static void twice_with_thread(bool misuse, size_t unused)
{
    (void)unused;
    void *block = death_hide(malloc(0));
    pthread_t thread;
    if (pthread_create(&thread, NULL, free_it, block) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
    if (misuse)
        death_free(block);
    _exit(0);
}

static void offset(bool misuse, size_t bytes)
{
    void *block = death_hide(malloc(0));
    death_free(misuse ? death_offset(block, (ptrdiff_t)bytes) : block);
    _exit(0);
}

static void usable_size_of_freed(bool misuse, size_t unused)
{
    (void)unused;
    void *block = death_hide(malloc(0));
    death_free(block);
    if (misuse)
        death_give(DEATH_USABLE_SIZE, block, 0);
    _exit(0);
}

static const size_t alignments[] = { 16, 64, 4096, 65536, SIZE_MAX };
static const size_t offsets[] = { 1, 8, 15, SIZE_MAX };

#define FAULT(name, function)                                             \
    {                                                                     \
        name, DEATH_FAULT, "0,1,2", DEATH_NO_PARAMETER, 0, NULL, function \
    }
#define FAULTS(name, list, function)                              \
    {                                                             \
        name, DEATH_FAULT, "0,1,2", DEATH_SIZE, 0, list, function \
    }

const struct death_family death_zero[] = {
    FAULT("zero_write", write_malloc),
    FAULT("zero_read", read_malloc),
    FAULT("zero_write_calloc", write_calloc),
    FAULT("zero_write_calloc_second", write_calloc_second),
    FAULT("zero_write_realloc", write_realloc),
    FAULT("zero_write_thousandth", write_thousandth),
    FAULT("zero_write_after_churn", write_after_churn),
    FAULTS("zero_write_aligned", alignments, write_aligned),
    FAULTS("zero_write_memalign", alignments, write_memalign),
    FAULTS("zero_write_posix_memalign", alignments, write_posix_memalign),
    FAULTS("zero_write_behind", offsets, write_behind),
    { "zero_double_free", "SJ-004", "0,1,2", DEATH_NO_PARAMETER, 0, NULL, twice },
    { "zero_double_free_with_neighbours", "SJ-004", "0,1,2", DEATH_NO_PARAMETER, 0, NULL, twice_with_neighbours },
    { "zero_double_free_with_thread", "SJ-004", "0,1,2", DEATH_NO_PARAMETER, 0, NULL, twice_with_thread },
    { "zero_interior", "SJ-002", "0,1,2", DEATH_SIZE, 0, offsets, offset },
    { "zero_usable_size_of_freed", "SJ-005", "0,1,2", DEATH_NO_PARAMETER, 0, NULL, usable_size_of_freed },
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
