/* SPDX-License-Identifier: MIT */
/*
 * What: free_sized and free_aligned_sized with a size (SJ-006) or an alignment (SJ-007) the block was not made with;
 * freezero and recallocarray with more than the block has.
 *
 * Why this way: the size given must lead to the same class; a size of another class, smaller or larger, is a bug in
 * the program (the wrong type deleted). Level 0 does not check, so the misuse is asserted at levels 1 and 2 only;
 * what would write or read beyond the block is checked at every level.
 *
 * Invariants: the twin gives the exact size of the allocation, so no border of a class may alarm falsely; the case
 * sized_boundaries walks all of them.
 *
 * Concurrency: single thread.
 */
#include "death.h"

#include <malloc.h>

static void need_sized(void)
{
    if (free_sized == NULL || free_aligned_sized == NULL)
        death_cannot("no free_sized");
}

static void with_size(bool misuse, size_t size, size_t wrong)
{
    need_sized();
    void *block = death_new(size);
    free_sized(block, misuse ? wrong : size);
}

static void much_smaller(bool misuse, size_t size)
{
    with_size(misuse, size, size / 2);
}
static void much_larger(bool misuse, size_t size)
{
    with_size(misuse, size, size * 2);
}
static void as_one_byte(bool misuse, size_t size)
{
    with_size(misuse, size, 1);
}
static void as_large(bool misuse, size_t size)
{
    with_size(misuse, size, 1 << 20);
}
static void as_huge(bool misuse, size_t size)
{
    with_size(misuse, size, SIZE_MAX / 2);
}
static void as_maximum(bool misuse, size_t size)
{
    with_size(misuse, size, SIZE_MAX);
}

/* One byte more than the slot holds: the first size of the next class. */
static void next_class(bool misuse, size_t size)
{
    need_sized();
    void *block = death_new(size);
    free_sized(block, misuse ? malloc_usable_size(block) + 1 : size);
}

static void aligned_wrong_size(bool misuse, size_t alignment)
{
    need_sized();
    void *block = aligned_alloc(alignment, alignment * 4);
    free_aligned_sized(block, alignment, misuse ? alignment * 16 : alignment * 4);
}

static void alignment_not_power(bool misuse, size_t alignment)
{
    need_sized();
    void *block = aligned_alloc(alignment, alignment * 4);
    free_aligned_sized(block, misuse ? alignment - 1 : alignment, alignment * 4);
}

static void alignment_zero(bool misuse, size_t alignment)
{
    need_sized();
    void *block = aligned_alloc(alignment, alignment * 4);
    free_aligned_sized(block, misuse ? 0 : alignment, alignment * 4);
}

/* An alignment no address of the block's has: one more than its lowest set bit. */
static void alignment_larger(bool misuse, size_t alignment)
{
    need_sized();
    void *block = aligned_alloc(alignment, alignment * 4);
    uintptr_t address = (uintptr_t)block;
    free_aligned_sized(block, misuse ? (address & -address) * 2 : alignment, alignment * 4);
}

static void huge_alignment(bool misuse, size_t alignment)
{
    need_sized();
    void *block = aligned_alloc(alignment, alignment * 4);
    free_aligned_sized(block, misuse ? (size_t)1 << 62 : alignment, alignment * 4);
}

static void of_interior(bool misuse, size_t size)
{
    need_sized();
    void *block = death_new(size);
    free_sized(misuse ? death_offset(block, 16) : block, size);
}

static void of_freed(bool misuse, size_t size)
{
    need_sized();
    void *block = death_new(size);
    free_sized(block, size);
    if (misuse)
        free_sized(death_hide(block), size);
}

/* One byte less, of the same class: the size itself must be known. */
static void less_by_one(bool misuse, size_t size)
{
    with_size(misuse, size, size - 1);
}

/* Every size to 40,000 by its exact size, then a real mismatch. */
static void boundaries(bool misuse, size_t parameter)
{
    (void)parameter;
    need_sized();
    for (size_t size = 0; size < 40000; size++)
        free_sized(malloc(size), size);
    for (size_t alignment = 1; alignment <= 65536; alignment *= 2)
        for (size_t size = 0; size <= 300000; size += size < 300 ? 1 : 7919)
            free_aligned_sized(aligned_alloc(alignment, size), alignment, size);
    for (size_t size = 1; size <= 2000; size++) {
        void *block = realloc(malloc(2001 - size), size);
        free_sized(block, size);
        free_sized(calloc(1, size), size);
    }
    if (misuse)
        free_sized(malloc(64), 640);
}

extern void freezero(void *, size_t) __attribute__((weak));
extern void *recallocarray(void *, size_t, size_t, size_t) __attribute__((weak));

static void freezero_beyond(bool misuse, size_t size)
{
    if (freezero == NULL)
        death_cannot("no freezero");
    void *block = death_new(size);
    freezero(block, misuse ? malloc_usable_size(block) + 1 : size);
}

static void freezero_of_freed(bool misuse, size_t size)
{
    if (freezero == NULL)
        death_cannot("no freezero");
    void *block = death_new(size);
    freezero(block, size);
    if (misuse)
        freezero(death_hide(block), size);
}

static void recallocarray_beyond(bool misuse, size_t size)
{
    if (recallocarray == NULL)
        death_cannot("no recallocarray");
    void *block = death_new(size);
    free(recallocarray(block, misuse ? malloc_usable_size(block) + 1 : size, size * 2, 1));
}

static const size_t sizes[] = { 64, 112, 128, 256, 1000, 1024, 5000, 16384, 32768, 33792, 1048576, SIZE_MAX };
static const size_t small[] = { 1, 16, 64, 1024, 32768, SIZE_MAX };
static const size_t alignments[] = { 16, 64, 256, 4096, 65536, SIZE_MAX };

#define SIZED(name, list, function)                          \
    {                                                        \
        name, "SJ-006", "1,2", DEATH_SIZE, 0, list, function \
    }
#define ALIGNED(name, expect, function)                          \
    {                                                            \
        name, expect, "1,2", DEATH_SIZE, 0, alignments, function \
    }

const struct death_family death_sized[] = {
    { "sized_less_by_one", "SJ-006", "4", DEATH_SIZE, 0, sizes, less_by_one },
    SIZED("sized_much_smaller", sizes, much_smaller),
    SIZED("sized_much_larger", sizes, much_larger),
    SIZED("sized_as_one_byte", sizes, as_one_byte),
    SIZED("sized_as_large", small, as_large),
    SIZED("sized_as_huge", small, as_huge),
    SIZED("sized_as_maximum", small, as_maximum),
    SIZED("sized_next_class", sizes, next_class),
    { "sized_of_interior", "SJ-002", "0,1,2", DEATH_SIZE, 0, sizes, of_interior },
    { "sized_of_freed", "SJ-004", "0,1,2", DEATH_SIZE, 0, sizes, of_freed },
    { "freezero_beyond", "SJ-006", "0,1,2,3,4", DEATH_SIZE, 0, sizes, freezero_beyond },
    { "freezero_of_freed", "SJ-004", "0,1,2,3,4", DEATH_SIZE, 0, sizes, freezero_of_freed },
    { "recallocarray_beyond", "SJ-006", "0,1,2,3,4", DEATH_SIZE, 0, sizes, recallocarray_beyond },
    { "sized_boundaries", "SJ-006", "1,2", DEATH_NO_PARAMETER, 0, NULL, boundaries },
    ALIGNED("aligned_wrong_size", "SJ-006", aligned_wrong_size),
    ALIGNED("alignment_not_a_power", "SJ-007", alignment_not_power),
    ALIGNED("alignment_zero", "SJ-007", alignment_zero),
    ALIGNED("alignment_larger", "SJ-007", alignment_larger),
    ALIGNED("alignment_huge", "SJ-007", huge_alignment),
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
