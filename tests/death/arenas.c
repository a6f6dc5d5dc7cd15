/* SPDX-License-Identifier: MIT */
/*
 * What: misuse of arenas: blocks given to the wrong one, blocks used after a reset or a destroy, and arenas that are none;
 * SJ-004, SJ-005, SJ-016, SJ-018, SJ-019, SJ-020.
 *
 * Why this way: the interface is weak, since the cases may also be compiled without the library and have it preloaded.
 *
 * Invariants: a twin does the same with the right arena.
 *
 * Concurrency: none.
 */
#include "death.h"

#include <malloc.h>
#include <string.h>

#pragma weak sj_arena_create
#pragma weak sj_arena_malloc
#pragma weak sj_arena_realloc
#pragma weak sj_arena_free
#pragma weak sj_arena_reset
#pragma weak sj_arena_destroy
#include "../../include/scrubjay.h"

enum { MANY = 300, FEW = 3, SMALL = 32768, LIMIT = 2 << 20 };

static struct sj_arena *make(const char *name, const char *options)
{
    struct sj_arena *arena = sj_arena_create != NULL ? sj_arena_create(name, options) : NULL;
    if (arena == NULL)
        death_cannot("there are no arenas");
    return arena;
}

static char *fill(struct sj_arena *arena, size_t size)
{
    char *block = sj_arena_malloc(arena, "fill", size);
    if (block == NULL)
        death_cannot("no memory in the arena");
    memset(block, 'x', malloc_usable_size(block));
    return block;
}

static void wrong_free(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", NULL), *other = make("other", "level=0");
    char *block = fill(one, size);
    sj_arena_free(misuse ? other : one, block);
}

static void wrong_realloc(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", NULL), *other = make("other", "level=4");
    char *block = fill(one, size);
    sj_arena_free(one, sj_arena_realloc(misuse ? other : one, NULL, block, size + 1000));
}

static void of_malloc(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", NULL);
    sj_arena_free(one, misuse ? death_new(size) : fill(one, size));
}

static void twice(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", NULL);
    char *block = fill(one, size);
    sj_arena_free(one, block);
    if (misuse)
        sj_arena_free(one, block);
}

static void twice_by_both(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", NULL);
    char *block = fill(one, size);
    free(block);
    if (misuse)
        sj_arena_free(one, block);
}

/* The survivor is one of many, so that its slab has been used up. */
static void survivor(bool misuse, size_t size, void (*end)(struct sj_arena *))
{
    struct sj_arena *one = make("one", NULL);
    char *block = fill(one, size);
    for (int i = 0; i < (size < SMALL ? MANY : FEW); i++)
        (void)fill(one, size);
    if (!misuse)
        free(block);
    end(one);
    if (misuse)
        free(block);
}

static void reset_free(bool misuse, size_t size)
{
    survivor(misuse, size, sj_arena_reset);
}

static void destroy_free(bool misuse, size_t size)
{
    survivor(misuse, size, sj_arena_destroy);
}

static void reset_realloc(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", NULL);
    char *block = fill(one, size);
    sj_arena_reset(one);
    if (misuse)
        (void)realloc(block, size * 2);
}

static void gone(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", NULL);
    if (misuse)
        sj_arena_destroy(one);
    (void)fill(one, size);
}

/* Its place is another arena's by now. */
static void gone_and_another(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", NULL);
    if (misuse)
        sj_arena_destroy(one);
    (void)make("two", NULL);
    (void)fill(one, size);
}

static void gone_twice(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", NULL);
    (void)fill(one, size);
    sj_arena_destroy(one);
    if (misuse)
        sj_arena_destroy(one);
}

static void never(bool misuse, size_t size)
{
    static char something[200];
    struct sj_arena *arena = make("one", NULL);
    (void)fill(misuse ? death_hide(something) : arena, size);
}

/* As a program finds it that does not look at what sj_arena_create returns. */
static void null(bool misuse, size_t size)
{
    struct sj_arena *arena = sj_arena_create("bad", misuse ? "no such option" : NULL);
    (void)fill(arena, size);
}

static void exhausted(bool misuse, size_t size)
{
    struct sj_arena *arena = make("small", "limit_bytes=2m,exhausted=report");
    size_t taken = 0;
    for (; misuse ? taken < 2 * (size_t)LIMIT : (taken + size) * 2 < (size_t)LIMIT; taken += size)
        (void)fill(arena, size);
}

static void overrun(bool misuse, size_t size, void (*end)(struct sj_arena *))
{
    struct sj_arena *one = make("one", "level=3"); /* whatever the program's level */
    char *block = fill(one, size);
    if (misuse)
        ((volatile char *)block)[malloc_usable_size(block)] ^= 1;
    end(one);
}

static void overrun_reset(bool misuse, size_t size)
{
    overrun(misuse, size, sj_arena_reset);
}

static void overrun_destroy(bool misuse, size_t size)
{
    overrun(misuse, size, sj_arena_destroy);
}

static void overrun_free(bool misuse, size_t size)
{
    struct sj_arena *one = make("one", "level=3");
    char *block = fill(one, size);
    if (misuse)
        ((volatile char *)block)[malloc_usable_size(block)] ^= 1;
    free(block);
}

static const size_t sizes[] = { 24, 50001, SIZE_MAX };
static const size_t survivor_sizes[] = { 24, 700, 50001, SIZE_MAX };
static const size_t one_size[] = { 700, SIZE_MAX };

#define EVERY_LEVEL "0,1,2,3,4"

const struct death_family death_arenas[] = {
    { "arena_wrong_free", "SJ-018", EVERY_LEVEL, DEATH_SIZE, 0, sizes, wrong_free },
    { "arena_wrong_realloc", "SJ-018", EVERY_LEVEL, DEATH_SIZE, 0, sizes, wrong_realloc },
    { "arena_free_of_malloc", "SJ-018", EVERY_LEVEL, DEATH_SIZE, 0, sizes, of_malloc },
    { "arena_double_free", "SJ-004", EVERY_LEVEL, DEATH_SIZE, 0, sizes, twice },
    { "arena_double_free_by_both", "SJ-004", EVERY_LEVEL, DEATH_SIZE, 0, sizes, twice_by_both },
    { "arena_reset_free", "SJ-004", EVERY_LEVEL, DEATH_SIZE, 0, survivor_sizes, reset_free },
    { "arena_destroy_free", "SJ-004", EVERY_LEVEL, DEATH_SIZE, 0, survivor_sizes, destroy_free },
    { "arena_reset_realloc", "SJ-005", EVERY_LEVEL, DEATH_SIZE, 0, sizes, reset_realloc },
    { "arena_gone", "SJ-019", EVERY_LEVEL, DEATH_SIZE, 0, one_size, gone },
    { "arena_gone_and_another", "SJ-019", EVERY_LEVEL, DEATH_SIZE, 0, one_size, gone_and_another },
    { "arena_gone_twice", "SJ-019", EVERY_LEVEL, DEATH_SIZE, 0, one_size, gone_twice },
    { "arena_never", "SJ-019", EVERY_LEVEL, DEATH_SIZE, 0, one_size, never },
    { "arena_null", "SJ-019", EVERY_LEVEL, DEATH_SIZE, 0, one_size, null },
    { "arena_exhausted", "SJ-020", EVERY_LEVEL, DEATH_SIZE, 0, sizes, exhausted },
    { "arena_overrun_reset", "SJ-016", EVERY_LEVEL, DEATH_SIZE, 0, sizes, overrun_reset },
    { "arena_overrun_destroy", "SJ-016", EVERY_LEVEL, DEATH_SIZE, 0, sizes, overrun_destroy },
    { "arena_overrun_free", "SJ-016", EVERY_LEVEL, DEATH_SIZE, 0, sizes, overrun_free },
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
