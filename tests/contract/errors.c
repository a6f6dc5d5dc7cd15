/* SPDX-License-Identifier: MIT */
/*
 * What: the failures: what each entry point answers when it can't give memory or its arguments make no sense.
 * Why this way: the words of POSIX and of the glibc manual, one test a sentence.
 */
#include "unit/unit.h"

#include <limits.h>
#include <malloc.h>

static void *volatile sink;
static volatile size_t too_much = (size_t)PTRDIFF_MAX + 1;

#define FAILS_WITH(call, error) \
    do {                        \
        errno = 0;              \
        sink = (call);          \
        CHECK(sink == NULL);    \
        CHECK_EQ(errno, error); \
    } while (0)

static void errors_malloc__says_enomem_when_size_is_impossible(void)
{
    FAILS_WITH(malloc(too_much), ENOMEM);
    FAILS_WITH(malloc(too_much - 1), ENOMEM);
    FAILS_WITH(malloc(SIZE_MAX), ENOMEM);
    for (size_t below = 0; below < 70000; below += 97)
        FAILS_WITH(malloc(SIZE_MAX - below), ENOMEM);
    FAILS_WITH(malloc((size_t)1 << 62), ENOMEM);
    FAILS_WITH(malloc((size_t)1 << 50), ENOMEM);
}

static void errors_calloc__says_enomem_when_product_overflows(void)
{
    FAILS_WITH(calloc(too_much, 1), ENOMEM);
    FAILS_WITH(calloc(1, too_much), ENOMEM);
    FAILS_WITH(calloc(too_much, 2), ENOMEM);
    FAILS_WITH(calloc(SIZE_MAX, SIZE_MAX), ENOMEM);
    FAILS_WITH(calloc((size_t)1 << 32, (size_t)1 << 32), ENOMEM);
    FAILS_WITH(calloc(SIZE_MAX / 16 + 1, 16), ENOMEM);
    FAILS_WITH(calloc(16, SIZE_MAX / 16 + 2), ENOMEM);
}

static void errors_reallocarray__says_enomem_when_product_overflows(void)
{
    unsigned char *block = malloc(100);
    REQUIRE(block != NULL);
    memset(block, 0x5a, 100);
    FAILS_WITH(reallocarray(block, (size_t)1 << 32, (size_t)1 << 32), ENOMEM);
    FAILS_WITH(reallocarray(block, SIZE_MAX / 16 + 1, 16), ENOMEM);
    FAILS_WITH(reallocarray(block, too_much, 1), ENOMEM);
    FAILS_WITH(reallocarray(NULL, SIZE_MAX, 2), ENOMEM);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(block[i], 0x5a);
    block = reallocarray(block, 40, 50);
    REQUIRE(block != NULL);
    CHECK(malloc_usable_size(block) >= 2000);
    free(block);
}

static void errors_realloc__leaves_block_untouched_when_it_fails(void)
{
    static const size_t sizes[] = { 1, 24, 100, 1000, 32768, 40000, 300000 };
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        unsigned char *block = malloc(sizes[k]);
        REQUIRE(block != NULL);
        memset(block, 0xa5, sizes[k]);
        size_t usable = malloc_usable_size(block);
        FAILS_WITH(realloc(block, too_much), ENOMEM);
        FAILS_WITH(realloc(block, SIZE_MAX), ENOMEM);
        FAILS_WITH(realloc(block, (size_t)1 << 50), ENOMEM);
        CHECK_EQ(malloc_usable_size(block), usable);
        for (size_t i = 0; i < sizes[k]; i++)
            CHECK_EQ(block[i], 0xa5);
        free(block);
    }
}

static void errors_posix_memalign__says_einval_when_alignment_is_wrong(void)
{
    static const size_t wrong[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 15, 17, 24, 48, 100, 4095, 4097, SIZE_MAX };
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        void *untouched = &errno;
        errno = 4711;
        CHECK_EQ(posix_memalign(&untouched, wrong[k], 100), EINVAL);
        CHECK(untouched == &errno);
        CHECK_EQ(errno, 4711);
    }
}

static void errors_posix_memalign__says_enomem_when_size_is_impossible(void)
{
    static const size_t alignments[] = { 8, 16, 64, 4096, 1 << 20, 1 << 30 };
    for (size_t k = 0; k < sizeof alignments / sizeof alignments[0]; k++) {
        void *untouched = &errno;
        errno = 4711;
        CHECK_EQ(posix_memalign(&untouched, alignments[k], too_much), ENOMEM);
        CHECK_EQ(posix_memalign(&untouched, alignments[k], SIZE_MAX), ENOMEM);
        CHECK_EQ(posix_memalign(&untouched, alignments[k], SIZE_MAX - alignments[k]), ENOMEM);
        CHECK(untouched == &errno);
        CHECK_EQ(errno, 4711);
    }
}

static void errors_aligned__says_why_when_it_fails(void)
{
    FAILS_WITH(aligned_alloc(64, too_much), ENOMEM);
    FAILS_WITH(aligned_alloc(64, SIZE_MAX), ENOMEM);
    FAILS_WITH(memalign(64, SIZE_MAX - 63), ENOMEM);
    FAILS_WITH(memalign(4096, SIZE_MAX - 4096), ENOMEM);
    FAILS_WITH(valloc(SIZE_MAX), ENOMEM);
    FAILS_WITH(valloc(too_much), ENOMEM);
    FAILS_WITH(pvalloc(SIZE_MAX), ENOMEM);
    FAILS_WITH(pvalloc(SIZE_MAX - 100), ENOMEM);
    FAILS_WITH(pvalloc(too_much), ENOMEM);
    errno = 0;
    sink = memalign(((size_t)1 << 63) + 8, 16);
    CHECK(sink == NULL && (errno == EINVAL || errno == ENOMEM));
    errno = 0;
    sink = aligned_alloc((size_t)1 << 62, 16);
    CHECK(sink == NULL && (errno == EINVAL || errno == ENOMEM));
}

/* glibc 2.36: aligned_alloc and memalign take any alignment and round it up to a power of two. */
static void errors_aligned__rounds_up_when_alignment_is_no_power(void)
{
    static const size_t odd[] = { 0, 1, 3, 5, 24, 48, 100, 1000, 5000 };
    for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++) {
        size_t power = 16;
        while (power < odd[k])
            power *= 2;
        void *block = memalign(odd[k], 100);
        CHECK(block != NULL && (uintptr_t)block % power == 0);
        free(block);
        /* Newer versions answer EINVAL here, as C says. */
        errno = 0;
        block = aligned_alloc(odd[k], 100);
        CHECK(block != NULL ? (uintptr_t)block % power == 0 : errno == EINVAL);
        free(block);
    }
}

static void errors_aligned_alloc__works_when_size_is_no_multiple(void)
{
    char *block = aligned_alloc(64, 65);
    REQUIRE(block != NULL);
    CHECK_EQ((uintptr_t)block % 64, 0);
    memset(block, 1, malloc_usable_size(block));
    free(block);
}

static void errors_free__keeps_errno(void)
{
    static const size_t sizes[] = { 0, 1, 100, 5000, 40000, 1 << 20, 64 << 20, (size_t)300 << 20 };
    for (size_t round = 0; round < 3; round++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            void *block = malloc(sizes[k]);
            CHECK(block != NULL);
            errno = 4711;
            free(block);
            CHECK_EQ(errno, 4711);
            void *aligned = memalign(8192, sizes[k]);
            errno = 4712;
            free(aligned);
            CHECK_EQ(errno, 4712);
        }
        errno = 4713;
        free(NULL);
        CHECK_EQ(errno, 4713);
    }
    void *blocks[3000];
    for (size_t i = 0; i < 3000; i++)
        blocks[i] = malloc(i);
    errno = 4714;
    for (size_t i = 0; i < 3000; i++)
        free(blocks[i]);
    CHECK_EQ(errno, 4714);
}

static void errors_success__keeps_errno(void)
{
    errno = 4711;
    for (size_t size = 1; size < 3000000; size = size * 3 / 2 + 1) {
        void *block = malloc(size);
        block = realloc(block, size * 2);
        free(block);
        free(calloc(1, size));
        free(aligned_alloc(256, size));
    }
    CHECK_EQ(errno, 4711);
}

static void errors_malloc__gives_distinct_blocks_when_size_is_zero(void)
{
    enum { BLOCKS = 2000 };
    static char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = i % 3 == 0 ? malloc(0) : i % 3 == 1 ? calloc(0, 5) : realloc(NULL, 0);
        REQUIRE(blocks[i] != NULL);
        CHECK_EQ((uintptr_t)blocks[i] % 16, 0);
        for (int k = 0; k < i; k++)
            if (!CHECK(blocks[k] != blocks[i]))
                return;
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    CHECK_EQ(malloc_usable_size(NULL), 0);
}

static void errors_realloc__frees_when_size_is_zero(void)
{
    static const size_t sizes[] = { 1, 100, 40000, 1 << 20 };
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        void *block = malloc(sizes[k]);
        sink = realloc(block, 0);
        CHECK(sink == NULL);
        block = malloc(sizes[k]);
        sink = reallocarray(block, 0, 10);
        CHECK(sink == NULL);
        block = malloc(sizes[k]);
        sink = reallocarray(block, 10, 0);
        CHECK(sink == NULL);
    }
    sink = realloc(malloc(0), 0);
    CHECK(sink == NULL);
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 2000; i++)
        sink = realloc(malloc(100000), 0);
    struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks + after.hblkhd <= before.uordblks + before.hblkhd + 1000000);
}

static void errors_realloc__is_malloc_when_block_is_null(void)
{
    for (size_t size = 1; size < 3000000; size = size * 2 + 1) {
        unsigned char *block = realloc(NULL, size);
        REQUIRE(block != NULL);
        CHECK(malloc_usable_size(block) >= size);
        memset(block, 1, size);
        free(block);
    }
    free(realloc(malloc(0), 100));
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(errors_malloc__says_enomem_when_size_is_impossible);
    RUN(errors_calloc__says_enomem_when_product_overflows);
    RUN(errors_reallocarray__says_enomem_when_product_overflows);
    RUN(errors_realloc__leaves_block_untouched_when_it_fails);
    RUN(errors_posix_memalign__says_einval_when_alignment_is_wrong);
    RUN(errors_posix_memalign__says_enomem_when_size_is_impossible);
    RUN(errors_aligned__says_why_when_it_fails);
    RUN(errors_aligned__rounds_up_when_alignment_is_no_power);
    RUN(errors_aligned_alloc__works_when_size_is_no_multiple);
    RUN(errors_free__keeps_errno);
    RUN(errors_success__keeps_errno);
    RUN(errors_malloc__gives_distinct_blocks_when_size_is_zero);
    RUN(errors_realloc__frees_when_size_is_zero);
    RUN(errors_realloc__is_malloc_when_block_is_null);
    return unit_end();
}
