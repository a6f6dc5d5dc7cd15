/* SPDX-License-Identifier: MIT
 *
 * What: the metadata arena: records of any size, zero, aligned, apart; and a kernel that gives no more.
 *
 * Why this way: the process's own arena, which nothing else uses meanwhile. Each record is filled, and looked at again
 * after all others are made.
 *
 * Invariants: none.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "front/entry.h"
#include "meta/arena.h"
#include "platform/pages.h"

enum { RECORDS = 3000, LARGEST_BYTES = 600000 };

static unsigned char *records[RECORDS];
static size_t sizes[RECORDS];

static bool all_are(const unsigned char *bytes, size_t count, unsigned char value)
{
    return bytes[0] == value && memcmp(bytes, bytes + 1, count - 1) == 0;
}

static void meta_arena__records_are_zero_aligned_and_apart(void)
{
    uint64_t state = unit_state.seed;
    size_t used_before, used_after, mapped_bytes, sum_bytes = 0;
    sj__arena_bytes(&used_before, &mapped_bytes);
    for (unsigned i = 0; i < RECORDS; i++) {
        sizes[i] = i % 500 == 499 ? LARGEST_BYTES : 1 + unit_random_below(&state, 2000);
        records[i] = sj__arena_alloc(sizes[i]);
        REQUIRE(records[i] != NULL);
        CHECK_EQ((uintptr_t)records[i] % SJ_RECORD_BYTES, 0);
        CHECK(all_are(records[i], sizes[i], 0));
        memset(records[i], (int)(i % 255) + 1, sizes[i]);
        sum_bytes += (sizes[i] + SJ_RECORD_BYTES - 1) / SJ_RECORD_BYTES * SJ_RECORD_BYTES;
    }
    for (unsigned i = 0; i < RECORDS; i++)
        CHECK(all_are(records[i], sizes[i], (unsigned char)(i % 255 + 1)));
    sj__arena_bytes(&used_after, &mapped_bytes);
    CHECK_EQ(used_after - used_before, sum_bytes);
    CHECK(mapped_bytes >= used_after);
}

static void meta_arena__gives_nothing_when_the_kernel_does_not_and_goes_on_after(void)
{
    size_t used_bytes, mapped_bytes, used_after;
    sj__pages_set_source(&refuse_all);
    while (sj__arena_alloc(SJ_RECORD_BYTES) != NULL)
        continue;
    sj__arena_bytes(&used_bytes, &mapped_bytes);
    CHECK_EQ(used_bytes, mapped_bytes);
    CHECK(sj__arena_alloc(1) == NULL);
    CHECK(sj__arena_alloc(LARGEST_BYTES) == NULL);
    sj__arena_bytes(&used_after, &mapped_bytes);
    CHECK_EQ(used_after, used_bytes);
    sj__pages_set_source(NULL);
    unsigned char *record = sj__arena_alloc(100);
    REQUIRE(record != NULL);
    CHECK(all_are(record, 100, 0));
}

static void meta_arena__refuses_what_cannot_be(void)
{
    size_t used_bytes, mapped_bytes, used_after;
    sj__arena_bytes(&used_bytes, &mapped_bytes);
    CHECK(sj__arena_alloc((size_t)1 << 46) == NULL);
    CHECK(sj__arena_alloc(SIZE_MAX / 2) == NULL);
    sj__arena_bytes(&used_after, &mapped_bytes);
    CHECK_EQ(used_after, used_bytes);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    if (!sj__start())
        return 1;
    RUN(meta_arena__records_are_zero_aligned_and_apart);
    RUN(meta_arena__gives_nothing_when_the_kernel_does_not_and_goes_on_after);
    RUN(meta_arena__refuses_what_cannot_be);
    return unit_end();
}
