/* SPDX-License-Identifier: MIT
 *
 * What: delay=quarantine: what goes in comes out once and late; a freed slot waits in there and is let out by a trim.
 *
 * Why this way: the store alone with numbers, then the heap through the prefixed names.
 *
 * Invariants checked: a slot in quarantine is neither live nor available.
 *
 * Concurrency: one other thread, which has ended before it matters.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "heap/adopt.h"
#include "heap/detain.h"
#include "meta/arena.h"
#include "scrubjay.h"
#include "span/release.h"

#include <pthread.h>

#define OPTIONS "level=0,delay=quarantine"

enum { SLOT_BYTES = 128, STORE_BYTES = 16384, WAITING = STORE_BYTES / SLOT_BYTES, PUT_IN = 20000 };

static void heap_detain__entry_stays_for_the_length_of_the_queue_at_least(void)
{
    static uint64_t entries[1024], leaves[PUT_IN + 1];
    struct sj_quarantine quarantine = { .entries = entries };
    size_t length = sj_quarantine_lay_out(&quarantine, 700);
    CHECK_EQ(length, 512);
    CHECK_EQ(sj_quarantine_length(&quarantine), length);
    uint64_t state = unit_state.seed;
    uint64_t out = 0, stayed_least = PUT_IN, stayed_longest = 0;
    for (uint64_t in = 1; in <= PUT_IN; in++) {
        uint64_t leaving = sj_quarantine_exchange(&quarantine, in, (uint8_t)(unit_random(&state) >> 8));
        if (leaving == 0)
            continue;
        CHECK_EQ(leaves[leaving]++, 0);
        stayed_least = in - leaving < stayed_least ? in - leaving : stayed_least;
        stayed_longest = in - leaving > stayed_longest ? in - leaving : stayed_longest;
        out++;
    }
    for (size_t i = 0; i < length; i++)
        if (entries[i] != 0)
            CHECK_EQ(leaves[entries[i]]++, 0);
    CHECK_EQ(out + length, PUT_IN);
    CHECK(stayed_least > 256 && stayed_longest > 2 * 256);
}

static void heap_detain__store_is_bounded(void)
{
    struct sj_quarantine quarantine = { 0 };
    CHECK_EQ(sj_quarantine_lay_out(&quarantine, 0), 2);
    CHECK_EQ(sj_quarantine_lay_out(&quarantine, 4), 4);
    CHECK_EQ(sj_quarantine_lay_out(&quarantine, 16384), 256 + 8192);
}

static bool waits(const void *block)
{
    return ((word_of(block)->live | word_of(block)->available) & bit_of(block)) == 0;
}

static void heap_detain__freed_slots_wait_until_a_trim(void)
{
    static void *blocks[4 * WAITING];
    for (unsigned i = 0; i < 4 * WAITING; i++)
        blocks[i] = sj_malloc(SLOT_BYTES);
    for (unsigned i = 0; i < 4 * WAITING; i++)
        sj_free(blocks[i]);
    unsigned waiting = 0, last_waiting = 0;
    for (unsigned i = 0; i < 4 * WAITING; i++) {
        waiting += waits(blocks[i]);
        last_waiting += i >= 4 * WAITING - WAITING / 2 && waits(blocks[i]);
    }
    CHECK(waiting <= WAITING && waiting > WAITING - 8); /* a random place may never have been taken */
    CHECK_EQ(last_waiting, WAITING / 2);
    CHECK(sj__detain_count(sj__heap_current, slab_of(blocks[4 * WAITING - 1])) > 0);
    struct sj_slab *slab = slab_of(blocks[0]);
    (void)sj_purge(1);
    CHECK(slab_of(blocks[0]) == NULL || sj__detain_count(sj__heap_current, slab) == 0);
    for (unsigned c = 0; c < SJ_CLASS_COUNT; c++)
        for (size_t i = 0; i < sj_quarantine_length(&sj__heap_current->quarantines[c]); i++)
            CHECK_EQ(sj__heap_current->quarantines[c].entries[i], 0);
}

static void heap_detain__freed_slot_is_not_handed_out_while_it_waits(void)
{
    void *block = sj_malloc(SLOT_BYTES);
    sj_free(block);
    for (unsigned i = 0; i < WAITING / 2; i++) {
        void *other = sj_malloc(SLOT_BYTES);
        CHECK(other != block);
        sj_free(other);
    }
}

/* The one that the slots of this live block's slab go into. */
static struct sj_quarantine *quarantine_of(struct sj_heap *heap, void *block)
{
    return &heap->quarantines[slab_of(block)->class_index];
}

/* The test of a process that starts at level 3. */
static void raise_to_4(void)
{
    void *block = sj_malloc(SLOT_BYTES);
    const struct sj_quarantine *quarantine = quarantine_of(sj__heap_current, block);
    sj_free(block);
    size_t before = sj_quarantine_length(quarantine);
    CHECK(before > 0);
    CHECK_EQ(sj_ctl("level", "4", NULL, 0), 0);
    sj_free(sj_malloc(SLOT_BYTES));
    CHECK(sj_quarantine_length(quarantine) > 2 * before);
}

static void heap_detain__is_enlarged_by_a_raise(void)
{
    check_under("level=3");
}

/* Under short memory a free must not cost a search for more, or take from the free runs what is left. */
static void heap_detain__asks_seldom_for_a_store_when_memory_is_short(void)
{
    enum { SIZE_BYTES = 5000, COUNT = 800, FREED_SHORT = 200 };
    static void *blocks[COUNT];
    struct sj_pages_counters before, after;
    for (unsigned i = 0; i < COUNT; i++)
        blocks[i] = sj_malloc(SIZE_BYTES);
    const struct sj_quarantine *quarantine = quarantine_of(sj__heap_current, blocks[0]);
    REQUIRE(quarantine->entries == NULL);
    sj__pages_set_source(&refuse_all);
    while (sj__arena_alloc(SJ_RECORD_BYTES) != NULL)
        continue;
    sj__pages_read_counters(&before);
    for (unsigned i = 0; i < FREED_SHORT; i++) /* every other, so that no slab is closed */
        sj_free(blocks[2 * i]);
    sj__pages_read_counters(&after);
    sj__pages_set_source(NULL);
    CHECK(quarantine->entries == NULL);
    CHECK_EQ(after.unmaps, before.unmaps);
    CHECK(after.refused - before.refused < FREED_SHORT / 10);
    for (unsigned i = 0; i < COUNT; i++)
        if (i % 2 != 0 || i / 2 >= FREED_SHORT)
            sj_free(blocks[i]);
    CHECK(quarantine->entries != NULL); /* but it is not given up for good */
}

enum { LEFT_BEHIND = 4000, LEFT_BYTES = 48 };

static void *left_behind[LEFT_BEHIND];

static void *leave_behind(void *heap)
{
    for (unsigned i = 0; i < LEFT_BEHIND; i++)
        left_behind[i] = sj_malloc(LEFT_BYTES);
    *(struct sj_heap **)heap = sj__heap_current;
    return NULL;
}

static void heap_detain__nothing_waits_for_a_thread_that_has_ended(void)
{
    pthread_t thread;
    struct sj_heap *heap = NULL;
    struct sj_aging aging = { .oldest_ms = SJ_NEVER_MS };
    REQUIRE(pthread_create(&thread, NULL, leave_behind, &heap) == 0);
    (void)pthread_join(thread, NULL);
    const struct sj_quarantine *quarantine = quarantine_of(heap, left_behind[0]);
    for (unsigned i = 0; i < LEFT_BEHIND; i++)
        sj_free(left_behind[i]);
    sj__adopt_fold_ended(&aging);
    for (size_t i = 0; i < sj_quarantine_length(quarantine); i++)
        CHECK_EQ(quarantine->entries[i], 0);
    CHECK(heap->lists[sj_class_of(LEFT_BYTES)].slabs <= 1); /* one that is empty may be kept */
}

int main(int argc, char **argv)
{
    if (unit_child_options() != NULL) {
        raise_to_4();
        return (int)unit_failed();
    }
    run_under(OPTIONS, argv);
    unit_begin(argc, argv);
    RUN(heap_detain__entry_stays_for_the_length_of_the_queue_at_least);
    RUN(heap_detain__store_is_bounded);
    RUN(heap_detain__freed_slots_wait_until_a_trim);
    RUN(heap_detain__freed_slot_is_not_handed_out_while_it_waits);
    RUN(heap_detain__is_enlarged_by_a_raise);
    RUN(heap_detain__asks_seldom_for_a_store_when_memory_is_short);
    RUN(heap_detain__nothing_waits_for_a_thread_that_has_ended);
    return unit_end();
}
