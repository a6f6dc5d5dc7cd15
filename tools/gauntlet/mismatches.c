/* SPDX-License-Identifier: MIT
 *
 * What: sized deletes with another size, blocks given back to another family, and sizes that overflow.
 *
 * Why this way: the C++ operators are looked up, since the command is no C++ program: in the allocator that was loaded, or in
 * the C++ runtime, which passes them on to free.
 *
 * Invariants: see attack.h.
 *
 * Concurrency: see attack.h.
 */
#include "gauntlet/attack.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *operator_named(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL && dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL) != NULL)
        found = dlsym(RTLD_DEFAULT, name);
    return found;
}

static enum attack_result sized_delete(size_t size, size_t given)
{
    void *(*make)(size_t) = (void *(*)(size_t))(uintptr_t)operator_named("_Znwm");
    void (*delete_sized)(void *, size_t) = (void (*)(void *, size_t))(uintptr_t)operator_named("_ZdlPvm");
    if (make == NULL || delete_sized == NULL)
        return ATTACK_UNABLE;
    char *blocks[64];
    for (int i = 0; i < 64; i++)
        blocks[i] = attack_hide(make(size));
    attack_arm();
    delete_sized(blocks[30], given);
    attack_past();
    bool harm = attack_new_blocks_overlap(given, blocks[31], size) || attack_new_blocks_overlap(size, blocks[31], size);
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

static enum attack_result larger(bool misuse, size_t size)
{
    return sized_delete(size, misuse ? size * 8 : size);
}

static enum attack_result smaller(bool misuse, size_t size)
{
    return sized_delete(size, misuse ? size / 8 : size);
}

/* Made by one family, given back to another. */
static enum attack_result family(const char *make_name, const char *give_name)
{
    void *(*make)(size_t) = (void *(*)(size_t))(uintptr_t)operator_named(make_name);
    void (*give)(void *) = (void (*)(void *))(uintptr_t)operator_named(give_name);
    if (make == NULL || give == NULL)
        return ATTACK_UNABLE;
    char *block = attack_hide(make(48)), *neighbour = attack_hide(make(48));
    attack_arm();
    give(block);
    attack_past();
    return attack_new_blocks_overlap(48, neighbour, 48) ? ATTACK_HARM : ATTACK_HARMLESS;
}

static enum attack_result malloc_delete(bool misuse, size_t unused)
{
    (void)unused;
    return family("malloc", misuse ? "_ZdlPv" : "free");
}

static enum attack_result array_delete(bool misuse, size_t unused)
{
    (void)unused;
    return family("_Znam", misuse ? "_ZdlPv" : "_ZdaPv");
}

static enum attack_result new_free(bool misuse, size_t unused)
{
    (void)unused;
    return family("_Znwm", misuse ? "free" : "_ZdlPv");
}

static enum attack_result malloc_array(bool misuse, size_t unused)
{
    (void)unused;
    return family("malloc", misuse ? "_ZdaPv" : "free");
}

/* count * size wraps round: a block far smaller than its user thinks. */
static enum attack_result wrapped_calloc(bool misuse, size_t count)
{
    attack_arm();
    void *block = calloc(misuse ? count : 4, misuse ? SIZE_MAX / count + 2 : 16);
    attack_past();
    return misuse && block != NULL ? ATTACK_HARM : ATTACK_HARMLESS;
}

static enum attack_result wrapped_reallocarray(bool misuse, size_t count)
{
    attack_arm();
    void *block = reallocarray(NULL, misuse ? count : 4, misuse ? SIZE_MAX / count + 2 : 16);
    attack_past();
    return misuse && block != NULL ? ATTACK_HARM : ATTACK_HARMLESS;
}

static enum attack_result huge(bool misuse, size_t below)
{
    attack_arm();
    void *block = malloc(misuse ? SIZE_MAX - below : 64);
    attack_past();
    return misuse && block != NULL ? ATTACK_HARM : ATTACK_HARMLESS;
}

const struct attack attack_mismatches[] = {
    { "mismatch", "delete, larger", "delete an object of 64 bytes as one of 512", larger, 64 },
    { "mismatch", "delete, smaller", "delete an object of 2048 bytes as one of 256", smaller, 2048 },
    { "mismatch", "malloc and delete", "delete what malloc gave", malloc_delete, 0 },
    { "mismatch", "new[] and delete", "delete what new[] gave", array_delete, 0 },
    { "mismatch", "new and free", "free what new gave", new_free, 0 },
    { "mismatch", "malloc and delete[]", "delete[] what malloc gave", malloc_array, 0 },
    { "size", "calloc that wraps", "calloc of a product beyond the largest size", wrapped_calloc, 256 },
    { "size", "reallocarray that wraps", "reallocarray of such a product", wrapped_reallocarray, 256 },
    { "size", "malloc of nearly all", "malloc of the largest size less 8", huge, 8 },
    { NULL, NULL, NULL, NULL, 0 },
};
