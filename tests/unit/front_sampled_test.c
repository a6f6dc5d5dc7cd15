/* SPDX-License-Identifier: MIT */
/*
 * What: which allocations are sampled, how many, and what a sampled block is to the program.
 * Why this way: a program counts its own samples by what the map says of each block; the seed is fixed, so that chance
 * can't fail it. Each set of options is a process of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "platform/clock.h"
#include "scrubjay.h"
#include "span/sampled.h"

enum { MEAN = 50, CLASSES = 8, ROUNDS = 50000, PAGES = 256 };

static bool is_sampled(const void *block)
{
    return sj_load_relaxed_u32(&sj__window_find(block)->kind) == SJ_SPAN_SAMPLED;
}

static struct sj_stats stats_now(void)
{
    struct sj_stats stats;
    CHECK_EQ(sj_stats_read(&stats), 0);
    return stats;
}

/* `got` of `trials` independent ones, each with a chance of one in MEAN: within four and a half standard deviations? */
static void check_share(uint64_t got, uint64_t trials)
{
    double expected = (double)trials / MEAN, off = (double)got - expected;
    CHECK(off * off <= 20.25 * expected);
    NOTE("%llu samples of %llu, expected %.0f", (unsigned long long)got, (unsigned long long)trials, expected);
}

/* Blocks of several classes, freed in another order, so that groups of one class come while others are open. */
static void each_allocation_is_as_likely(void)
{
    static const size_t sizes[CLASSES] = { 1, 24, 48, 100, 300, 1000, 2000, 4000 };
    void *held[64] = { NULL };
    uint64_t state = 3, hits[CLASSES] = { 0 }, trials[CLASSES] = { 0 }, gap = 0, gaps[3] = { 0 }, all = 0;
    for (unsigned i = 0; i < ROUNDS * CLASSES; i++) {
        unsigned class = (unsigned)unit_random_below(&state, CLASSES), at = (unsigned)unit_random_below(&state, 64);
        sj_free(held[at]);
        held[at] = class % 2 != 0 ? sj_malloc(sizes[class]) : sj_calloc(1, sizes[class]);
        trials[class]++;
        gap++;
        if (!is_sampled(held[at]))
            continue;
        hits[class]++;
        all++;
        gaps[gap == 1 ? 0 : gap <= MEAN ? 1 : 2]++;
        gap = 0;
    }
    for (unsigned i = 0; i < CLASSES; i++)
        check_share(hits[i], trials[i]);
    check_share(all, (uint64_t)ROUNDS * CLASSES);
    CHECK_EQ(stats_now().sampled, all);
    CHECK_EQ(stats_now().samples_skipped, 0);
    /* gaps of independent trials: at once with 1/50, within 50 with 1 - (49/50)^50 = 0.636 */
    CHECK(gaps[0] * 100 >= all * 15 / 10 && gaps[0] * 100 <= all * 25 / 10);
    CHECK((gaps[0] + gaps[1]) * 1000 >= all * 615 && (gaps[0] + gaps[1]) * 1000 <= all * 657);
    for (unsigned i = 0; i < 64; i++)
        sj_free(held[i]);
}

static void a_block_is_what_was_asked_for(void)
{
    uint64_t too_large = 0;
    for (size_t size = 1; size <= 4096; size += size / 7 + 1)
        for (size_t alignment = 1; alignment <= 4096; alignment *= 4) {
            unsigned char *block = alignment == 1 ? sj_malloc(size) : sj_aligned_alloc(alignment, size);
            REQUIRE(block != NULL && is_sampled(block));
            CHECK_EQ((uintptr_t)block % (alignment > 16 ? alignment : 16), 0);
            CHECK_EQ(sj_malloc_usable_size(block), size);
            for (size_t i = 0; i < size; i++)
                if (!CHECK_EQ(block[i], 0))
                    break;
            memset(block, 0xee, size);
            unsigned char *moved = sj_realloc(block, size + 100);
            too_large += size + 100 > 4096;
            REQUIRE(moved != NULL && moved[0] == 0xee && moved[size - 1] == 0xee);
            if (alignment == 1)
                sj_free_sized(moved, size + 100);
            else
                sj_free(moved);
        }
    void *large = sj_malloc(4097);
    CHECK(!is_sampled(large) && !is_sampled(sj_malloc(0)));
    CHECK_EQ(stats_now().samples_skipped, too_large + 1);
    sj_free(large);
    /* What realloc returns is of the size alone, also where that stays what it was. */
    sj_free_sized(sj_realloc(sj_aligned_alloc(256, 15), 15), 15);
}

static void a_full_pool_skips(void)
{
    static void *blocks[PAGES + 50];
    unsigned sampled = 0;
    for (unsigned i = 0; i < PAGES + 50; i++) {
        blocks[i] = sj_malloc(64);
        sampled += is_sampled(blocks[i]);
    }
    CHECK_EQ(sampled, PAGES);
    CHECK_EQ(stats_now().sampled, PAGES);
    CHECK_EQ(stats_now().samples_skipped, 50);
    void *first = blocks[7], *second = blocks[3];
    sj_free(first);
    sj_free(second);
    /* the longest free first */
    char *again = sj_malloc(64);
    CHECK_EQ((uintptr_t)again / sj__page_bytes(), (uintptr_t)first / sj__page_bytes());
    again = sj_malloc(64);
    CHECK_EQ((uintptr_t)again / sj__page_bytes(), (uintptr_t)second / sj__page_bytes());
}

static uint64_t clock_ms;

static uint64_t test_clock(void)
{
    return clock_ms;
}

static void a_second_has_its_share(void)
{
    sj__clock_set_source(test_clock);
    for (unsigned second = 1; second <= 3; second++) {
        clock_ms = second * 1000;
        uint64_t before = stats_now().sampled;
        for (unsigned i = 0; i < 40; i++)
            sj_free(sj_malloc(64));
        CHECK_EQ(stats_now().sampled - before, 10);
    }
    CHECK_EQ(stats_now().samples_skipped, 90);
    sj__clock_set_source(NULL);
}

static int refuse(void *address, size_t bytes, int how)
{
    (void)address;
    (void)bytes;
    (void)how;
    errno = ENOMEM;
    return -1;
}

/* The kernel makes no page accessible or inaccessible: blocks are served all the same, and nothing is lost. */
static void a_refusal_is_counted(void)
{
    static const struct sj_page_source source = {
        .map = refusing_map, .unmap = munmap, .protect = refuse, .advise = refuse
    };
    char *block = sj_malloc(64);
    CHECK(is_sampled(block));
    sj__pages_set_source(&source);
    CHECK(!is_sampled(sj_malloc(64)));
    sj_free(block); /* its page stays accessible, and reads as zero */
    CHECK_EQ(block[0], 0);
    CHECK_EQ(stats_now().samples_skipped, 1);
    CHECK(stats_now().guards_refused >= 1);
    sj__pages_set_source(NULL);
    for (unsigned i = 0; i < 2 * PAGES; i++) {
        block = sj_malloc(64);
        CHECK(is_sampled(block));
        memset(block, 1, 64);
        sj_free(block);
    }
    CHECK_EQ(stats_now().samples_skipped, 1);
}

static void nothing_is_sampled(void)
{
    for (unsigned i = 0; i < 200000; i++) {
        void *block = sj_malloc(i % 3000);
        CHECK(!is_sampled(block));
        sj_free(block);
    }
    CHECK_EQ(stats_now().sampled + stats_now().samples_skipped, 0);
}

static const struct {
    const char *options;
    void (*run)(void);
} children[] = {
    { "level=2,seed=7,sample=50,sample_rate=0", each_allocation_is_as_likely },
    { "level=1,seed=8,sample=50,sample_rate=0,random=off", each_allocation_is_as_likely },
    { "level=2,sample=1,sample_rate=0", a_block_is_what_was_asked_for },
    { "level=1,sample=1,sample_rate=0,scrub=off", a_full_pool_skips },
    { "level=2,sample=1,sample_rate=10", a_second_has_its_share },
    { "level=2,sample=1,sample_rate=0,guard=off", a_refusal_is_counted },
    { "level=2,sample=off", nothing_is_sampled },
    { "level=0,sample=0,sample_rate=0", nothing_is_sampled },
};

static void front_sampled__each_allocation_is_as_likely(void)
{
    check_under(children[0].options);
    check_under(children[1].options);
}

static void front_sampled__is_what_was_asked_for(void)
{
    check_under(children[2].options);
}

static void front_sampled__is_skipped_when_all_pages_are_taken(void)
{
    check_under(children[3].options);
}

static void front_sampled__is_skipped_when_the_seconds_share_is_used_up(void)
{
    check_under(children[4].options);
}

static void front_sampled__is_skipped_when_the_kernel_refuses(void)
{
    check_under(children[5].options);
}

static void front_sampled__is_never_when_off(void)
{
    check_under(children[6].options);
    check_under(children[7].options);
}

int main(int argc, char **argv)
{
    const char *options = unit_child_options();
    for (size_t i = 0; options != NULL && i < sizeof children / sizeof children[0]; i++)
        if (strcmp(options, children[i].options) == 0) {
            children[i].run();
            return (int)unit_failed();
        }
    unit_begin(argc, argv);
    RUN(front_sampled__each_allocation_is_as_likely);
    RUN(front_sampled__is_what_was_asked_for);
    RUN(front_sampled__is_skipped_when_all_pages_are_taken);
    RUN(front_sampled__is_skipped_when_the_seconds_share_is_used_up);
    RUN(front_sampled__is_skipped_when_the_kernel_refuses);
    RUN(front_sampled__is_never_when_off);
    return unit_end();
}
