/* SPDX-License-Identifier: MIT
 *
 * What: attacks by free: double frees of every interleaving, and frees of what is no block's start.
 *
 * Why this way: whether a second free did something shows in new blocks of that size: two that overlap, or one that lies
 * where none may.
 *
 * Invariants: see attack.h.
 *
 * Concurrency: see attack.h.
 */
#include "gauntlet/attack.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FILL = 8, BARRIER_SIDES = 2 };

static void free_if(bool misuse, void *block)
{
    attack_arm();
    if (misuse)
        free(attack_hide(block));
    attack_past();
}

static enum attack_result judged(size_t size, const void *start, size_t bytes)
{
    return attack_new_blocks_overlap(size, start, bytes) ? ATTACK_HARM : ATTACK_HARMLESS;
}

static enum attack_result twice(bool misuse, size_t size)
{
    char *neighbour = attack_new(size), *block = attack_new(size);
    free(block);
    free_if(misuse, block);
    return judged(size, neighbour, size);
}

static enum attack_result after_another(bool misuse, size_t size)
{
    char *neighbour = attack_new(size), *block = attack_new(size), *other = attack_new(size);
    free(block);
    free(other);
    free_if(misuse, block);
    return judged(size, neighbour, size);
}

/* More frees than any cache of a thread holds come before. */
static enum attack_result after_many(bool misuse, size_t size)
{
    struct attack_crowd crowd;
    attack_crowd_make(&crowd, ATTACK_CROWD_MAX, size);
    attack_crowd_free(&crowd, 0);
    free(crowd.blocks[0]);
    free_if(misuse, crowd.blocks[ATTACK_CROWD_MAX / 2]);
    return judged(size, NULL, 0);
}

/* The thread's cache is full, so the block lies in the list behind it. */
static enum attack_result behind_cache(bool misuse, size_t size)
{
    char *fill[FILL], *block = attack_new(size), *other = attack_new(size);
    for (int i = 0; i < FILL; i++)
        fill[i] = attack_new(size);
    for (int i = 0; i < FILL; i++)
        free(fill[i]);
    free(block);
    free(other);
    free_if(misuse, block);
    return judged(size, NULL, 0);
}

/* Between the two frees the block's first words are overwritten, so that marks kept there are gone. */
static enum attack_result with_marks_wiped(bool misuse, size_t size)
{
    char *neighbour = attack_new(size), *block = attack_new(size);
    free(block);
    attack_arm();
    if (misuse) {
        memset(attack_hide(block), 0, 16);
        free(attack_hide(block));
    }
    attack_past();
    return judged(size, neighbour, size);
}

static void *free_in_thread(void *block)
{
    free(block);
    return NULL;
}

/* The first free is another thread's; the owner has not been in the allocator since. */
static enum attack_result remote_then_own(bool misuse, size_t size)
{
    char *neighbour = attack_new(size), *block = attack_new(size);
    attack_in_thread(free_in_thread, block);
    free_if(misuse, block);
    return judged(size, neighbour, size);
}

static enum attack_result own_then_remote(bool misuse, size_t size)
{
    char *neighbour = attack_new(size), *block = attack_new(size);
    free(block);
    attack_arm();
    if (misuse)
        attack_in_thread(free_in_thread, attack_hide(block));
    attack_past();
    return judged(size, neighbour, size);
}

static enum attack_result remote_twice(bool misuse, size_t size)
{
    char *neighbour = attack_new(size), *block = attack_new(size);
    attack_in_thread(free_in_thread, block);
    attack_arm();
    if (misuse)
        attack_in_thread(free_in_thread, attack_hide(block));
    attack_past();
    return judged(size, neighbour, size);
}

static enum attack_result of_moved(bool misuse, size_t size)
{
    char *keep = attack_new(size), *block = attack_new(size);
    char *moved = realloc(block, size * 64);
    if (moved == NULL || moved == block)
        return ATTACK_UNABLE;
    free_if(misuse, block);
    return judged(size, keep, size);
}

static pthread_barrier_t barrier;

static void *free_at_barrier(void *block)
{
    (void)pthread_barrier_wait(&barrier);
    free(block);
    return NULL;
}

/* Two threads free one block at the same moment, 200 times over. */
static enum attack_result raced(bool misuse, size_t size)
{
    (void)pthread_barrier_init(&barrier, NULL, BARRIER_SIDES);
    attack_arm();
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        char *block = attack_new(size), *other = misuse ? block : attack_new(size);
        if (pthread_create(&thread, NULL, free_at_barrier, block) != 0)
            return ATTACK_UNABLE;
        (void)free_at_barrier(other);
        (void)pthread_join(thread, NULL);
    }
    attack_past();
    return judged(size, NULL, 0);
}

static void *realloc_at_barrier(void *block)
{
    (void)pthread_barrier_wait(&barrier);
    return realloc(block, 2000);
}

/* One thread frees what another makes larger, 200 times over. */
static enum attack_result raced_realloc(bool misuse, size_t size)
{
    (void)pthread_barrier_init(&barrier, NULL, BARRIER_SIDES);
    attack_arm();
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        char *block = attack_new(size), *other = misuse ? block : attack_new(size);
        if (pthread_create(&thread, NULL, realloc_at_barrier, block) != 0)
            return ATTACK_UNABLE;
        (void)free_at_barrier(other);
        (void)pthread_join(thread, NULL);
    }
    attack_past();
    return judged(size, NULL, 0);
}

/* ---- What is no block's start ----------------------------------------------------------------------------------- */

static enum attack_result interior(bool misuse, size_t parameter)
{
    const size_t size = parameter >> 16, offset = parameter & 0xFFFF;
    char *block = attack_new(size), *neighbour = attack_new(size);
    memset(block, 0, size);
    free_if(misuse, block + offset);
    (void)neighbour;
    bool harm = attack_new_blocks_overlap(size, block, size) || attack_new_blocks_overlap(size / 2, block, size);
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

static enum attack_result of_stack(bool misuse, size_t size)
{
    _Alignas(16) char area[4096];
    memset(area, 0, sizeof area);
    free_if(misuse, area + 64);
    return judged(size, area, sizeof area);
}

static enum attack_result of_global(bool misuse, size_t size)
{
    static _Alignas(16) char area[4096];
    free_if(misuse, area + 64);
    return judged(size, area, sizeof area);
}

static enum attack_result of_mapping(bool misuse, size_t size)
{
    const size_t bytes = 1 << 20;
    char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return ATTACK_UNABLE;
    free_if(misuse, area + 4096);
    return judged(size, area, bytes);
}

static enum attack_result of_number(bool misuse, size_t number)
{
    free_if(misuse, (void *)(uintptr_t)number);
    return judged(48, (void *)(uintptr_t)number, 16);
}

static enum attack_result of_code(bool misuse, size_t size)
{
    char *code = attack_hide((void *)(uintptr_t)free_if);
    free_if(misuse, code);
    return judged(size, code, size);
}

static enum attack_result of_end(bool misuse, size_t size)
{
    char *block = attack_new(size);
    const size_t bytes = malloc_usable_size(block);
    memset(block, 0, bytes);
    free_if(misuse, attack_offset(block, (ptrdiff_t)bytes));
    return judged(size, block, bytes);
}

static enum attack_result realloc_freed(bool misuse, size_t size)
{
    char *neighbour = attack_new(size), *block = attack_new(size), *got = NULL;
    free(block);
    attack_arm();
    if (misuse)
        got = realloc(attack_hide(block), size * 3);
    attack_past();
    if (got != NULL)
        return ATTACK_HARM; /* a new life for what is dead */
    return judged(size, neighbour, size);
}

static enum attack_result realloc_interior(bool misuse, size_t size)
{
    char *block = attack_new(size), *got = NULL;
    memset(block, 0, size);
    attack_arm();
    if (misuse)
        got = realloc(attack_hide(block + 16), size * 3);
    attack_past();
    return got != NULL ? ATTACK_HARM : ATTACK_HARMLESS;
}

#define INTERIOR(size, offset) ((size_t)(size) << 16 | (offset))

const struct attack attack_frees[] = {
    { "double free", "small, at once", "free a, free a", twice, 48 },
    { "double free", "middle, at once", "free a, free a, of 2000 bytes", twice, 2000 },
    { "double free", "large, at once", "free a, free a, of 300,000 bytes", twice, 300000 },
    { "double free", "small, another between", "free a, free b, free a", after_another, 48 },
    { "double free", "middle, another between", "free a, free b, free a, of 2000 bytes", after_another, 2000 },
    { "double free", "large, another between", "free a, free b, free a, of 300,000 bytes", after_another, 300000 },
    { "double free", "after many", "free 512 blocks, then one of them again", after_many, 48 },
    { "double free", "behind the thread's cache", "fill the cache with 8 frees, free a, free b, free a", behind_cache,
      48 },
    { "double free", "marks wiped", "free a, overwrite its first words, free a", with_marks_wiped, 48 },
    { "double free", "another thread, then the owner", "a thread frees a, the owner frees a", remote_then_own, 48 },
    { "double free", "the owner, then another thread", "the owner frees a, a thread frees a", own_then_remote, 48 },
    { "double free", "two other threads", "a thread frees a, another thread frees a", remote_twice, 48 },
    { "double free", "two other threads, large", "the same with 300,000 bytes", remote_twice, 300000 },
    { "double free", "what realloc moved", "realloc moves a, free the old a", of_moved, 48 },
    { "double free", "raced", "two threads free a at the same moment", raced, 48 },
    { "double free", "raced, large", "the same with 300,000 bytes", raced, 300000 },
    { "double free", "raced with realloc", "a thread frees a while another makes it larger", raced_realloc, 48 },
    { "wrong free", "inside a small block", "free a + 16", interior, INTERIOR(64, 16) },
    { "wrong free", "unaligned", "free a + 8", interior, INTERIOR(64, 8) },
    { "wrong free", "inside a middle block", "free a + 1024", interior, INTERIOR(2048, 1024) },
    { "wrong free", "inside a large block", "free a + 4096", interior, INTERIOR(300000, 4096) },
    { "wrong free", "stack", "free the address of a local array", of_stack, 48 },
    { "wrong free", "global", "free the address of a static array", of_global, 48 },
    { "wrong free", "a mapping of the program's", "free an address from mmap", of_mapping, 48 },
    { "wrong free", "a number", "free 0x4141414141414140", of_number, 0x4141414141414140 },
    { "wrong free", "code", "free the address of a function", of_code, 48 },
    { "wrong free", "the end of a block", "free a + its size", of_end, 48 },
    { "wrong free", "near NULL", "free the address 16", of_number, 16 },
    { "wrong realloc", "a freed block", "realloc a freed block", realloc_freed, 48 },
    { "wrong realloc", "inside a block", "realloc a + 16", realloc_interior, 64 },
    { NULL, NULL, NULL, NULL, 0 },
};
