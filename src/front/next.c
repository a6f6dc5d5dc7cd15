/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see next.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "front/next.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "front/calls.h"
#include "front/names.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum {
    ARENA_BYTES = 1 << 15, /* a look-up that fails formats a message; nothing larger is known */
    ARENA_STEP_BYTES = 16  /* alignment of all blocks, and room for the size before each */
};

static _Alignas(ARENA_STEP_BYTES) char arena[ARENA_BYTES];
static struct sj_atomic_size arena_used_bytes;

/* ---- The arena -------------------------------------------------------------------------------------------------- */

static bool arena_contains(const void *block)
{
    return (uintptr_t)block - (uintptr_t)arena < ARENA_BYTES;
}

static size_t *size_of_block(void *block)
{
    return (size_t *)(void *)((char *)block - ARENA_STEP_BYTES);
}

/* Fresh, so zero: nothing is handed out twice. */
static void *arena_aligned(size_t alignment, size_t size_bytes)
{
    if (size_bytes < ARENA_BYTES && alignment < ARENA_BYTES) {
        size_t step_bytes = ARENA_STEP_BYTES + sj_round_up(size_bytes, ARENA_STEP_BYTES) + alignment;
        size_t start = sj_fetch_add_relaxed_size(&arena_used_bytes, sj_round_up(step_bytes, ARENA_STEP_BYTES));
        if (start < ARENA_BYTES && ARENA_BYTES - start >= step_bytes) {
            uintptr_t after_size = (uintptr_t)arena + start + ARENA_STEP_BYTES;
            char *block = arena + (sj_round_up(after_size, alignment) - (uintptr_t)arena);
            *size_of_block(block) = size_bytes;
            return block;
        }
    }
    errno = ENOMEM;
    return NULL;
}

static void *arena_malloc(size_t size_bytes)
{
    return arena_aligned(ARENA_STEP_BYTES, size_bytes);
}

static void *arena_calloc(size_t count, size_t size_bytes)
{
    size_t bytes;
    return arena_malloc(__builtin_mul_overflow(count, size_bytes, &bytes) ? SIZE_MAX : bytes);
}

/* ---- Passing on ------------------------------------------------------------------------------------------------- */

static void pass_free(void *block)
{
    if (!arena_contains(block))
        sj__sealed.next.free(block);
}

static void pass_free_sized(void *block, size_t size_bytes)
{
    (void)size_bytes; /* few allocators have the function, and none needs it */
    pass_free(block);
}

static void pass_free_aligned_sized(void *block, size_t alignment, size_t size_bytes)
{
    (void)alignment;
    pass_free_sized(block, size_bytes);
}

static void *pass_realloc(void *block, size_t size_bytes)
{
    if (block == NULL)
        return sj__entry_malloc(size_bytes);
    if (!arena_contains(block))
        return sj__sealed.next.realloc(block, size_bytes);
    size_t old_bytes = *size_of_block(block);
    void *moved = sj__entry_malloc(size_bytes);
    if (moved != NULL)
        memcpy(moved, block, old_bytes < size_bytes ? old_bytes : size_bytes);
    return moved;
}

static size_t pass_usable_size(void *block)
{
    if (arena_contains(block))
        return *size_of_block(block);
    return sj__sealed.next.usable_size != NULL ? sj__sealed.next.usable_size(block) : 0;
}

/* In force while the look-ups run: nothing of the next allocator's is about yet. */
static const struct sj_dispatch bootstrap = {
    .malloc = arena_malloc,
    .free = pass_free,
    .calloc = arena_calloc,
    .free_sized = pass_free_sized,
    .realloc = pass_realloc,
    .aligned = arena_aligned,
    .free_aligned_sized = pass_free_aligned_sized,
    .usable_size = pass_usable_size,
    .new_object = arena_malloc,
    .new_array = arena_malloc,
    .delete_object = pass_free,
    .delete_array = pass_free,
    .delete_object_sized = pass_free_sized,
    .delete_array_sized = pass_free_sized,
};

/* ---- Finding it ------------------------------------------------------------------------------------------------- */

void *sj__next_find(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static bool is_beside(const void *function, const void *other)
{
    Dl_info info, other_info;
    return dladdr(function, &info) != 0 && dladdr(other, &other_info) != 0 && info.dli_fbase == other_info.dli_fbase;
}

/* All our aligned entries lead to one function of the next allocator: of those that come with its malloc, if it does not
 * have all. libc's is one that does not call another by its name: that would come back to us, and so on for ever. */
static const void *find_aligned(const void *next_malloc)
{
    const char *const names[] = { sj__names_aligned, "aligned_alloc", "memalign" };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const void *function = sj__next_find(names[i]);
        if (function != NULL && is_beside(function, next_malloc))
            return function;
    }
    return sj__next_find(sj__names_aligned);
}

static bool find_all(struct sj_dispatch *next)
{
    const void *next_malloc = sj__next_find("malloc");
    next->malloc = (void *(*)(size_t))(uintptr_t)next_malloc;
    next->free = (void (*)(void *))(uintptr_t)sj__next_find("free");
    next->calloc = (void *(*)(size_t, size_t))(uintptr_t)sj__next_find("calloc");
    next->realloc = (void *(*)(void *, size_t))(uintptr_t)sj__next_find("realloc");
    next->aligned = (void *(*)(size_t, size_t))(uintptr_t)find_aligned(next_malloc);
    next->usable_size = (size_t(*)(void *))(uintptr_t)sj__next_find("malloc_usable_size");
    return next->malloc != NULL && next->free != NULL && next->calloc != NULL && next->realloc != NULL &&
           next->aligned != NULL;
}

bool sj__next_start(void)
{
    struct sj_dispatch before = sj__sealed.dispatch;
    struct sj_dispatch *next = &sj__sealed.next;
    sj__sealed.dispatch = bootstrap;
    if (!find_all(next)) {
        (void)dlerror(); /* twice: the message, which is the arena's, is given up */
        (void)dlerror();
        sj__sealed.dispatch = before;
        return false;
    }
    sj__sealed.dispatch.calloc = next->calloc;
    sj__sealed.dispatch.aligned = next->aligned;
    sj__sealed.dispatch.malloc = sj__sealed.dispatch.new_object = sj__sealed.dispatch.new_array = next->malloc;
    return true;
}
