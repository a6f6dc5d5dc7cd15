/* SPDX-License-Identifier: MIT */
/*
 * What: what jemalloc, hardened_malloc and the BSDs have beyond the standards: each function's contract.
 * Why this way: the plain names are called, since programs that want them know only those.
 */
#include "scrubjay.h"
#include "unit/unit.h"

#include <malloc.h>
#include <sys/wait.h>

void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
size_t xallocx(void *block, size_t size, size_t extra, int flags);
size_t sallocx(const void *block, int flags);
void dallocx(void *block, int flags);
size_t nallocx(size_t size, int flags);
void sdallocx(void *block, size_t size, int flags);
void freezero(void *block, size_t size);
void *recallocarray(void *block, size_t old_count, size_t count, size_t size);
void *reallocf(void *block, size_t size);
int reallocarr(void *pointer, size_t count, size_t size);
size_t malloc_object_size(const void *pointer);

enum { LARGEST = 3 << 20 };

static size_t next_size(size_t size)
{
    return size < 2000 ? size + 1 : size + size / 3 + 7;
}

static void extra_nallocx__foretells_the_usable_size(void)
{
    for (size_t size = 1; size <= LARGEST; size = next_size(size)) {
        void *block = malloc(size);
        REQUIRE(block != NULL);
        if (!CHECK(nallocx(size, 0) >= size && malloc_usable_size(block) <= nallocx(size, 0)))
            unit_print("# size %zu: %zu foretold, %zu usable\n", size, nallocx(size, 0), malloc_usable_size(block));
        free(block);
    }
    CHECK_EQ(nallocx(SIZE_MAX, 0), 0);
    CHECK_EQ(nallocx((size_t)PTRDIFF_MAX, 0), 0);
}

static bool all_zero(const char *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static void extra_mallocx__makes_blocks_that_every_call_knows(void)
{
    enum { ZERO = 64 };
    for (int shift = 0; shift <= 16; shift++)
        for (size_t size = 1; size <= LARGEST; size = size * 5 + 3) {
            char *block = mallocx(size, shift | ZERO | 1 << 8 | 7 << 20);
            REQUIRE(block != NULL);
            CHECK((uintptr_t)block % ((size_t)1 << shift) == 0);
            CHECK_EQ(sallocx(block, 0), malloc_usable_size(block));
            CHECK_EQ(xallocx(block, size * 2, 0, 0), malloc_usable_size(block));
            CHECK(all_zero(block, malloc_usable_size(block)));
            memset(block, 7, malloc_usable_size(block));
            size_t old_bytes = malloc_usable_size(block);
            block = rallocx(block, size * 2 + 100, shift | ZERO);
            REQUIRE(block != NULL);
            CHECK((uintptr_t)block % ((size_t)1 << shift) == 0);
            CHECK(block[0] == 7 && block[size - 1] == 7);
            size_t kept = old_bytes < size * 2 + 100 ? old_bytes : size * 2 + 100;
            CHECK(memcmp(block, block + 1, kept - 1) == 0);
            if (malloc_usable_size(block) > old_bytes)
                CHECK(all_zero(block + old_bytes, malloc_usable_size(block) - old_bytes));
            if (size % 2 == 0)
                free(block);
            else
                dallocx(block, shift);
        }
    free(mallocx(100, 0));
    dallocx(malloc(100), 0);
    CHECK(mallocx(SIZE_MAX, 0) == NULL && mallocx((size_t)PTRDIFF_MAX, 12) == NULL);
}

/* In a process of its own, with foreign=ignore: nothing of a block that it can't read would come along. */
static int move_foreign(void)
{
    static char foreign[100] = "precious";
    errno = 0;
    if (rallocx(foreign, 200, 6) != NULL || errno != ENOMEM)
        return 1;
    void *first = rallocx(NULL, 200, 6), *moved = rallocx(malloc(0), 200, 6); /* neither has any byte to lose */
    return first == NULL || moved == NULL ? 2 : 0;
}

static void extra_rallocx__fails_when_a_foreign_block_is_ignored(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        setenv("SCRUBJAY_OPTIONS", "foreign=ignore", 1);
        execl("/proc/self/exe", "extra", "--move-foreign", (char *)NULL);
        _exit(3);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

static void extra_sdallocx__frees_what_was_made_with_these_flags(void)
{
    struct sj_stats before, after;
    CHECK_EQ(sj_stats_read(&before), 0);
    for (int shift = 0; shift <= 16; shift++)
        for (size_t size = 1; size <= LARGEST; size = size * 5 + 3) {
            void *block = shift == 0 ? malloc(size) : aligned_alloc((size_t)1 << shift, size);
            REQUIRE(block != NULL);
            CHECK(nallocx(size, shift) >= size);
            sdallocx(block, size, shift);
        }
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.live_bytes, before.live_bytes);
    CHECK(after.frees > before.frees);
}

static void extra_freezero__overwrites_and_frees(void)
{
    freezero(NULL, 100);
    for (size_t size = 1; size <= LARGEST; size = size * 3 + 1) {
        char *block = malloc(size);
        REQUIRE(block != NULL);
        memset(block, 0x5a, size);
        errno = 77;
        freezero(block, size);
        CHECK_EQ(errno, 77);
        CHECK_EQ(sj_object_bounds(block, NULL, NULL), 0);
    }
}

static bool holds(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static void extra_recallocarray__zeroes_what_is_added(void)
{
    for (size_t size = 1; size < 5000; size = size * 2 + 1) {
        unsigned char *block = recallocarray(NULL, 5, 10, size);
        REQUIRE(block != NULL);
        CHECK(holds(block, 10 * size, 0));
        memset(block, 0x5a, 10 * size);
        block = recallocarray(block, 10, 25, size);
        REQUIRE(block != NULL);
        CHECK(holds(block, 10 * size, 0x5a) && holds(block + 10 * size, 15 * size, 0));
        block = recallocarray(block, 25, 3, size);
        REQUIRE(block != NULL);
        CHECK(holds(block, 3 * size, 0x5a));
        block = recallocarray(block, 3, 10, size);
        REQUIRE(block != NULL);
        CHECK(holds(block, 3 * size, 0x5a) && holds(block + 3 * size, 7 * size, 0));
        free(block);
    }
}

static void extra_recallocarray__refuses_what_overflows(void)
{
    char *block = malloc(10);
    REQUIRE(block != NULL);
    block[0] = 'x';
    errno = 0;
    CHECK(recallocarray(block, 10, SIZE_MAX / 2, 4) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(recallocarray(block, SIZE_MAX / 2, 2, 4) == NULL && errno == EINVAL);
    CHECK_EQ(block[0], 'x');
    free(block);
}

static void extra_reallocf__frees_when_it_fails(void)
{
    char *block = reallocf(NULL, 40);
    REQUIRE(block != NULL);
    memset(block, 'y', 40);
    block = reallocf(block, 90000);
    REQUIRE(block != NULL);
    CHECK(holds((unsigned char *)block, 40, 'y'));
    errno = 0;
    CHECK(reallocf(block, SIZE_MAX - 100) == NULL && errno == ENOMEM);
    CHECK_EQ(sj_object_bounds(block, NULL, NULL), 0);
    block = malloc(40);
    CHECK(reallocf(block, 0) == NULL);
    CHECK_EQ(sj_object_bounds(block, NULL, NULL), 0);
}

static void extra_reallocarr__changes_the_pointer_in_place(void)
{
    char *block = NULL;
    errno = 77;
    CHECK_EQ(reallocarr(&block, 7, 10), 0);
    REQUIRE(block != NULL);
    memset(block, 'z', 70);
    CHECK_EQ(reallocarr(&block, 7000, 10), 0);
    CHECK(holds((unsigned char *)block, 70, 'z'));
    char *before = block;
    CHECK_EQ(reallocarr(&block, SIZE_MAX / 2, 4), EOVERFLOW);
    CHECK_EQ(reallocarr(&block, SIZE_MAX / 4, 2), ENOMEM);
    CHECK(block == before && holds((unsigned char *)block, 70, 'z'));
    CHECK_EQ(reallocarr(&block, 0, 10), 0);
    CHECK(block == NULL);
    CHECK_EQ(errno, 77);
}

static void check_bounds(char *block, size_t offset)
{
    void *start = NULL;
    size_t size = 0, usable = malloc_usable_size(block);
    if (!CHECK(sj_object_bounds(block + offset, &start, &size) == 1 && start == block && size == usable))
        unit_print("# offset %zu of %zu: start %p for %p, size %zu\n", offset, usable, start, (void *)block, size);
    CHECK_EQ(malloc_object_size(block + offset), usable - offset);
}

static void extra_bounds__are_found_from_any_byte(void)
{
    for (size_t size = 1; size <= LARGEST; size = next_size(size)) {
        char *block = malloc(size);
        REQUIRE(block != NULL);
        check_bounds(block, 0);
        check_bounds(block, size / 2);
        check_bounds(block, malloc_usable_size(block) - 1);
        free(block);
        CHECK_EQ(sj_object_bounds(block + size / 2, NULL, NULL), 0);
        CHECK_EQ(malloc_object_size(block + size / 2), 0);
    }
}

static void extra_bounds__are_unknown_elsewhere(void)
{
    static char fixed[100];
    char local[100];
    CHECK_EQ(sj_object_bounds(fixed, NULL, NULL), 0);
    CHECK_EQ(sj_object_bounds(local, NULL, NULL), 0);
    CHECK_EQ(sj_object_bounds(NULL, NULL, NULL), 0);
    CHECK_EQ(malloc_object_size(fixed), SIZE_MAX);
    char *zero = malloc(0);
    CHECK_EQ(sj_object_bounds(zero, NULL, NULL), 0);
    free(zero);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--move-foreign") == 0)
        return move_foreign();
    unit_begin(argc, argv);
    RUN(extra_nallocx__foretells_the_usable_size);
    RUN(extra_mallocx__makes_blocks_that_every_call_knows);
    RUN(extra_rallocx__fails_when_a_foreign_block_is_ignored);
    RUN(extra_sdallocx__frees_what_was_made_with_these_flags);
    RUN(extra_freezero__overwrites_and_frees);
    RUN(extra_recallocarray__zeroes_what_is_added);
    RUN(extra_recallocarray__refuses_what_overflows);
    RUN(extra_reallocf__frees_when_it_fails);
    RUN(extra_reallocarr__changes_the_pointer_in_place);
    RUN(extra_bounds__are_found_from_any_byte);
    RUN(extra_bounds__are_unknown_elsewhere);
    return unit_end();
}
