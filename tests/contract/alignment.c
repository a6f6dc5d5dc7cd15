/* SPDX-License-Identifier: MIT */
/*
 * What: every alignment to 1 GiB by every entry point, with sizes round it.
 * Why this way: the first and last byte are written, and the block goes through realloc and each kind of free.
 */
#include "unit/unit.h"

#include <malloc.h>

extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

enum { MAX_POWER = 30 };

static size_t some_size(size_t alignment, int which)
{
    switch (which) {
    case 0: return 1;
    case 1: return 24;
    case 2: return alignment <= (size_t)1 << 20 ? alignment : 4096;
    case 3: return alignment <= (size_t)1 << 20 ? alignment + 1 : 4097;
    case 4: return 100000;
    default: return alignment <= (size_t)1 << 16 ? alignment * 3 - 1 : 65535;
    }
}

static void check_block(unsigned char *block, size_t alignment, size_t size)
{
    REQUIRE(block != NULL);
    CHECK_EQ((uintptr_t)block & (alignment - 1), 0);
    size_t usable = malloc_usable_size(block);
    CHECK(usable >= size);
    block[0] = 1;
    block[size - 1] = 2;
    block[usable - 1] = 3;
}

static void alignment_aligned_alloc__holds_when_power_is_up_to_1_gib(void)
{
    for (int power = 0; power <= MAX_POWER; power++)
        for (int which = 0; which < 6; which++) {
            size_t alignment = (size_t)1 << power, size = some_size(alignment, which);
            void *block = aligned_alloc(alignment, size);
            check_block(block, alignment, size);
            if (free_aligned_sized != NULL && which % 2 == 0)
                free_aligned_sized(block, alignment, size);
            else
                free(block);
        }
}

static void alignment_posix_memalign__holds_when_power_is_up_to_1_gib(void)
{
    for (int power = 3; power <= MAX_POWER; power++)
        for (int which = 0; which < 6; which++) {
            size_t alignment = (size_t)1 << power, size = some_size(alignment, which);
            void *block = NULL;
            CHECK_EQ(posix_memalign(&block, alignment, size), 0);
            check_block(block, alignment, size);
            free(block);
        }
}

static void alignment_memalign__holds_when_power_is_up_to_1_gib(void)
{
    for (int power = 0; power <= MAX_POWER; power++)
        for (int which = 0; which < 6; which++) {
            size_t alignment = (size_t)1 << power, size = some_size(alignment, which);
            unsigned char *block = memalign(alignment, size);
            check_block(block, alignment, size);
            unsigned char *moved = realloc(block, size * 2);
            REQUIRE(moved != NULL);
            CHECK_EQ(moved[0], size == 1 ? moved[0] : 1);
            free(moved);
        }
}

static void alignment_valloc__gives_pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t size = 1; size < 200000; size = size * 3 / 2 + 1) {
        unsigned char *block = valloc(size);
        check_block(block, page, size);
        free(block);
        block = pvalloc(size);
        check_block(block, page, (size + page - 1) / page * page);
        free(block);
    }
    void *block = pvalloc(0);
    CHECK(block != NULL && (uintptr_t)block % page == 0);
    free(block);
    block = valloc(0);
    CHECK(block != NULL && (uintptr_t)block % page == 0);
    free(block);
}

static void alignment_malloc__is_that_of_max_align_t(void)
{
    for (size_t size = 0; size < 70000; size += size < 3000 ? 1 : 509) {
        void *block = malloc(size), *cleared = calloc(1, size), *resized = realloc(NULL, size);
        size_t needed = size == 0 || size >= 16 ? 16 : size >= 8 ? 8 : 1;
        CHECK_EQ((uintptr_t)block % needed, 0);
        CHECK_EQ((uintptr_t)cleared % needed, 0);
        CHECK_EQ((uintptr_t)resized % needed, 0);
        free(block);
        free(cleared);
        free(resized);
    }
}

static void alignment_blocks__do_not_overlap_when_many_live(void)
{
    enum { BLOCKS = 600 };
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        size_t alignment = (size_t)1 << i % 17;
        sizes[i] = (size_t)i * 37 % 3000 + 1;
        blocks[i] = memalign(alignment, sizes[i]);
        REQUIRE(blocks[i] != NULL);
        memset(blocks[i], i & 0xff, sizes[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        for (size_t k = 0; k < sizes[i]; k++)
            if (!CHECK_EQ(blocks[i][k], i & 0xff))
                break;
        free(blocks[i]);
    }
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(alignment_aligned_alloc__holds_when_power_is_up_to_1_gib);
    RUN(alignment_posix_memalign__holds_when_power_is_up_to_1_gib);
    RUN(alignment_memalign__holds_when_power_is_up_to_1_gib);
    RUN(alignment_valloc__gives_pages);
    RUN(alignment_malloc__is_that_of_max_align_t);
    RUN(alignment_blocks__do_not_overlap_when_many_live);
    return unit_end();
}
