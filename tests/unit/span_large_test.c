/* SPDX-License-Identifier: MIT
 *
 * What: large blocks: sizes, alignments, guards, contents over resizes, scrubbing, and a kernel that refuses.
 *
 * Why this way: the policy is an argument of every call, so blocks of level 0 (no guards, no scrubbing) and level 2 live
 * side by side and hand each other dirty granules, which no single process does. Faults are provoked in a forked child.
 *
 * Invariants checked: a block's bytes are its own and survive resizing; level 2 never shows an old byte; what is freed
 * can be handed out again and touched, whatever the kernel refused.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "base/bits.h"
#include "front/entry.h"
#include "platform/pages.h"
#include "span/cache.h"
#include "span/large.h"
#include "span/run.h"
#include "support/process.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { RANDOM_BLOCKS = 16, RANDOM_STEPS = SJ_UNDER_TSAN ? 250 : 600 };
#define PAGE ((size_t)4096)
#define KIB  ((size_t)1 << 10)
#define MIB  ((size_t)1 << 20)

static const struct sj_policy *const bare = &sj__policy_levels[0];
static const struct sj_policy *const scrubbing = &sj__policy_levels[2];
static struct sj_policy trapping; /* level 2 with trap=on */
static struct sj_policy ending;   /* level 2 with align_end=on */

/* --- A kernel that refuses. --- */

enum call { CALL_MAP, CALL_UNMAP, CALL_PROTECT, CALL_ADVISE, CALL_MOVE, CALL_KINDS };

static unsigned refuse_one_in[CALL_KINDS]; /* 0: none */
static int refused_advice;                 /* this advice is always refused; 0: none */
static bool move_unmaps_first;             /* a refused move has unmapped its target already, as the kernel's may */
static bool map_unmaps_first;              /* and so has a refused map over it */
static bool old_kernel;                    /* knows no MREMAP_DONTUNMAP */
static char *intruder;                     /* what somebody maps at the old place as soon as the pages have left it */
static uint64_t source_state;

static bool refuses(enum call call)
{
    if (refuse_one_in[call] == 0 || unit_random_below(&source_state, refuse_one_in[call]) != 0)
        return false;
    errno = ENOMEM;
    return true;
}

static void *source_map(void *address, size_t bytes, int protection, int flags)
{
    if (!refuses(CALL_MAP))
        return mmap(address, bytes, protection, flags, -1, 0);
    if (map_unmaps_first)
        (void)munmap(address, bytes);
    return MAP_FAILED;
}

static int source_unmap(void *address, size_t bytes)
{
    return refuses(CALL_UNMAP) ? -1 : munmap(address, bytes);
}

static int source_protect(void *address, size_t bytes, int protection)
{
    return refuses(CALL_PROTECT) ? -1 : mprotect(address, bytes, protection);
}

static int source_advise(void *address, size_t bytes, int advice)
{
    if (advice != 0 && advice == refused_advice) {
        errno = EINVAL;
        return -1;
    }
    return refuses(CALL_ADVISE) ? -1 : madvise(address, bytes, advice);
}

static void *source_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    if (old_kernel && (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)) != 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    if (!refuses(CALL_MOVE)) {
        void *got = mremap(from, from_bytes, to_bytes, flags, to);
        int wanted = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
        intruder = mmap(from, PAGE, PROT_READ | PROT_WRITE, wanted, -1, 0);
        return got;
    }
    if (move_unmaps_first)
        (void)munmap(to, to_bytes);
    return MAP_FAILED;
}

static const struct sj_page_source source = { source_map, source_unmap, source_protect, source_advise, source_move };

static void use_source(void)
{
    sj__pages_set_source(&source);
}

static void use_kernel(void)
{
    memset(refuse_one_in, 0, sizeof refuse_one_in);
    refused_advice = 0;
    move_unmaps_first = map_unmaps_first = old_kernel = false;
    sj__pages_set_source(NULL);
}

/* --- Contents. --- */

static uint64_t *word_at(char *block, size_t offset)
{
    return (uint64_t *)(void *)(block + offset);
}

/* Two words a page are the block's own; the rest is left alone. */
static void fill(char *block, size_t from_bytes, size_t to_bytes, uint64_t pattern)
{
    for (size_t page = from_bytes / PAGE * PAGE; page < to_bytes; page += PAGE) {
        *word_at(block, page) = pattern + page;
        *word_at(block, page + PAGE - 8) = ~(pattern + page);
    }
}

static bool holds(char *block, size_t bytes, uint64_t pattern)
{
    for (size_t page = 0; page < bytes; page += PAGE)
        if (*word_at(block, page) != pattern + page || *word_at(block, page + PAGE - 8) != ~(pattern + page))
            return false;
    return true;
}

static bool is_zero(char *block, size_t from_bytes, size_t to_bytes)
{
    return *word_at(block, from_bytes) == 0 &&
           memcmp(block + from_bytes, block + from_bytes + 8, to_bytes - from_bytes - 8) == 0;
}

/* As the contents of `fill` would show in any page. */
static bool shows_nothing(char *block, size_t bytes)
{
    for (size_t page = 0; page < bytes; page += PAGE)
        if (*word_at(block, page) != 0 || *word_at(block, page + PAGE - 8) != 0 || *word_at(block, page + 2048) != 0)
            return false;
    return true;
}

static struct sj_large *record_of(const void *block)
{
    struct sj_large *large = sj__large_containing(block);
    return large != NULL && large->start == block ? large : NULL;
}

static void free_block(const struct sj_policy *policy, void *block)
{
    struct sj_large *large = record_of(block);
    if (CHECK(large != NULL))
        CHECK(sj__large_free(policy, large, block));
}

/* --- Sizes and alignments. --- */

static void check_size_and_alignment(const struct sj_policy *policy, size_t size, size_t alignment, bool zero)
{
    char *block = sj__large_malloc(policy, size, alignment, zero);
    if (!CHECK(block != NULL))
        return;
    struct sj_large *large = record_of(block);
    CHECK(large != NULL);
    CHECK_EQ((uintptr_t)block % alignment, 0);
    CHECK_EQ((uintptr_t)block % PAGE, 0);
    CHECK_EQ(sj__large_usable(large), sj_round_up(size, PAGE));
    CHECK(sj__large_containing(block + size - 1) == large);
    CHECK(sj__large_containing(block + large->usable_bytes) != large);
    if (zero || policy == scrubbing)
        CHECK(shows_nothing(block, size < MIB ? size : MIB));
    fill(block, 0, PAGE, 5);
    fill(block, large->usable_bytes - PAGE, large->usable_bytes, 5);
    free_block(policy, block);
    if (alignment > MIB)
        (void)sj__run_purge(); /* joins the runs, or the window grows by the alignment each time */
}

static void span_large__serves_every_size_and_alignment(void)
{
    const size_t sizes[] = { 1, 32769, 65535, 65536, 65537, MIB - 1, MIB + 1, 5 * MIB + 1, (size_t)1 << 27 };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (unsigned power = 0; power <= 30; power++)
            for (unsigned how = 0; how < 3; how++)
                check_size_and_alignment(how == 0 ? bare : scrubbing, sizes[s], (size_t)1 << power, how == 2);
}

static void span_large__takes_no_more_room_than_alignment_needs(void)
{
    struct sj_run_bytes before, after;
    size_t alignment = (size_t)1 << 30;
    sj__run_read_bytes(&before);
    char *block = sj__large_malloc(scrubbing, MIB, alignment, false);
    sj__run_read_bytes(&after);
    REQUIRE(block != NULL);
    CHECK(after.window - before.window <= alignment + 2 * MIB);
    free_block(scrubbing, block);
}

static void span_large__refuses_what_cannot_be(void)
{
    const size_t sizes[] = { SIZE_MAX,        SIZE_MAX - PAGE, (size_t)PTRDIFF_MAX, (size_t)PTRDIFF_MAX - PAGE + 1,
                             (size_t)1 << 62, (size_t)1 << 47 };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (unsigned power = 4; power < 64; power += 5) {
            CHECK(sj__large_malloc(bare, sizes[s], (size_t)1 << power, true) == NULL);
            CHECK(sj__large_malloc(scrubbing, sizes[s], (size_t)1 << power, false) == NULL);
        }
    for (unsigned power = 48; power < 64; power++)
        CHECK(sj__large_malloc(scrubbing, 1, (size_t)1 << power, false) == NULL);
    char *block = sj__large_malloc(scrubbing, MIB, 1, false);
    REQUIRE(block != NULL);
    fill(block, 0, MIB, 9);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        CHECK(sj__large_resize(scrubbing, record_of(block), sizes[s]) == NULL);
    CHECK(holds(block, MIB, 9));
    CHECK_EQ(sj__large_usable(record_of(block)), MIB);
    free_block(scrubbing, block);
}

static void span_large__of_no_bytes_is_distinct_and_faults(void)
{
    char *blocks[2] = { sj__large_malloc(scrubbing, 0, 64, false), sj__large_malloc(bare, 0, 1 << 16, false) };
    REQUIRE(blocks[0] != NULL && blocks[1] != NULL);
    CHECK(blocks[0] != blocks[1]);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQ(sj__large_usable(record_of(blocks[i])), 0);
        CHECK(touching_faults(blocks[i], false));
        CHECK(sj__large_resize(scrubbing, record_of(blocks[i]), MIB) == NULL);
    }
    free_block(scrubbing, blocks[0]);
    free_block(bare, blocks[1]);
}

/* --- Guards. --- */

static void span_large__guards_fault_on_both_sides(void)
{
    const size_t sizes[] = { 40000, 65536, 61440, 57344, MIB + 1, 3 * MIB };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        char *block = sj__large_malloc(scrubbing, sizes[s], 1, false);
        REQUIRE(block != NULL);
        size_t usable = sj__large_usable(record_of(block));
        for (unsigned w = 0; w < 2; w++) {
            CHECK(touching_faults(block - 1, w));
            CHECK(touching_faults(block + usable, w));
            CHECK(!touching_faults(block, w));
            CHECK(!touching_faults(block + usable - 1, w));
        }
        free_block(scrubbing, block);
    }
}

static void span_large__guard_follows_the_end_over_resizes(void)
{
    const size_t sizes[] = { 40000, 90000, 50000, MIB, 33000, 10 * MIB, 9 * MIB };
    char *block = sj__large_malloc(scrubbing, MIB / 2, 1, false);
    REQUIRE(block != NULL);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        block = sj__large_resize(scrubbing, record_of(block), sizes[s]);
        REQUIRE(block != NULL);
        size_t usable = sj__large_usable(record_of(block));
        CHECK_EQ(usable, sj_round_up(sizes[s], PAGE));
        CHECK(touching_faults(block - 1, true));
        CHECK(touching_faults(block + usable, true));
        fill(block, 0, usable, s);
        CHECK(holds(block, usable, s));
    }
    free_block(scrubbing, block);
}

static void span_large__works_without_guards_when_they_are_refused(void)
{
    struct sj_large_counts before, after;
    free_block(scrubbing, sj__large_malloc(scrubbing, MIB, 1, false)); /* the window has room */
    sj__large_drain();                                                 /* and no block with guards is kept */
    sj__large_read_counts(&before);
    refuse_one_in[CALL_ADVISE] = refuse_one_in[CALL_PROTECT] = 1;
    use_source();
    char *block = sj__large_malloc(scrubbing, MIB, 1, false);
    if (block != NULL)
        fill(block, 0, MIB, 3);
    CHECK(block != NULL && holds(block, MIB, 3));
    sj__large_read_counts(&after);
    CHECK_EQ(after.guards_refused - before.guards_refused, 2);
    free_block(scrubbing, block);
    use_kernel();
}

/* --- Resizing. --- */

static void span_large__keeps_contents_when_it_grows_in_place(void)
{
    char *block = sj__large_malloc(bare, MIB, 1, false);
    char *behind = sj__large_malloc(bare, 64 * MIB, 1, false);
    REQUIRE(block != NULL && behind != NULL);
    fill(block, 0, MIB, 1);
    free_block(bare, behind); /* makes room, if it lay behind */
    size_t before = MIB;
    bool in_place = false;
    for (size_t size = MIB + 1; size < 8 * MIB; size += 300001) {
        char *resized = sj__large_resize(bare, record_of(block), size);
        REQUIRE(resized != NULL);
        in_place |= resized == block;
        block = resized;
        CHECK(holds(block, sj_round_up(before, PAGE), 1));
        fill(block, before, size, 1);
        before = size;
    }
    CHECK(in_place);
    free_block(bare, block);
}

/* The granule behind a block, taken so that it can't grow in place. */
struct wall {
    size_t granule;
    enum sj_run_content content;
    bool stands;
};

static char *make_walled(const struct sj_policy *policy, struct wall *wall)
{
    char *block = sj__large_malloc(policy, MIB, 1, false);
    if (block == NULL)
        return NULL;
    fill(block, 0, MIB, 1);
    struct sj_large *large = record_of(block);
    wall->granule = large->first_granule + large->granules;
    wall->stands = sj__run_take_at(wall->granule, 1, &wall->content);
    return block;
}

static void remove_wall(const struct wall *wall)
{
    if (wall->stands)
        sj__run_give(wall->granule, 1, wall->content);
}

static void span_large__keeps_contents_when_it_must_move(void)
{
    for (unsigned level = 0; level <= 2; level += 2) {
        const struct sj_policy *policy = &sj__policy_levels[level];
        struct wall wall;
        char *block = make_walled(policy, &wall);
        REQUIRE(block != NULL);
        char *moved = sj__large_resize(policy, record_of(block), 2 * MIB);
        REQUIRE(moved != NULL);
        CHECK(!wall.stands || moved != block);
        CHECK(holds(moved, MIB, 1));
        CHECK(shows_nothing(moved + MIB, MIB) || policy == bare);
        if (moved != block)
            CHECK(record_of(block) == NULL);
        remove_wall(&wall);
        fill(moved, 0, 2 * MIB, 2);
        free_block(policy, moved);
    }
}

/* What is cut off is gone for good, and so is what was written between the size asked for and the end of the page. */
static void span_large__shows_zeros_when_it_grows_after_it_shrank(void)
{
    for (unsigned level = 0; level <= 2; level += 2) {
        const struct sj_policy *policy = &sj__policy_levels[level];
        char *block = sj__large_malloc(policy, 3 * MIB, 1, true);
        REQUIRE(block != NULL);
        memset(block, 0x5a, 3 * MIB);
        REQUIRE(sj__large_resize(policy, record_of(block), MIB + 100) == block);
        block = sj__large_resize(policy, record_of(block), 3 * MIB);
        REQUIRE(block != NULL);
        CHECK(is_zero(block, MIB + PAGE, 3 * MIB));
        if (policy == scrubbing)
            CHECK(is_zero(block, MIB + 104, MIB + PAGE));
        CHECK_EQ(block[MIB + 99], 0x5a);
        free_block(policy, block);
    }
}

/* A big buffer cut down to what is needed does not keep the address space of the big one. */
static void span_large__gives_back_the_granules_it_shrinks_by(void)
{
    enum { BLOCKS = 64 };
    char *blocks[BLOCKS];
    struct sj_run_bytes before, after;
    (void)sj__run_purge();
    sj__run_read_bytes(&before);
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = sj__large_malloc(scrubbing, 256 * MIB, 1, false);
        REQUIRE(blocks[i] != NULL);
        fill(blocks[i], 0, MIB, i);
        REQUIRE(sj__large_resize(scrubbing, record_of(blocks[i]), 40000) == blocks[i]);
    }
    sj__run_read_bytes(&after);
    CHECK(after.window - before.window <= 1024 * MIB);
    for (unsigned i = 0; i < BLOCKS; i++) {
        CHECK(holds(blocks[i], 40000 / PAGE * PAGE, i));
        free_block(scrubbing, blocks[i]);
    }
}

/* --- Old bytes. --- */

/* A block of level 0 leaves its granules dirty; a block of level 2 on them shows nothing, neither at once nor in what
 * it grows into later. */
static void span_large__shows_no_old_byte_of_a_bare_block(void)
{
    const size_t dirty_bytes = 4 * MIB;
    for (unsigned i = 0; i < 2; i++) {
        char *old = sj__large_malloc(bare, dirty_bytes, 1, false);
        REQUIRE(old != NULL);
        memset(old, 0x77, dirty_bytes);
        free_block(bare, old);
        char *block = sj__large_malloc(scrubbing, 40000 + i * PAGE, 1, false);
        REQUIRE(block != NULL);
        size_t usable = sj__large_usable(record_of(block));
        CHECK(is_zero(block, 0, usable));
        for (size_t size = usable + PAGE; size < 3 * MIB; size += 37 * PAGE) {
            block = sj__large_resize(scrubbing, record_of(block), size);
            REQUIRE(block != NULL);
            CHECK(is_zero(block, 0, size));
        }
        memset(block, 0x66, 40000);
        free_block(scrubbing, block);
        block = sj__large_malloc(scrubbing, dirty_bytes, 1, false);
        REQUIRE(block != NULL);
        CHECK(is_zero(block, 0, dirty_bytes));
        free_block(scrubbing, block);
    }
}

/* A block of level 2 that got granules of level 0's owes for all of them, and one that got clean ones for its own pages. */
static void span_large__owes_for_what_lies_round_it(void)
{
    uint64_t entry_bytes = sj_load_relaxed_u64(&sj__release_limits.cache_entry_bytes);
    sj_store_relaxed_u64(&sj__release_limits.cache_entry_bytes, 0); /* what is freed goes to the runs at once */
    for (unsigned i = 0; i < 8; i++) {
        (void)sj__large_drain();
        (void)sj__run_purge();
        const struct sj_policy *first = i % 2 == 0 ? bare : scrubbing;
        char *block = sj__large_malloc(first, 3 * SJ_GRANULE_BYTES, 1, false);
        REQUIRE(block != NULL);
        memset(block, 0x77, 3 * SJ_GRANULE_BYTES);
        free_block(first, block);
        block = sj__large_malloc(scrubbing, SJ_GRANULE_BYTES + i * PAGE, 1, false);
        REQUIRE(block != NULL);
        memset(block, 0x66, SJ_GRANULE_BYTES);
        free_block(scrubbing, block);
        block = sj__large_malloc(scrubbing, 2 * SJ_GRANULE_BYTES - 2 * PAGE, 1, false);
        REQUIRE(block != NULL);
        CHECK(is_zero(block, 0, 2 * SJ_GRANULE_BYTES - 2 * PAGE));
        free_block(scrubbing, block);
    }
    sj_store_relaxed_u64(&sj__release_limits.cache_entry_bytes, entry_bytes);
}

static void span_large__shows_no_old_byte_when_release_is_refused(void)
{
    refused_advice = MADV_DONTNEED;
    use_source();
    for (unsigned i = 0; i < 4; i++) {
        char *block = sj__large_malloc(scrubbing, 2 * MIB, 1, false);
        REQUIRE(block != NULL);
        CHECK(is_zero(block, 0, 2 * MIB));
        memset(block, 0x55, 2 * MIB);
        REQUIRE(sj__large_resize(scrubbing, record_of(block), MIB + 3 * PAGE) != NULL);
        block = sj__large_resize(scrubbing, record_of(block), 2 * MIB);
        REQUIRE(block != NULL);
        CHECK(is_zero(block, MIB + 3 * PAGE, 2 * MIB));
        memset(block, 0x55, 2 * MIB);
        free_block(scrubbing, block);
    }
    use_kernel();
}

static void span_large__zero_block_is_zero_after_anything(void)
{
    for (unsigned i = 0; i < 8; i++) {
        size_t size = 40000 + i * 200000;
        char *block = sj__large_malloc(bare, size, 1, i % 2 == 1);
        REQUIRE(block != NULL);
        if (i % 2 == 1)
            CHECK(is_zero(block, 0, size));
        memset(block, 0x44, size);
        free_block(bare, block);
    }
}

/* --- Frees. --- */

static void span_large__second_free_is_refused(void)
{
    char *block = sj__large_malloc(scrubbing, MIB, 1, false);
    REQUIRE(block != NULL);
    struct sj_large *large = record_of(block);
    CHECK(sj__large_free(scrubbing, large, block));
    CHECK(!sj__large_free(scrubbing, large, block));
    CHECK(record_of(block) == NULL);
}

/* A freed block of the same number of pages is handed out again whole: same place, guards in place, old bytes gone. */
static void span_large__keeps_a_freed_block_for_the_next_of_its_size(void)
{
    char *block = sj__large_malloc(scrubbing, 100 * KIB, 1, false);
    char *second = sj__large_malloc(scrubbing, 100 * KIB, 1, false);
    REQUIRE(block != NULL && second != NULL);
    fill(block, 0, 100 * KIB, 9);
    free_block(scrubbing, block);
    CHECK(sj__cache_bytes() >= 100 * KIB);
    /* It rests until another of its size is freed. */
    char *third = sj__large_malloc(scrubbing, 100 * KIB, 1, false);
    CHECK(third != block);
    free_block(scrubbing, second);
    char *longer = sj__large_malloc(scrubbing, 104 * KIB, 1, false);
    CHECK(longer != block && longer != second);
    char *again = sj__large_malloc(scrubbing, 100 * KIB - 5, 1, false);
    REQUIRE(again == block);
    for (size_t i = 0; i < 100 * KIB; i++)
        if (!CHECK(again[i] == 0))
            break;
    CHECK(touching_faults(again + 100 * KIB, true) && touching_faults(again - 1, true));
    free_block(scrubbing, again);
    free_block(scrubbing, third);
    free_block(scrubbing, longer);
    sj__large_drain();
    CHECK_EQ(sj__cache_bytes(), 0);
}

/* Two threads free a block at the same time; before the slower one gets to it the record serves another block. That
 * one must not be freed. */
static void span_large__late_second_free_leaves_the_records_next_block_alone(void)
{
    char *block = sj__large_malloc(scrubbing, MIB, 1, false);
    char *wall = sj__large_malloc(scrubbing, MIB, 1, false);
    REQUIRE(block != NULL && wall != NULL);
    struct sj_large *large = record_of(block); /* both threads have judged it live */
    CHECK(sj__large_free(scrubbing, large, block));
    sj__large_drain();
    char *other = sj__large_malloc(scrubbing, 5 * MIB, 1, false);
    REQUIRE(other != NULL && other != block);
    REQUIRE(record_of(other) == large);
    CHECK(!sj__large_free(scrubbing, large, block));
    free_block(scrubbing, other); /* alive still */
    free_block(scrubbing, wall);
}

/* --- Traps. --- */

static char *freed_block(const struct sj_policy *policy, size_t bytes)
{
    char *block = sj__large_malloc(policy, bytes, 1, false);
    if (CHECK(block != NULL)) {
        fill(block, 0, bytes, 1);
        free_block(policy, block);
    }
    return block;
}

static void span_large__faults_when_touched_after_free(void)
{
    const size_t sizes[] = { 40 * KIB, 256 * KIB, MIB, 3 * MIB }; /* the last is not kept */
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        char *block = freed_block(&trapping, sizes[s]);
        CHECK(touching_faults(block, true));
        CHECK(touching_faults(block, false));
        CHECK(touching_faults(block + sizes[s] / 2, true));
        CHECK(touching_faults(block + sizes[s] - 1, false));
        block = freed_block(scrubbing, sizes[s] + PAGE);
        CHECK(!touching_faults(block, true));
        CHECK(!touching_faults(block + sizes[s], true));
    }
}

static void span_large__can_be_used_again_after_it_was_trapped(void)
{
    for (size_t bytes = 40 * KIB; bytes < 8 * MIB; bytes *= 2)
        for (unsigned i = 0; i < 4; i++) {
            (void)freed_block(&trapping, bytes);
            char *block = sj__large_malloc(i % 2 == 0 ? scrubbing : &trapping, bytes, 1, false);
            REQUIRE(block != NULL);
            CHECK(is_zero(block, 0, bytes));
            CHECK(touching_faults(block + bytes, true));
            fill(block, 0, bytes, i);
            CHECK(holds(block, bytes, i));
            free_block(&trapping, block);
        }
}

/* What is trapped with its pages must be inaccessible still once those have been given back, or written with zeros. */
static void span_large__stays_trapped_when_its_age_has_come(void)
{
    for (unsigned refused = 0; refused < 2; refused++) {
        size_t budget_bytes = SIZE_MAX;
        sj__large_drain();
        char *block = freed_block(&trapping, 256 * KIB);
        refused_advice = refused != 0 ? MADV_DONTNEED : 0;
        use_source();
        (void)sj__large_release_aged(SJ_NEVER_MS, &budget_bytes);
        use_kernel();
        CHECK(touching_faults(block, true));
        sj__large_drain(); /* to the runs */
        CHECK(touching_faults(block, true));
    }
}

static void span_large__is_trapped_without_mappings_when_the_budget_is_spent(void)
{
    enum { BLOCKS = 8, BUDGET = 3 };
    char *many[BLOCKS];
    sj__large_drain();
    for (unsigned i = 0; i < BLOCKS; i++) {
        many[i] = sj__large_malloc(&trapping, 64 * KIB, 1, false);
        REQUIRE(many[i] != NULL);
        fill(many[i], 0, 64 * KIB, i);
    }
    sj__pages_set_guard_budget(sj__pages_protected_guards() + BUDGET);
    long before = mappings();
    for (unsigned i = 0; i < BLOCKS; i++)
        free_block(&trapping, many[i]);
    CHECK(mappings() <= before + 2 * BUDGET);
    for (unsigned i = 0; i < BLOCKS; i++)
        CHECK(touching_faults(many[i], true));
    sj__pages_set_guard_budget(0);
}

static void span_large__is_counted_when_it_cannot_be_trapped(void)
{
    struct sj_large_counts before, after;
    char *small = sj__large_malloc(&trapping, 100 * KIB, 1, false),
         *large = sj__large_malloc(&trapping, 3 * MIB, 1, false);
    REQUIRE(small != NULL && large != NULL);
    sj__large_read_counts(&before);
    refused_advice = 102; /* MADV_GUARD_INSTALL */
    refuse_one_in[CALL_PROTECT] = 1;
    use_source();
    free_block(&trapping, small);
    free_block(&trapping, large);
    use_kernel();
    sj__large_read_counts(&after);
    CHECK_EQ(after.traps_refused - before.traps_refused, 2);
    CHECK(!touching_faults(small, true));
}

/* What realloc leaves behind is free too: by moving pages, by copying, and by cutting. */
static void span_large__leaves_faults_behind_when_it_moves_or_shrinks(void)
{
    for (unsigned copied = 0; copied < 2; copied++) {
        struct wall wall;
        struct sj_large_counts before, after;
        char *block = make_walled(&trapping, &wall);
        REQUIRE(block != NULL);
        refuse_one_in[CALL_MOVE] = copied;
        use_source();
        char *moved = sj__large_resize(&trapping, record_of(block), 8 * MIB);
        use_kernel();
        REQUIRE(moved != NULL && moved != block);
        CHECK(touching_faults(block, true) && touching_faults(block + MIB - 1, false));
        CHECK(holds(moved, MIB, 1) && shows_nothing(moved + MIB, 7 * MIB));
        remove_wall(&wall);

        fill(moved, 0, 8 * MIB, 3);
        sj__large_read_counts(&before);
        CHECK(sj__large_resize(&trapping, record_of(moved), 2 * MIB) == moved);
        sj__large_read_counts(&after);
        CHECK_EQ(after.released_bytes - before.released_bytes, 6 * MIB); /* paid once */
        CHECK(touching_faults(moved + 3 * MIB, false) && touching_faults(moved + 8 * MIB - 1, true));
        CHECK(holds(moved, 2 * MIB, 3));
        char *grown = sj__large_resize(&trapping, record_of(moved), 6 * MIB); /* what was cut off is had again */
        REQUIRE(grown != NULL);
        CHECK(holds(grown, 2 * MIB, 3) && shows_nothing(grown + 2 * MIB, 4 * MIB));
        fill(grown, 0, 6 * MIB, 4);
        free_block(&trapping, grown);
    }
    char *moving = sj__large_malloc(scrubbing, 2 * MIB, 1, false); /* without trap the old place stays accessible */
    REQUIRE(moving != NULL);
    CHECK(sj__large_resize(scrubbing, record_of(moving), 40 * KIB) == moving);
    CHECK(!touching_faults(moving + MIB, true));
    free_block(scrubbing, moving);
}

/* --- Blocks that end at their guard. --- */

static void span_large__ends_at_its_guard_as_far_as_alignment_allows(void)
{
    for (unsigned power = 0; power <= 14; power++) {
        size_t alignment = (size_t)1 << power;
        size_t size = 40001 + power * 777;
        char *block = sj__large_malloc(&ending, size, alignment, false);
        REQUIRE(block != NULL);
        size_t usable = sj__large_usable(record_of(block));
        CHECK_EQ((uintptr_t)block % alignment, 0);
        CHECK_EQ((uintptr_t)block % 16, 0);
        CHECK_EQ(usable, sj_round_up(size, alignment < 16 ? 16 : alignment < PAGE ? alignment : PAGE));
        CHECK(!touching_faults(block + usable - 1, true));
        CHECK(touching_faults(block + usable, true));
        CHECK(touching_faults((char *)sj_round_down((uintptr_t)block, PAGE) - 1, true));
        CHECK(sj__large_containing(block + usable - 1) == record_of(block));
        CHECK(sj__large_containing(block - 1) == NULL || (uintptr_t)block % PAGE == 0);
        free_block(&ending, block);
        block = sj__large_malloc(scrubbing, size, alignment, false); /* off: the end is in its last page */
        REQUIRE(block != NULL);
        CHECK_EQ((uintptr_t)block % PAGE, 0);
        CHECK(!touching_faults(block + sj_round_up(size, PAGE) - 1, true));
        free_block(scrubbing, block);
    }
}

/* Bytes that tell where in the block they stand. */
static bool counts_up(const char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != (char)(i % 251))
            return false;
    return true;
}

static void span_large__keeps_what_it_holds_over_resizes_when_it_ends_at_its_guard(void)
{
    uint64_t state = unit_state.seed;
    for (unsigned round = 0; round < 8; round++) {
        size_t size = 32769 + unit_random_below(&state, MIB);
        char *block = sj__large_malloc(&ending, size, 1, false);
        for (unsigned i = 0; i < 12; i++) {
            REQUIRE(block != NULL);
            for (size_t at = 0; at < size; at++)
                block[at] = (char)(at % 251);
            size_t next = 32769 + unit_random_below(&state, MIB);
            refuse_one_in[CALL_MOVE] = i % 3 == 0; /* copied */
            use_source();
            block = sj__large_resize(&ending, record_of(block), next);
            use_kernel();
            REQUIRE(block != NULL);
            size_t usable = sj__large_usable(record_of(block));
            CHECK(usable >= next && usable < next + PAGE);
            CHECK(counts_up(block, size < next ? size : next));
            for (size_t at = size; at < usable; at++)
                if (!CHECK(block[at] == 0))
                    break;
            CHECK(touching_faults(block + usable, true));
            size = next;
        }
        free_block(&ending, block);
    }
}

static void span_large__shows_no_old_byte_when_ends_differ(void)
{
    for (unsigned i = 0; i < 40; i++) { /* of ten pages all, so kept blocks serve */
        size_t size = 9 * PAGE + 1 + i * 97;
        const struct sj_policy *policy = i % 3 == 0 ? scrubbing : i % 3 == 1 ? &ending : bare;
        char *block = sj__large_malloc(policy, size, 1, policy == bare);
        REQUIRE(block != NULL);
        size_t usable = sj__large_usable(record_of(block));
        for (size_t at = 0; at < usable; at++)
            if (!CHECK(block[at] == 0))
                break;
        memset(block, 0x77, usable);
        free_block(policy, block);
    }
}

/* --- A kernel that refuses, again. --- */

/* mremap unmaps its target before it looks at the source: when it then fails, the target is a hole. */
static void span_large__leaves_no_hole_when_a_move_fails(void)
{
    for (unsigned level = 0; level <= 2; level += 2) {
        const struct sj_policy *policy = &sj__policy_levels[level];
        struct wall wall;
        char *block = make_walled(policy, &wall);
        REQUIRE(block != NULL);
        refuse_one_in[CALL_MOVE] = 1;
        move_unmaps_first = true;
        use_source();
        char *moved = sj__large_resize(policy, record_of(block), 2 * MIB);
        use_kernel();
        REQUIRE(moved != NULL); /* copied, if it could not grow in place */
        CHECK(!wall.stands || (moved != block && record_of(block) == NULL));
        CHECK(holds(moved, MIB, 1));
        block = moved;
        char *next = sj__large_malloc(policy, 2 * MIB, 1, false);
        REQUIRE(next != NULL);
        CHECK(!touching_faults(next, true));
        CHECK(!touching_faults(next + MIB, true));
        free_block(policy, next);
        remove_wall(&wall);
        free_block(policy, block);
    }
}

/* What is cut off a block whose pages were moved is mapped anew; if that fails it is a hole, and nobody's. */
static void span_large__keeps_no_hole_when_a_cut_cannot_be_renewed(void)
{
    struct wall wall;
    char *block = make_walled(scrubbing, &wall);
    REQUIRE(block != NULL);
    block = sj__large_resize(scrubbing, record_of(block), 2 * MIB);
    REQUIRE(block != NULL);
    if (!record_of(block)->moved)
        SKIP("it grew in place");
    refuse_one_in[CALL_MAP] = 1;
    map_unmaps_first = true;
    use_source();
    block = sj__large_resize(scrubbing, record_of(block), 100 * KIB);
    use_kernel();
    REQUIRE(block != NULL);
    CHECK(holds(block, 100 * KIB, 1));
    block = sj__large_resize(scrubbing, record_of(block), 2 * MIB);
    REQUIRE(block != NULL);
    CHECK(holds(block, 100 * KIB, 1));
    CHECK(!touching_faults(block + MIB, true));
    CHECK(!touching_faults(block + 2 * MIB - 1, true));
    remove_wall(&wall);
    free_block(scrubbing, block);
}

/* Blocks that grow in turn are in each other's way, so they must move. */
static void grow_in_turn(const struct sj_policy *policy, size_t final_bytes)
{
    enum { TURNS = 3 };
    char *grown[TURNS];
    for (unsigned i = 0; i < TURNS; i++) {
        grown[i] = sj__large_malloc(policy, 64 * KIB, 1, true);
        REQUIRE(grown[i] != NULL);
        *grown[i] = (char)(i + 1);
    }
    for (size_t size = 68 * KIB; size <= final_bytes; size += 4 * KIB)
        for (unsigned i = 0; i < TURNS; i++) {
            grown[i] = sj__large_resize(policy, record_of(grown[i]), size);
            REQUIRE(grown[i] != NULL);
            grown[i][size - 1] = (char)(i + 1);
        }
    for (unsigned i = 0; i < TURNS; i++) {
        for (size_t at = 68 * KIB; at <= final_bytes; at += 4 * KIB)
            if (!CHECK_EQ(grown[i][at - 1], i + 1))
                break;
        CHECK_EQ(grown[i][0], i + 1);
        if (policy == scrubbing)
            CHECK(touching_faults(grown[i] - 1, true) && touching_faults(grown[i] + final_bytes, true));
        free_block(policy, grown[i]);
    }
}

static void span_large__growth_copies_nothing_where_pages_can_be_moved(void)
{
    struct sj_large_counts before, after;
    sj__large_read_counts(&before);
    grow_in_turn(bare, 16 * MIB);
    grow_in_turn(scrubbing, 16 * MIB);
    sj__large_read_counts(&after);
    CHECK(after.moved_bytes > before.moved_bytes);
    CHECK_EQ(after.copied_bytes, before.copied_bytes);
}

static void span_large__growth_copies_few_bytes_a_byte_where_none_can_be_moved(void)
{
    struct sj_large_counts before, after;
    sj__large_read_counts(&before);
    refuse_one_in[CALL_MOVE] = 1;
    move_unmaps_first = true;
    use_source();
    grow_in_turn(scrubbing, 16 * MIB);
    use_kernel();
    sj__large_read_counts(&after);
    uint64_t copied = after.copied_bytes - before.copied_bytes;
    NOTE("copied %llu MiB for 3 times 16 MiB", (unsigned long long)(copied / MIB));
    CHECK(copied > 3 * 4 * MIB);
    CHECK(copied <= 5 * 3 * 16 * MIB);
    CHECK_EQ(after.moved_bytes, before.moved_bytes);
}

/* A block that has just been made to move, and what came into its old place in the meantime. */
static char *move_with_intruder(void)
{
    char *block = sj__large_malloc(scrubbing, MIB, 1, false);
    if (block == NULL)
        return NULL;
    fill(block, 0, MIB, 1);
    struct sj_large *large = record_of(block);
    size_t behind = large->first_granule + large->granules;
    enum sj_run_content content;
    bool walled = sj__run_take_at(behind, 1, &content);
    intruder = MAP_FAILED;
    use_source();
    char *moved = sj__large_resize(scrubbing, large, 2 * MIB);
    use_kernel();
    if (walled)
        sj__run_give(behind, 1, content);
    CHECK(moved != NULL && moved != block);
    CHECK(moved == NULL || holds(moved, MIB, 1));
    return moved;
}

static void span_large__lets_nobody_into_the_old_place_when_it_moves(void)
{
    char *probe = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *into = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(probe != MAP_FAILED && into != MAP_FAILED);
    if (mremap(probe, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, into) == MAP_FAILED)
        SKIP("the kernel is older than 5.7");
    char *moved = move_with_intruder();
    CHECK(intruder == MAP_FAILED);
    free_block(scrubbing, moved);
}

/* On old kernels the place is open for a moment. Who comes in then stays, and the place is never handed out again. */
static void span_large__leaves_an_intruder_in_the_old_place_alone(void)
{
    old_kernel = true;
    char *moved = move_with_intruder();
    REQUIRE(intruder != MAP_FAILED);
    memset(intruder, 'i', PAGE);
    free_block(scrubbing, moved);
    char *nexts[64];
    for (unsigned i = 0; i < 64; i++) {
        char *next = nexts[i] = sj__large_malloc(scrubbing, 2 * MIB, 1, false);
        REQUIRE(next != NULL);
        memset(next, 'n', 2 * MIB);
        CHECK(intruder + PAGE <= next || intruder >= next + 2 * MIB);
    }
    for (unsigned i = 0; i < 64; i++)
        free_block(scrubbing, nexts[i]);
    (void)sj__run_purge();
    CHECK(intruder[0] == 'i' && intruder[PAGE - 1] == 'i');
    CHECK_EQ(munmap(intruder, PAGE), 0);
}

/* Guards that can't be lifted go with their mapping, and are off the budget of mappings then. */
static void span_large__guards_mapped_over_are_off_the_budget(void)
{
    sj__large_drain();
    size_t before = sj__pages_protected_guards();
    refused_advice = 102; /* MADV_GUARD_INSTALL */
    use_source();
    sj__pages_start();
    char *block = sj__large_malloc(scrubbing, 2 * MIB, 1, false);
    if (CHECK(block != NULL)) {
        CHECK_EQ(sj__pages_protected_guards(), before + 2);
        refuse_one_in[CALL_PROTECT] = 1;
        free_block(scrubbing, block);
        CHECK_EQ(sj__pages_protected_guards(), before);
    }
    use_kernel();
    sj__pages_start();
}

static void span_large__keeps_contents_when_guards_cannot_be_lifted(void)
{
    char *block = sj__large_malloc(scrubbing, MIB, 1, false);
    REQUIRE(block != NULL);
    fill(block, 0, MIB, 1);
    refuse_one_in[CALL_ADVISE] = refuse_one_in[CALL_PROTECT] = 1;
    use_source();
    char *grown = sj__large_resize(scrubbing, record_of(block), 64 * MIB);
    char *shrunk = sj__large_resize(scrubbing, record_of(grown != NULL ? grown : block), MIB / 2);
    use_kernel();
    char *now = shrunk != NULL ? shrunk : grown != NULL ? grown : block;
    CHECK(holds(now, MIB / 2, 1));
    CHECK(shrunk != NULL || holds(now, MIB, 1));
    free_block(scrubbing, now);
}

/* --- Locks. --- */

/* Those of the cache come before that of the runs. */
static void span_large__debug_build_knows_the_rank_of_every_shard(void)
{
#if defined(SJ_DEBUG)
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct sj_cache_counts counts;
        (void)close(STDERR_FILENO);
        sj__run_lock_for_fork();
        sj__cache_read_counts(&counts);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
#else
    SKIP("ranks are checked in debug builds");
#endif
}

struct block {
    char *start;
    size_t bytes;
    const struct sj_policy *policy;
};

static struct block blocks[RANDOM_BLOCKS];
static uint64_t pattern_of(const struct block *block)
{
    return (uint64_t)(block - blocks + 1) << 40;
}

static void check_block(struct block *block)
{
    CHECK(record_of(block->start) != NULL);
    CHECK(holds(block->start, block->bytes, pattern_of(block)));
}

static void make_block(uint64_t *state, struct block *block, size_t size)
{
    bool zero = unit_random_below(state, 2) == 0;
    static const struct sj_policy *const policies[] = { &sj__policy_levels[0], &sj__policy_levels[2], &trapping };
    block->policy = policies[unit_random_below(state, 3)];
    block->bytes = sj_round_up(size, PAGE);
    size_t alignment = (size_t)1 << unit_random_below(state, 20);
    block->start = sj__large_malloc(block->policy, size, alignment, zero);
    if (block->start == NULL)
        return;
    if (zero || block->policy != bare)
        CHECK(shows_nothing(block->start, block->bytes));
    fill(block->start, 0, block->bytes, pattern_of(block));
}

static void resize_block(struct block *block, size_t size)
{
    char *resized = sj__large_resize(block->policy, record_of(block->start), size);
    if (resized == NULL) {
        check_block(block);
        return;
    }
    size_t bytes = sj_round_up(size, PAGE), kept = size / PAGE * PAGE;
    block->start = resized;
    CHECK(holds(resized, kept < block->bytes ? kept : block->bytes, pattern_of(block)));
    if (bytes > block->bytes && block->policy != bare)
        CHECK(shows_nothing(resized + block->bytes, bytes - block->bytes));
    block->bytes = bytes;
    fill(resized, 0, bytes, pattern_of(block));
}

static void random_step(uint64_t *state)
{
    struct block *block = &blocks[unit_random_below(state, RANDOM_BLOCKS)];
    size_t size = 32769 + unit_random_below(state, (size_t)1 << (12 + unit_random_below(state, 10)));
    if (block->start == NULL) {
        make_block(state, block, size);
    } else if (unit_random_below(state, 3) != 0) {
        resize_block(block, size);
    } else {
        check_block(block);
        free_block(block->policy, block->start);
        block->start = NULL;
    }
    if (unit_random_below(state, 100) == 0)
        (void)sj__run_purge();
}

static void free_random_blocks(void)
{
    for (struct block *block = blocks; block < blocks + RANDOM_BLOCKS; block++)
        if (block->start != NULL) {
            check_block(block);
            free_block(block->policy, block->start);
            block->start = NULL;
        }
}

static void span_large__keeps_contents_over_random_operations(void)
{
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < RANDOM_STEPS && !unit_failed(); i++)
        random_step(&state);
    free_random_blocks();
}

static void span_large__keeps_contents_when_calls_are_refused_now_and_then(void)
{
    uint64_t state = unit_state.seed + 1;
    source_state = unit_state.seed + 2;
    move_unmaps_first = true;
    use_source();
    for (unsigned i = 0; i < RANDOM_STEPS && !unit_failed(); i++) {
        for (unsigned call = CALL_PROTECT; call < CALL_KINDS; call++)
            refuse_one_in[call] = unit_random_below(&source_state, 3) == 0 ? 1 + (i / 64) % 4 : 0;
        refuse_one_in[CALL_MAP] = unit_random_below(&source_state, 8) == 0;
        random_step(&state);
    }
    use_kernel();
    free_random_blocks();
    for (unsigned i = 0; i < 300 && !unit_failed(); i++) /* all that was given back can be used */
        random_step(&state);
    free_random_blocks();
}

/* --- Counts. --- */

static void span_large__counts_add_up(void)
{
    struct sj_large_counts before, after;
    sj__large_read_counts(&before);
    uint64_t state = unit_state.seed + 3;
    for (unsigned i = 0; i < 200; i++)
        random_step(&state);
    uint64_t live_blocks = 0, live_bytes = 0;
    for (struct block *block = blocks; block < blocks + RANDOM_BLOCKS; block++)
        if (block->start != NULL) {
            live_blocks++;
            live_bytes += block->bytes;
        }
    sj__large_read_counts(&after);
    CHECK_EQ(after.allocated_blocks - after.freed_blocks, before.allocated_blocks - before.freed_blocks + live_blocks);
    CHECK_EQ(after.allocated_bytes - after.freed_bytes, before.allocated_bytes - before.freed_bytes + live_bytes);
    free_random_blocks();
    sj__large_read_counts(&after);
    CHECK_EQ(after.allocated_bytes - after.freed_bytes, before.allocated_bytes - before.freed_bytes);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    trapping = *scrubbing;
    trapping.trap = SJ_TRAP_ON;
    ending = *scrubbing;
    ending.align_end = 1;
    if (!sj__start())
        return 1;
    /* First: the window is still small. */
    RUN(span_large__takes_no_more_room_than_alignment_needs);
    RUN(span_large__serves_every_size_and_alignment);
    RUN(span_large__refuses_what_cannot_be);
    RUN(span_large__of_no_bytes_is_distinct_and_faults);
    RUN(span_large__guards_fault_on_both_sides);
    RUN(span_large__guard_follows_the_end_over_resizes);
    RUN(span_large__works_without_guards_when_they_are_refused);
    RUN(span_large__keeps_contents_when_it_grows_in_place);
    RUN(span_large__keeps_contents_when_it_must_move);
    RUN(span_large__shows_zeros_when_it_grows_after_it_shrank);
    RUN(span_large__gives_back_the_granules_it_shrinks_by);
    RUN(span_large__shows_no_old_byte_of_a_bare_block);
    RUN(span_large__owes_for_what_lies_round_it);
    RUN(span_large__shows_no_old_byte_when_release_is_refused);
    RUN(span_large__zero_block_is_zero_after_anything);
    RUN(span_large__second_free_is_refused);
    RUN(span_large__keeps_a_freed_block_for_the_next_of_its_size);
    RUN(span_large__late_second_free_leaves_the_records_next_block_alone);
    RUN(span_large__ends_at_its_guard_as_far_as_alignment_allows);
    RUN(span_large__keeps_what_it_holds_over_resizes_when_it_ends_at_its_guard);
    RUN(span_large__shows_no_old_byte_when_ends_differ);
    RUN(span_large__faults_when_touched_after_free);
    RUN(span_large__can_be_used_again_after_it_was_trapped);
    RUN(span_large__stays_trapped_when_its_age_has_come);
    RUN(span_large__leaves_faults_behind_when_it_moves_or_shrinks);
    RUN(span_large__is_trapped_without_mappings_when_the_budget_is_spent);
    RUN(span_large__is_counted_when_it_cannot_be_trapped);
    RUN(span_large__leaves_no_hole_when_a_move_fails);
    RUN(span_large__keeps_no_hole_when_a_cut_cannot_be_renewed);
    RUN(span_large__growth_copies_nothing_where_pages_can_be_moved);
    RUN(span_large__growth_copies_few_bytes_a_byte_where_none_can_be_moved);
    RUN(span_large__lets_nobody_into_the_old_place_when_it_moves);
    RUN(span_large__leaves_an_intruder_in_the_old_place_alone);
    RUN(span_large__guards_mapped_over_are_off_the_budget);
    RUN(span_large__keeps_contents_when_guards_cannot_be_lifted);
    RUN(span_large__debug_build_knows_the_rank_of_every_shard);
    RUN(span_large__keeps_contents_over_random_operations);
    RUN(span_large__keeps_contents_when_calls_are_refused_now_and_then);
    RUN(span_large__counts_add_up);
    return unit_end();
}
