/* SPDX-License-Identifier: MIT
 *
 * What: attacks of several steps, as collections of heap techniques describe them: blocks that are merged with neighbours between
 * two frees, one byte that makes a neighbour look free, links of sorted lists, frees of what is another's by now.
 *
 * Why this way: the steps fit glibc's lists (seven blocks of a size in a thread's cache, merging behind it), which the techniques
 * are written for. As in forgeries.c, an allocator of another layout shows by its new blocks that nothing came of it.
 *
 * Invariants: see attack.h.
 *
 * Concurrency: see attack.h.
 */
#include "gauntlet/attack.h"

#include <stdlib.h>
#include <string.h>

enum { CACHED = 7, FRESH = 16, LATER = 256, MARK = 7, OTHER_MARK = 9 };

static void free_if(bool misuse, void *block)
{
    attack_arm();
    if (misuse)
        free(attack_hide(block));
    attack_past();
}

/* Fills the thread's cache of this size. */
static void fill_cache(size_t size)
{
    char *fill[CACHED];
    for (int i = 0; i < CACHED; i++)
        fill[i] = attack_new(size);
    for (int i = 0; i < CACHED; i++)
        free(fill[i]);
}

/* Takes many blocks and writes to all of them: do the marks of one that lives stay? */
static bool is_written_over(const char *block, size_t marked, size_t size)
{
    for (int i = 0; i < LATER; i++)
        memset(attack_new(size), OTHER_MARK, size);
    const char *now = attack_hide(block);
    for (size_t at = 0; at < marked; at++)
        if (now[at] != MARK)
            return true;
    return false;
}

/* The block has been merged with the one before it, so its marks as a free one are gone; the cache has room again. */
static enum attack_result merged(bool misuse, size_t size)
{
    char *fill[CACHED];
    for (int i = 0; i < CACHED; i++)
        fill[i] = attack_new(size);
    char *before = attack_new(size), *block = attack_new(size), *barrier = attack_new(16);
    for (int i = 0; i < CACHED; i++)
        free(fill[i]);
    free(block);
    free(before);
    char *room = attack_new(size);
    free_if(misuse, block);
    char *wide = attack_new(2 * size);
    memset(wide, MARK, 2 * size);
    (void)barrier;
    (void)room;
    return is_written_over(wide, 2 * size, size) ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* A large request merges what small frees have left, and takes its place; the small one is freed again. */
static enum attack_result consolidated(bool misuse, size_t size)
{
    fill_cache(size);
    char *block = calloc(1, size);
    free(attack_hide(block));
    char *wide = attack_new(16 * size);
    memset(wide, MARK, 16 * size);
    free_if(misuse, block);
    return is_written_over(wide, 16 * size, 16 * size) ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* The address has had time to become another's. */
static enum attack_result stale_free(bool misuse, size_t size)
{
    char *keep = attack_new(size), *stale = attack_new(size), *fresh[FRESH];
    free(stale);
    for (int i = 0; i < FRESH; i++)
        memset(fresh[i] = attack_new(size), MARK, size);
    free_if(misuse, stale);
    bool harm = false;
    for (int i = 0; i < FRESH && !harm; i++)
        harm = is_written_over(fresh[i], size, size);
    (void)keep;
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* A string ends one byte behind its block; the block holds a forged free chunk that ends where the next one begins. Freed, the
 * next one is joined to it, and a block is handed out that covers one that lives. */
static enum attack_result null_byte(bool misuse, size_t size)
{
    const size_t next_size = 1272;
    size_t *block = attack_hide(attack_new(size));
    char *next = attack_new(next_size), *barrier = attack_new(16);
    memset(block, MARK, size);
    attack_arm();
    if (misuse) {
        block[0] = 0;
        block[1] = size - 8;
        block[2] = block[3] = (size_t)(uintptr_t)block;
        block[size / 8 - 1] = size - 8;
        *attack_offset(block, (ptrdiff_t)size) = '\0';
    }
    free(next);
    attack_past();
    const bool harm = is_written_over((char *)block + 64, 256, size + next_size - 32);
    (void)barrier;
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* Two blocks of neighbouring sizes; the link by size of the first, which is free, is bent to a variable, which is written to
 * when the second is sorted in. */
static enum attack_result bent_size_link(bool misuse, size_t size)
{
    static size_t variable[8];
    size_t *first = attack_hide(attack_new(size));
    char *barrier = attack_new(16), *second = attack_new(size - 16), *last = attack_new(16);
    free(first);
    char *sorts = attack_new(size + 64);
    free(second);
    attack_arm();
    if (misuse)
        first[3] = (size_t)((uintptr_t)&variable[4] - 32);
    attack_past();
    char *sorts_again = attack_new(size + 64);
    const volatile size_t *seen = attack_hide(variable);
    bool harm = false;
    for (int i = 0; i < 8; i++)
        harm = harm || seen[i] != 0;
    (void)barrier;
    (void)last;
    (void)sorts;
    (void)sorts_again;
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* A large block's size is made that of two: freed, the neighbour is given back with it. */
static enum attack_result wide_mapping(bool misuse, size_t size)
{
    char *blocks[3];
    for (int i = 0; i < 3; i++)
        memset(blocks[i] = attack_new(size), MARK, size);
    size_t *word = attack_hide(attack_offset(blocks[1], -8));
    attack_arm();
    if (misuse)
        *word += *word & ~(size_t)7;
    free(blocks[1]);
    attack_past();
    const bool harm = is_written_over(blocks[0], size, 2 * size) || is_written_over(blocks[2], size, 2 * size);
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

const struct attack attack_chains[] = {
    { "double free", "merged in between", "free a and its neighbour, take one from the cache, free a", merged, 256 },
    { "double free", "consolidated in between", "free a, have its place used by a large block, free a", consolidated,
      64 },
    { "double free", "after reuse, small", "free 48 bytes, have 16 blocks made, free again", stale_free, 48 },
    { "double free", "after reuse, middle", "free 2000 bytes, have 16 blocks made, free again", stale_free, 2000 },
    { "forgery", "one null byte", "a string ends behind a forged chunk, free the next block", null_byte, 1032 },
    { "forgery", "a bent link by size", "write a link into a freed block of 1064, have another sorted in",
      bent_size_link, 1064 },
    { "forgery", "a rewritten size, large", "double the size before a block of 300,000, free it", wide_mapping,
      300000 },
    { NULL, NULL, NULL, NULL, 0 },
};
