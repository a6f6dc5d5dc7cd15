/* SPDX-License-Identifier: MIT */
/*
 * What: what the heap profile says of programs of which the truth is known.
 * Why this way: estimates are compared at a fixed seed, so that chance can't fail them; with profile_rate=1 each block is a
 * sample, and all is exact. Each set of options is a process of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "heap/profile.h"
#include "scrubjay.h"

#include <pthread.h>
#include <stdlib.h>

enum { BLOCKS = 40000, LARGE = 200 };

static void *held[BLOCKS + LARGE];

SJ_NOINLINE static void *allocate(size_t size_bytes)
{
    void *block = sj_malloc(size_bytes);
    CHECK(block != NULL);
    return block;
}

/* Within a twentieth. */
static void check_near(uint64_t got, uint64_t truth)
{
    CHECK(got >= truth - truth / 20 && got <= truth + truth / 20);
    NOTE("%llu, in truth %llu", (unsigned long long)got, (unsigned long long)truth);
}

static uint64_t objects(const struct sj_profile_tally *tally)
{
    return tally->objects >> SJ_PROFILE_OBJECT_SHIFT;
}

static void add(struct sj_profile_tally *sum, const struct sj_profile_tally *tally)
{
    sum->bytes += tally->bytes;
    sum->objects += tally->objects;
}

/* The sites add up to the sums, and the samples to what lives. */
static void check_sums(void)
{
    struct sj_profile_tally allocated = { 0 }, live = { 0 }, peak = { 0 };
    const uint32_t sites = sj_load_relaxed_u32(&sj__profile.sites);
    for (uint32_t i = 0; i < sites; i++) {
        const struct sj_profile_site *chunk =
            (const struct sj_profile_site *)(uintptr_t)sj__profile.chunks[i / SJ_PROFILE_CHUNK_SITES];
        add(&allocated, &chunk[i % SJ_PROFILE_CHUNK_SITES].allocated);
        add(&live, &chunk[i % SJ_PROFILE_CHUNK_SITES].live);
        add(&peak, &chunk[i % SJ_PROFILE_CHUNK_SITES].peak);
    }
    CHECK(memcmp(&allocated, &sj__profile.allocated, sizeof allocated) == 0);
    CHECK(memcmp(&live, &sj__profile.live, sizeof live) == 0);
    CHECK(memcmp(&peak, &sj__profile.peak, sizeof peak) == 0);
    CHECK_EQ(sj_load_relaxed_u32(&sj__profile.changes) % 2, 0);
}

static void *free_a_third(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < BLOCKS + LARGE; i += 3) {
        sj_free(held[i]);
        held[i] = NULL;
    }
    return NULL;
}

/* Small blocks of many classes and large ones; a third freed by another thread, then the rest. */
static void estimates_are_near(void)
{
    uint64_t state = 5, all = 0, live = 0;
    for (unsigned i = 0; i < BLOCKS + LARGE; i++) {
        size_t bytes = 1 + (size_t)unit_random_below(&state, i < BLOCKS ? 1500 : 300000);
        held[i] = allocate(bytes);
        all += bytes;
        live += i % 3 != 0 ? bytes : 0;
    }
    check_near(sj__profile.allocated.bytes, all);
    check_near(objects(&sj__profile.allocated), BLOCKS + LARGE);
    check_near(sj__profile.live.bytes, all);
    check_sums();
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, free_a_third, NULL) == 0 && pthread_join(thread, NULL) == 0);
    check_near(sj__profile.live.bytes, live);
    check_sums();
    for (unsigned i = 0; i < BLOCKS + LARGE; i++)
        sj_free(held[i]);
    CHECK(sj__profile.live_samples <= 2); /* what the thread's start has left */
    check_near(sj__profile.peak.bytes, all);
    check_near(objects(&sj__profile.peak), BLOCKS + LARGE);
    CHECK_EQ(sj__profile.lost_stacks + sj__profile.lost_blocks, 0);
    check_sums();
}

static void blocks_are_followed(void)
{
    struct sj_profile_tally before = sj__profile.live;
    void *block = allocate(100);
    CHECK_EQ(sj__profile.live.bytes, before.bytes + 100);
    const struct sj_profile_site *site = sj__profile_site_of(block);
    REQUIRE(site != NULL && site->frames_count > 2);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* without tail calls the library has frames too */
    CHECK(site->frames[0] - (uintptr_t)allocate < 200);
    CHECK(site->frames[1] - (uintptr_t)blocks_are_followed < 4000);
#endif
    CHECK_EQ(site->live.bytes, 100);
    CHECK(sj__profile_site_of((char *)block + 16) == NULL);
    block = sj_realloc(block, 5000);
    CHECK_EQ(sj__profile.live.bytes, before.bytes + 5000);
    block = sj_realloc(block, 100000);
    CHECK_EQ(sj__profile.live.bytes, before.bytes + 100000);
    block = sj_realloc(block, 50000000); /* moves, or grows where it is */
    CHECK_EQ(sj__profile.live.bytes, before.bytes + 50000000);
    sj_free(block);
    CHECK(sj__profile_site_of(block) == NULL);
    block = sj_aligned_alloc(512, 4096);
    CHECK_EQ((uintptr_t)block % 512, 0);
    CHECK_EQ(sj__profile.live.bytes, before.bytes + 4096);
    sj_free_sized(block, 4096);
    char *zeros = sj_calloc(10, 30);
    for (unsigned i = 0; i < 300; i++)
        CHECK_EQ(zeros[i], 0);
    sj_free(zeros);
    CHECK(memcmp(&before, &sj__profile.live, sizeof before) == 0);
    check_sums();
}

static void arenas_and_labels_are_followed(void)
{
    struct sj_profile_tally before = sj__profile.live;
    struct sj_arena *arena = sj_arena_create("one", "level=2");
    REQUIRE(arena != NULL);
    void *small = sj_arena_malloc(arena, "a", 200), *large = sj_arena_calloc(arena, NULL, 1, 100000);
    const struct sj_profile_site *site = sj__profile_site_of(small);
    REQUIRE(site != NULL && site->frames_count > 0);
    CHECK(site->frames[0] - (uintptr_t)arenas_and_labels_are_followed < 4000);
    CHECK_EQ(sj__profile.live.bytes, before.bytes + 100200);
    sj_arena_free(arena, small);
    CHECK_EQ(sj__profile.live.bytes, before.bytes + 100000);
    for (unsigned i = 0; i < 100; i++)
        (void)sj_arena_malloc(arena, NULL, 50 * i + 1);
    CHECK(sj__profile_site_of(large) != NULL);
    sj_arena_reset(arena);
    CHECK(memcmp(&before, &sj__profile.live, sizeof before) == 0);
    (void)sj_arena_malloc(arena, NULL, 300);
    sj_arena_destroy(arena);
    CHECK(memcmp(&before, &sj__profile.live, sizeof before) == 0);
    CHECK_EQ(sj_label_push("b"), 0);
    void *labelled = allocate(400);
    CHECK_EQ(sj__profile.live.bytes, before.bytes + 400);
    sj_label_pop();
    sj_free(labelled);
    CHECK(memcmp(&before, &sj__profile.live, sizeof before) == 0);
    check_sums();
}

/* A stack of its own for each number. */
SJ_NOINLINE static void *allocate_from(unsigned number, unsigned bits)
{
    void *block;
    if (bits == 0)
        return sj_malloc(16);
    if (number % 2 != 0) { /* two places that are not made one: what comes before and after them differs */
        block = allocate_from(number / 2, bits - 1);
        __asm__ volatile("" : "+r"(block));
    } else {
        __asm__ volatile("nop");
        block = allocate_from(number / 2, bits - 1);
        __asm__ volatile("nop" : "+r"(block));
    }
    return block;
}

static void tables_are_bounded(void)
{
    enum { BITS = 14, STACKS = 1 << BITS, ROUNDS = 5, SAMPLES = STACKS * ROUNDS, MOST = 1 << 16 };
    static void *blocks[SAMPLES];
    struct sj_profile_tally before = sj__profile.allocated;
    uint64_t live = sj__profile.live_samples;
    for (unsigned i = 0; i < SAMPLES; i++)
        blocks[i] = allocate_from(i % STACKS, BITS);
    CHECK_EQ(sj__profile.allocated.bytes - before.bytes, (uint64_t)SAMPLES * 16);
    CHECK_EQ(objects(&sj__profile.allocated) - objects(&before), SAMPLES);
    CHECK_EQ(sj_load_relaxed_u32(&sj__profile.sites), SJ_PROFILE_SITES_MAX);
    CHECK(sj__profile.lost_stacks >= (uint64_t)(STACKS - SJ_PROFILE_SITES_MAX) * ROUNDS);
    CHECK_EQ(sj__profile.live_samples, MOST);
    CHECK_EQ(sj__profile.lost_blocks, SAMPLES + live - MOST);
    check_sums();
    for (unsigned i = 0; i < SAMPLES; i++)
        sj_free(blocks[i]);
    CHECK_EQ(sj__profile.live_samples, live);
    check_sums();
}

static void a_child_goes_on(void)
{
    void *block = allocate(1000);
    pid_t child = fork();
    int status = 1;
    if (child == 0) {
        uint64_t live = sj__profile.live_samples;
        void *own = allocate(1000);
        sj_free(block);
        bool good = sj__profile.live_samples == live && sj__profile_site_of(own) != NULL;
        _exit(good ? 0 : 1);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    CHECK(sj__profile_site_of(block) != NULL);
    sj_free(block);
}

static void nothing_is_kept(void)
{
    for (unsigned i = 0; i < 1000; i++)
        sj_free(allocate(i * 100));
    CHECK_EQ(sj__profile.self, 0);
    CHECK_EQ(sj_load_relaxed_u32(&sj__profile.sites), 0);
}

static const struct {
    const char *options;
    void (*run)(void);
} children[] = {
    { "seed=7,profile=on,profile_rate=4k", estimates_are_near },
    { "seed=7,profile=on,profile_rate=4k,level=0", estimates_are_near },
    { "seed=7,profile=on,profile_rate=4k,level=4", estimates_are_near },
    { "profile=on,profile_rate=1", blocks_are_followed },
    { "profile=on,profile_rate=1,level=0", blocks_are_followed },
    { "profile=on,profile_rate=1,level=4", blocks_are_followed },
    { "profile=on,profile_rate=1,live=off", arenas_and_labels_are_followed },
    { "seed=1,profile=on,profile_rate=1", tables_are_bounded },
    { "seed=2,profile=on,profile_rate=1", a_child_goes_on },
    { "profile=off,profile_rate=1", nothing_is_kept },
    { "profile=on,profile_rate=0", nothing_is_kept },
};

static void check_all(void (*run)(void))
{
    for (size_t i = 0; i < sizeof children / sizeof children[0]; i++)
        if (children[i].run == run)
            check_under(children[i].options);
}

static void heap_profile__estimates_are_near(void)
{
    check_all(estimates_are_near);
}

static void heap_profile__blocks_are_followed(void)
{
    check_all(blocks_are_followed);
}

static void heap_profile__arenas_and_labels_are_followed(void)
{
    check_all(arenas_and_labels_are_followed);
}

static void heap_profile__counts_all_when_tables_are_full(void)
{
    check_all(tables_are_bounded);
}

static void heap_profile__goes_on_in_a_child(void)
{
    check_all(a_child_goes_on);
}

static void heap_profile__is_not_kept_when_off(void)
{
    check_all(nothing_is_kept);
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
    RUN(heap_profile__estimates_are_near);
    RUN(heap_profile__blocks_are_followed);
    RUN(heap_profile__arenas_and_labels_are_followed);
    RUN(heap_profile__counts_all_when_tables_are_full);
    RUN(heap_profile__goes_on_in_a_child);
    RUN(heap_profile__is_not_kept_when_off);
    return unit_end();
}
