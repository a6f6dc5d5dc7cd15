/* SPDX-License-Identifier: MIT */
/*
 * What: blocks given back to another family of functions than the one that made them (SJ-017): malloc's, new's, new[]'s, in
 * the plain, sized, aligned and nothrow forms.
 *
 * Why this way: the operators are C functions under their mangled names, so one program has them all and no compiler takes a pair
 * of them out.
 *
 * Invariants: the twin gives the block back to the family that made it.
 *
 * Concurrency: the cases with threads say so.
 */
#include "death.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern void *_Znwm(size_t);
extern void *_Znam(size_t);
extern void *_ZnwmRKSt9nothrow_t(size_t, const void *);
extern void *_ZnamRKSt9nothrow_t(size_t, const void *);
extern void *_ZnwmSt11align_val_t(size_t, size_t);
extern void *_ZnamSt11align_val_t(size_t, size_t);
extern void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *);
extern void _ZdlPv(void *);
extern void _ZdaPv(void *);
extern void _ZdlPvm(void *, size_t);
extern void _ZdaPvm(void *, size_t);
extern void _ZdlPvRKSt9nothrow_t(void *, const void *);
extern void _ZdlPvSt11align_val_t(void *, size_t);
extern void _ZdaPvSt11align_val_t(void *, size_t);
extern void _ZdlPvmSt11align_val_t(void *, size_t, size_t);
extern void _ZdaPvmSt11align_val_t(void *, size_t, size_t);

enum { ALIGNMENT = 64 };

static const char nothrow;

/* Defines a case: what `made` gives goes to `wrong` instead of `right`; both see `block` and `size`. */
#define PAIR(name, made, wrong, right)         \
    static void name(bool misuse, size_t size) \
    {                                          \
        void *block = death_hide(made);        \
        if (misuse)                            \
            wrong;                             \
        else                                   \
            right;                             \
    }

PAIR(malloc_delete, malloc(size), _ZdlPv(block), free(block))
PAIR(malloc_delete_array, malloc(size), _ZdaPv(block), free(block))
PAIR(malloc_delete_sized, malloc(size), _ZdlPvm(block, size), free(block))
PAIR(malloc_delete_array_sized, malloc(size), _ZdaPvm(block, size), free(block))
PAIR(malloc_delete_nothrow, malloc(size), _ZdlPvRKSt9nothrow_t(block, &nothrow), free(block))
PAIR(calloc_delete, calloc(1, size), _ZdlPv(block), free(block))
PAIR(aligned_alloc_delete, aligned_alloc(ALIGNMENT, size), _ZdlPvSt11align_val_t(block, ALIGNMENT), free(block))
PAIR(realloc_delete, realloc(malloc(1), size), _ZdlPv(block), free(block))
PAIR(new_free, _Znwm(size), free(block), _ZdlPv(block))
PAIR(new_free_sized, _Znwm(size), free_sized(block, size), _ZdlPvm(block, size))
PAIR(new_realloc, _Znwm(size), free(realloc(block, size + 1)), _ZdlPv(block))
PAIR(new_delete_array, _Znwm(size), _ZdaPv(block), _ZdlPv(block))
PAIR(new_delete_array_sized, _Znwm(size), _ZdaPvm(block, size), _ZdlPvm(block, size))
PAIR(new_nothrow_free, _ZnwmRKSt9nothrow_t(size, &nothrow), free(block), _ZdlPvRKSt9nothrow_t(block, &nothrow))
PAIR(new_aligned_free, _ZnwmSt11align_val_t(size, ALIGNMENT), free(block), _ZdlPvSt11align_val_t(block, ALIGNMENT))
PAIR(new_aligned_array, _ZnwmSt11align_val_t(size, ALIGNMENT), _ZdaPvmSt11align_val_t(block, size, ALIGNMENT),
     _ZdlPvmSt11align_val_t(block, size, ALIGNMENT))
PAIR(array_free, _Znam(size), free(block), _ZdaPv(block))
PAIR(array_delete, _Znam(size), _ZdlPv(block), _ZdaPv(block))
PAIR(array_delete_sized, _Znam(size), _ZdlPvm(block, size), _ZdaPvm(block, size))
PAIR(array_nothrow_delete, _ZnamRKSt9nothrow_t(size, &nothrow), _ZdlPv(block), _ZdaPv(block))
PAIR(array_aligned_delete, _ZnamSt11align_val_t(size, ALIGNMENT), _ZdlPvSt11align_val_t(block, ALIGNMENT),
     _ZdaPvSt11align_val_t(block, ALIGNMENT))

static void strdup_delete(bool misuse, size_t unused)
{
    (void)unused;
    void *block = death_hide(strdup("a text"));
    if (misuse)
        _ZdlPv(block);
    else
        free(block);
}

static void *give_new_to_free(void *block)
{
    free(block);
    return NULL;
}

static void *give_new_to_delete(void *block)
{
    _ZdlPv(block);
    return NULL;
}

/* The thread that gives it back is not the one that made it. */
static void in_another_thread(bool misuse, size_t size)
{
    pthread_t thread;
    void *block = _Znwm(size);
    if (pthread_create(&thread, NULL, misuse ? give_new_to_free : give_new_to_delete, block) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
}

/* A slot that one family had serves the others afterwards; then a real mismatch. */
static void boundaries(bool misuse, size_t unused)
{
    (void)unused;
    for (size_t size = 0; size < 40000; size += size < 2100 ? 1 : 97) {
        free(malloc(size));
        _ZdlPv(_Znwm(size));
        _ZdaPv(_Znam(size));
        _ZdlPvm(_Znwm(size), size);
        _ZdaPvm(_Znam(size), size);
        free(realloc(malloc(size / 2 + 1), size + 1));
        _ZdlPvRKSt9nothrow_t(_ZnwmRKSt9nothrow_t(size, &nothrow), &nothrow);
        for (size_t alignment = 1; alignment <= 4096; alignment *= 8) {
            _ZdlPvSt11align_val_t(_ZnwmSt11align_val_t(size, alignment), alignment);
            _ZdlPvmSt11align_val_t(_ZnwmSt11align_val_t(size, alignment), size, alignment);
            _ZdaPvmSt11align_val_t(_ZnamSt11align_val_t(size, alignment), size, alignment);
            _ZdlPvSt11align_val_t(_ZnwmSt11align_val_tRKSt9nothrow_t(size, alignment, &nothrow), alignment);
            free(aligned_alloc(alignment, size));
        }
    }
    void *block = death_hide(_Znwm(48));
    if (misuse)
        free(block);
    else
        _ZdlPv(block);
}

static const size_t sizes[] = { 1, 16, 48, 1000, 32768, 33792, 1048576, SIZE_MAX };
static const size_t from_zero[] = { 0, 16, 1000, 33792, SIZE_MAX };
static const size_t aligned[] = { 64, 1024, 65536, SIZE_MAX };

#define FAMILY(function, list)                                              \
    {                                                                       \
        "family_" #function, "SJ-017", "3,4", DEATH_SIZE, 0, list, function \
    }

const struct death_family death_families[] = {
    FAMILY(malloc_delete, sizes),
    FAMILY(malloc_delete_array, from_zero),
    FAMILY(malloc_delete_sized, sizes),
    FAMILY(malloc_delete_array_sized, from_zero),
    FAMILY(malloc_delete_nothrow, from_zero),
    FAMILY(calloc_delete, from_zero),
    FAMILY(aligned_alloc_delete, aligned),
    FAMILY(realloc_delete, sizes),
    FAMILY(new_free, sizes),
    FAMILY(new_free_sized, from_zero),
    FAMILY(new_realloc, from_zero),
    FAMILY(new_delete_array, sizes),
    FAMILY(new_delete_array_sized, from_zero),
    FAMILY(new_nothrow_free, from_zero),
    FAMILY(new_aligned_free, aligned),
    FAMILY(new_aligned_array, aligned),
    FAMILY(array_free, sizes),
    FAMILY(array_delete, sizes),
    FAMILY(array_delete_sized, from_zero),
    FAMILY(array_nothrow_delete, from_zero),
    FAMILY(array_aligned_delete, aligned),
    FAMILY(in_another_thread, sizes),
    { "family_strdup_delete", "SJ-017", "3,4", DEATH_NO_PARAMETER, 0, NULL, strdup_delete },
    { "family_boundaries", "SJ-017", "3,4", DEATH_NO_PARAMETER, 0, NULL, boundaries },
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
