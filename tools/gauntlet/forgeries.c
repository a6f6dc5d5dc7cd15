/* SPDX-License-Identifier: MIT
 *
 * What: attacks on the allocator's own data as if it lay in or beside blocks: forged chunks, poisoned links, rewritten
 * sizes, unlinking.
 *
 * Why this way: the layouts are those that the techniques of the field are written for (a size word before the block, links
 * in its first words, xored with their address since glibc 2.32). An allocator with another layout shows by its new
 * blocks that nothing came of it.
 *
 * Invariants: see attack.h.
 *
 * Concurrency: see attack.h.
 */
#include "gauntlet/attack.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { AREA_BYTES = 4096, ATTEMPTS = 64 };

/* A chunk with a size word, forged on the stack, and the one behind it, so that both sizes look right. */
static enum attack_result forged_chunk(bool misuse, size_t size)
{
    _Alignas(16) size_t area[AREA_BYTES / sizeof(size_t)];
    memset(area, 0, sizeof area);
    const size_t chunk = size + 16;
    area[1] = chunk | 1;
    area[1 + chunk / sizeof(size_t)] = chunk | 1;
    attack_arm();
    if (misuse)
        free(attack_hide(&area[2]));
    attack_past();
    return attack_new_blocks_overlap(size, area, sizeof area) ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* Writes `target` where the link of a free block would lie; then asks for blocks until one is the target's. */
static enum attack_result poisoned(bool misuse, size_t size, bool mangled)
{
    static _Alignas(16) char target[AREA_BYTES];
    uintptr_t *block = attack_hide(attack_new(size));
    char *other = attack_new(size);
    free(other);
    free(block);
    const uintptr_t link = mangled ? (uintptr_t)block >> 12 ^ (uintptr_t)target : (uintptr_t)target;
    attack_arm();
    if (misuse)
        block[0] = link;
    attack_past();
    for (int i = 0; i < ATTEMPTS; i++) {
        char *got = attack_new(size);
        if ((uintptr_t)got - (uintptr_t)target < sizeof target)
            return ATTACK_HARM;
        got[0] = 1;
    }
    return ATTACK_HARMLESS;
}

static enum attack_result poisoned_link(bool misuse, size_t size)
{
    return poisoned(misuse, size, false);
}

static enum attack_result mangled_link(bool misuse, size_t size)
{
    return poisoned(misuse, size, true);
}

/* The word before block b is made the size of two; b is freed and asked for again with that size: does it cover c? */
static enum attack_result rewritten_size(bool misuse, size_t size)
{
    char *a = attack_new(size), *b = attack_new(size), *c = attack_new(size), *d = attack_new(size);
    const size_t both = 2 * (size + 8);
    attack_arm();
    if (misuse)
        *(size_t *)(void *)attack_offset(b, -8) = both | 1;
    attack_past();
    memset(c, 7, size);
    free(b);
    char *wide = attack_new(both - 8);
    memset(wide, 1, both - 8);
    bool harm = false;
    for (size_t i = 0; i < size; i++)
        harm = harm || ((char *)attack_hide(c))[i] != 7;
    (void)a;
    (void)d;
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* A forged free chunk inside a, whose links point round a variable; b's header says that the chunk before it is free.
 * Freeing b joins the two and unlinks the forged one, which writes to the variable. */
static enum attack_result unlinked(bool misuse, size_t size)
{
    static size_t *variable;
    size_t *a = attack_hide(attack_new(size));
    size_t *b = attack_hide(attack_new(size));
    char *barrier = attack_new(16);
    const size_t chunk = size - 8;
    variable = a;
    memset(a, 0, size);
    attack_arm();
    if (misuse) {
        a[1] = chunk;
        a[2] = (size_t)((uintptr_t)&variable - 24);
        a[3] = (size_t)((uintptr_t)&variable - 16);
        a[chunk / 8] = chunk;
        b[-1] &= ~(size_t)1;
    }
    free(b);
    attack_past();
    (void)barrier;
    return attack_hide(variable) != (void *)a ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* The bytes behind the newest block are what the rest of the heap is taken from, in some layouts: made endless. */
static enum attack_result endless_top(bool misuse, size_t size)
{
    char *block = attack_new(size);
    const size_t usable = malloc_usable_size(block);
    attack_arm();
    if (misuse)
        *(size_t *)(void *)attack_offset(block, (ptrdiff_t)usable) = SIZE_MAX;
    attack_past();
    char *huge = malloc(SIZE_MAX / 2 - 4096);
    return huge != NULL || attack_new_blocks_overlap(size, block, size) ? ATTACK_HARM : ATTACK_HARMLESS;
}

const struct attack attack_forgeries[] = {
    { "forgery", "a chunk on the stack, small", "free a forged chunk, ask for one like it", forged_chunk, 48 },
    { "forgery", "a chunk on the stack, middle", "the same with 1040 bytes", forged_chunk, 1040 },
    { "forgery", "a poisoned link", "write an address into a freed block, ask for blocks", poisoned_link, 48 },
    { "forgery", "a poisoned link, mangled", "the same, xored with where it lies", mangled_link, 48 },
    { "forgery", "a poisoned link, middle", "the same in a block of 2000 bytes", mangled_link, 2000 },
    { "forgery", "a rewritten size, small", "make the size before b that of two, free b, ask for two", rewritten_size,
      56 },
    { "forgery", "a rewritten size, middle", "the same with 1512 bytes", rewritten_size, 1512 },
    { "forgery", "unlinking", "have a forged free chunk unlinked", unlinked, 1512 },
    { "forgery", "an endless rest", "overwrite the size behind the newest block", endless_top, 56 },
    { NULL, NULL, NULL, NULL, 0 },
};
