/* SPDX-License-Identifier: MIT */
/*
 * What: what is in the memory: calloc reads zero, realloc keeps, the usable size is usable, nothing stale is readable.
 * Why this way: each is tried on memory that has been made dirty first, over all sizes that matter.
 */
#define SJ_TEST_PLAIN
#include "support/calls.h"
#include "unit/unit.h"

enum { MOST_BYTES = 1 << 20, DIRTY_BLOCKS = 4 };

/* Every size to 4 KiB, then in steps. */
static size_t next_size(size_t size)
{
    return size < 4096 ? size + 1 : size < 65536 ? size + 208 : size + 40961;
}

static bool all_equal(const unsigned char *bytes, size_t count, unsigned char value)
{
    return count == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static void make_dirty(size_t size)
{
    unsigned char *blocks[DIRTY_BLOCKS];
    for (int i = 0; i < DIRTY_BLOCKS; i++) {
        blocks[i] = malloc(size);
        if (blocks[i] != NULL)
            memset(blocks[i], 0xee, malloc_usable_size(blocks[i]));
    }
    for (int i = 0; i < DIRTY_BLOCKS; i++)
        free(blocks[i]);
}

static void contents_calloc__is_zero_after_dirty_reuse(void)
{
    for (size_t size = 1; size <= MOST_BYTES; size = next_size(size)) {
        make_dirty(size);
        unsigned char *block = calloc(1, size);
        REQUIRE(block != NULL);
        if (!CHECK(all_equal(block, size, 0)))
            unit_print("# size %zu\n", size);
        free(block);
    }
}

static void contents_calloc__is_zero_when_large_and_seen_before(void)
{
    for (size_t size = (size_t)1 << 20; size <= (size_t)128 << 20; size *= 2) {
        unsigned char *block = malloc(size);
        REQUIRE(block != NULL);
        memset(block, 0xee, size);
        free(block);
        block = calloc(size / 8, 8);
        REQUIRE(block != NULL);
        if (!CHECK(all_equal(block, size, 0)))
            unit_print("# size %zu\n", size);
        free(block);
    }
}

static void contents_malloc__is_clean_after_dirty_reuse_when_scrubbed(void)
{
    if (!calls_promise_clean_memory())
        SKIP("the policy in force does not scrub");
    for (size_t size = 1; size <= MOST_BYTES; size = next_size(size)) {
        make_dirty(size);
        unsigned char *block = malloc(size);
        REQUIRE(block != NULL);
        if (!CHECK(all_equal(block, malloc_usable_size(block), 0)))
            unit_print("# size %zu\n", size);
        free(block);
    }
}

static void contents_realloc__leaves_nothing_stale_when_scrubbed(void)
{
    if (!calls_promise_clean_memory())
        SKIP("the policy in force does not scrub");
    for (size_t size = 16; size <= MOST_BYTES; size = size * 5 / 4 + 1) {
        make_dirty(size);
        make_dirty(size / 2);
        unsigned char *block = malloc(size / 2);
        REQUIRE(block != NULL);
        size_t before = malloc_usable_size(block);
        memset(block, 0x11, before);
        block = realloc(block, size);
        REQUIRE(block != NULL);
        size_t usable = malloc_usable_size(block);
        if (usable > before && !CHECK(all_equal(block + before, usable - before, 0)))
            unit_print("# from %zu (usable %zu) to %zu\n", size / 2, before, size);
        free(block);
    }
}

/* A block cut by realloc: its tail must not be readable by whoever gets it, nor by itself when it grows again. */
static void contents_realloc__leaves_no_tail_when_large_block_shrinks(void)
{
    if (!calls_promise_clean_memory())
        SKIP("the policy in force does not scrub");
    for (size_t size = 100000; size <= (size_t)8 << 20; size *= 2) {
        unsigned char *block = malloc(size);
        REQUIRE(block != NULL);
        memset(block, 0x77, malloc_usable_size(block));
        block = realloc(block, size / 2);
        REQUIRE(block != NULL);
        size_t cut = malloc_usable_size(block);
        block = realloc(block, size);
        REQUIRE(block != NULL);
        if (!CHECK(all_equal(block, size / 2, 0x77)) ||
            !CHECK(all_equal(block + cut, malloc_usable_size(block) - cut, 0)))
            unit_print("# size %zu\n", size);
        free(block);
    }
}

static const size_t pair_sizes[] = {
    1,     7,     8,     9,     15,    16,     17,     24,     31,     32,      33,    47,    48,
    63,    64,    65,    100,   127,   128,    129,    160,    200,    255,     256,   257,   400,
    511,   512,   513,   700,   1000,  1023,   1024,   1025,   1500,   2000,    2048,  2049,  3000,
    4000,  4096,  4097,  6000,  8192,  8193,   12000,  16384,  16385,  24576,   30000, 32767, 32768,
    32769, 33792, 40000, 65536, 65537, 100000, 131072, 200000, 524288, 1048576,
};

static void contents_realloc__keeps_bytes_when_size_goes_from_any_to_any(void)
{
    enum { PAIRS = sizeof pair_sizes / sizeof pair_sizes[0] };
    for (size_t from = 0; from < PAIRS; from++)
        for (size_t to = 0; to < PAIRS; to++) {
            size_t old_size = pair_sizes[from], new_size = pair_sizes[to];
            unsigned char mark = (unsigned char)(1 + (from * PAIRS + to) % 250);
            unsigned char *block = malloc(old_size);
            REQUIRE(block != NULL);
            size_t kept = malloc_usable_size(block);
            memset(block, mark, kept);
            block = realloc(block, new_size);
            REQUIRE(block != NULL);
            kept = kept < new_size ? kept : new_size;
            if (!CHECK(all_equal(block, kept, mark)) || !CHECK(malloc_usable_size(block) >= new_size))
                unit_print("# from %zu to %zu\n", old_size, new_size);
            free(block);
        }
}

static void contents_realloc__keeps_bytes_when_block_grows_in_steps(void)
{
    unsigned char *block = NULL;
    size_t size = 0, step = 4096, most = (size_t)8 << 20;
    while (size < most) {
        block = realloc(block, size + step);
        REQUIRE(block != NULL);
        memset(block + size, (int)(size / step % 251), step);
        size += step;
    }
    for (size_t at = 0; at < size; at += step)
        CHECK(all_equal(block + at, step, (unsigned char)(at / step % 251)));
    while (size > step) {
        size -= step * 7 < size ? step * 7 : size - step;
        block = realloc(block, size);
        REQUIRE(block != NULL);
        CHECK_EQ(block[size - 1], (size - 1) / step % 251);
    }
    free(block);
}

static void contents_usable_size__is_writable_and_stable(void)
{
    for (size_t size = 0; size <= MOST_BYTES; size = next_size(size)) {
        unsigned char *block = malloc(size), *neighbour = malloc(size);
        REQUIRE(block != NULL && neighbour != NULL);
        size_t usable = malloc_usable_size(block);
        CHECK(usable >= size && usable <= size + size / 4 + 4096);
        CHECK(size != 0 || usable == 0);
        memset(neighbour, 0x22, malloc_usable_size(neighbour));
        memset(block, 0x33, usable);
        CHECK_EQ(malloc_usable_size(block), usable);
        CHECK(all_equal(neighbour, malloc_usable_size(neighbour), 0x22));
        CHECK(all_equal(block, usable, 0x33));
        /* Growing to what is usable already must not move the block. */
        if (size != 0) {
            unsigned char *same = realloc(block, usable);
            CHECK(same == block);
            CHECK_EQ(malloc_usable_size(same), usable);
            block = same;
        }
        free(block);
        free(neighbour);
    }
}

static void contents_calloc__costs_nothing_when_large_and_untouched(void)
{
    enum { ROUNDS = 3 };
    size_t size = ((size_t)256 << 20) + 1;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char *block = calloc(1, size);
        REQUIRE(block != NULL);
        long pages = 0, unused = 0;
        FILE *statm = fopen("/proc/self/statm", "re");
        REQUIRE(statm != NULL && fscanf(statm, "%ld %ld", &unused, &pages) == 2);
        fclose(statm);
        CHECK(pages * sysconf(_SC_PAGESIZE) < (long)100 << 20);
        CHECK_EQ(block[size / 2], 0);
        free(block);
    }
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(contents_calloc__costs_nothing_when_large_and_untouched);
    RUN(contents_calloc__is_zero_after_dirty_reuse);
    RUN(contents_calloc__is_zero_when_large_and_seen_before);
    RUN(contents_malloc__is_clean_after_dirty_reuse_when_scrubbed);
    RUN(contents_realloc__leaves_nothing_stale_when_scrubbed);
    RUN(contents_realloc__leaves_no_tail_when_large_block_shrinks);
    RUN(contents_realloc__keeps_bytes_when_size_goes_from_any_to_any);
    RUN(contents_realloc__keeps_bytes_when_block_grows_in_steps);
    RUN(contents_usable_size__is_writable_and_stable);
    return unit_end();
}
