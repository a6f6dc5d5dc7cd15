/* SPDX-License-Identifier: MIT */
/*
 * What: freed pointers given to realloc, reallocarray and malloc_usable_size; SJ-005.
 *
 * Why this way: allocators that check free but not realloc let an attacker take the other door, so each of these
 * calls must refuse a freed pointer of any size exactly as free does.
 *
 * Invariants: the freed block is not handed out again before the misuse.
 *
 * Concurrency: freed_in_thread starts one thread and joins it.
 */
#include "death.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

static void give_freed(bool misuse, enum death_call call, size_t size, size_t new_size)
{
    void *block = death_new(size);
    death_free(block);
    if (misuse)
        death_give(call, block, new_size);
    _exit(0);
}

static void by_call(bool misuse, size_t call)
{
    give_freed(misuse, (enum death_call)call, 100, 100);
}
static void by_call_large(bool misuse, size_t call)
{
    give_freed(misuse, (enum death_call)call, 1 << 20, 1 << 20);
}
static void realloc_same(bool misuse, size_t size)
{
    give_freed(misuse, DEATH_REALLOC, size, size);
}
static void realloc_grow(bool misuse, size_t size)
{
    give_freed(misuse, DEATH_REALLOC, size, size * 3);
}
static void realloc_shrink(bool misuse, size_t size)
{
    give_freed(misuse, DEATH_REALLOC, size, size / 3 + 1);
}
static void realloc_zero(bool misuse, size_t size)
{
    give_freed(misuse, DEATH_REALLOC, size, 0);
}
static void usable(bool misuse, size_t size)
{
    give_freed(misuse, DEATH_USABLE_SIZE, size, size);
}

static void realloc_zero_twice(bool misuse, size_t size)
{
    void *block = death_new(size);
    death_hide(realloc(block, 0));
    if (misuse)
        death_hide(realloc(death_hide(block), 0));
    _exit(0);
}

/* The stale pointer of a realloc that moved. */
static void realloc_of_moved(bool misuse, size_t size)
{
    void *old = death_new(size);
    void *moved = realloc(old, size * 8 + 4096);
    if (moved == old)
        death_free(moved);
    if (misuse)
        death_hide(realloc(death_hide(old), size));
    _exit(0);
}

static void realloc_of_zero_sized(bool misuse, size_t parameter)
{
    (void)parameter;
    void *block = death_hide(malloc(0));
    death_free(block);
    if (misuse)
        death_hide(realloc(death_hide(block), 10));
    _exit(0);
}

/* Impossible sizes must not hide the bad pointer behind ENOMEM. */
static void realloc_too_large(bool misuse, size_t size)
{
    give_freed(misuse, DEATH_REALLOC, size, (size_t)PTRDIFF_MAX + 2);
}

static void *free_it(void *block)
{
    death_free(block);
    return NULL;
}

static void in_thread(bool misuse, size_t call)
{
    void *block = death_new(100);
    pthread_t thread;
    if (pthread_create(&thread, NULL, free_it, block) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
    if (misuse)
        death_give((enum death_call)call, block, 300);
    _exit(0);
}

#define BY_SIZE(name, list, function)                          \
    {                                                          \
        name, "SJ-005", "0,1,2", DEATH_SIZE, 0, list, function \
    }

const struct death_family death_freed[] = {
    { "freed_by", "SJ-005", "0,1,2", DEATH_CALL, DEATH_LOOKS, NULL, by_call },
    { "freed_large_by", "SJ-005", "0,1,2", DEATH_CALL, DEATH_LOOKS, NULL, by_call_large },
    { "freed_in_thread", "SJ-005|SJ-004", "0,1,2", DEATH_CALL, DEATH_LOOKS, NULL, in_thread },
    BY_SIZE("freed_realloc_same", death_all_sizes, realloc_same),
    BY_SIZE("freed_realloc_grow", death_few_sizes, realloc_grow),
    BY_SIZE("freed_realloc_shrink", death_few_sizes, realloc_shrink),
    { "freed_realloc_zero", "SJ-005|SJ-004", "0,1,2", DEATH_SIZE, 0, death_few_sizes, realloc_zero },
    { "freed_realloc_zero_twice", "SJ-005|SJ-004", "0,1,2", DEATH_SIZE, 0, death_few_sizes, realloc_zero_twice },
    BY_SIZE("freed_realloc_of_moved", death_few_sizes, realloc_of_moved),
    BY_SIZE("freed_realloc_too_large", death_few_sizes, realloc_too_large),
    BY_SIZE("freed_malloc_usable_size", death_all_sizes, usable),
    { "freed_realloc_of_zero_sized", "SJ-005", "0,1,2", DEATH_NO_PARAMETER, 0, NULL, realloc_of_zero_sized },
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
