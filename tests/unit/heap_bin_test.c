/* SPDX-License-Identifier: MIT
 *
 * What: a heap's bins and slabs: what a free puts where, when slabs are left, taken up again and closed, and that planes,
 * bins and counts agree after any program.
 *
 * Why this way: one thread, so that every bit is accounted for at every step. What depends on the policy runs again in
 * a process of its own for each.
 *
 * Invariants checked: a slot is in one place only: the program's, a bin's word, available, or not opened; what a slab
 * counts as used is the first two.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "front/entry.h"
#include "heap/adopt.h"
#include "heap/detain.h"
#include "heap/remote.h"
#include "scrubjay.h"

#define OPTIONS "level=0" /* lifo, nothing random, no scrubbing */

enum { LIVE_MAX = 1024, PROGRAM_STEPS = 40000 };

static struct sj_bin *bin_of(size_t size_bytes)
{
    return sj_heap_bin_for(sj__heap_current, size_bytes);
}

static bool is_in_bin(const void *block, size_t size_bytes)
{
    return bin_of(size_bytes)->word == word_of(block) && (word_of(block)->available & bit_of(block)) != 0;
}

static bool is_available(const void *block)
{
    return (word_of(block)->available & bit_of(block)) != 0;
}

static bool is_lifo(void)
{
    return sj__sealed.settings.policy.delay == SJ_DELAY_LIFO;
}

/* --- Everything in its place. --- */

static void check_slab(const struct sj_slab *slab)
{
    const struct sj_heap *heap = sj_load_relaxed_ptr(&slab->span.owner);
    const struct sj_bin *bin = &heap->bins[slab->class_index];
    unsigned used = 0;
    for (unsigned w = 0; w < slab->words; w++) {
        const struct sj_word *word = &slab->planes[w];
        uint64_t held = bin->slab == slab && bin->word == word ? bin->bits : 0;
        if ((word->live & word->available) != 0 || (word->live & held) != 0 || (word->available & held) != 0)
            CHECK((word->live & word->available) == 0 && ((word->live | word->available) & held) == 0);
        used += sj_count_bits(word->live | held);
    }
    if (!slab->uncounted)
        CHECK_EQ(sj_slab_used(slab), used + sj__detain_count(heap, slab));
    CHECK_EQ(slab->uncounted, bin->slab == slab && is_lifo());
    CHECK_EQ(slab->place == SJ_SLAB_CURRENT, bin->slab == slab);
}

static void check_heap(struct sj_heap *heap)
{
    for (unsigned c = 0; c < SJ_CLASS_COUNT; c++) {
        const struct sj_bin_list *list = &heap->lists[c];
        unsigned count = 0;
        const struct sj_slab *previous = NULL;
        for (const struct sj_slab *slab = list->first; slab != NULL; slab = slab->next) {
            CHECK(slab->previous == previous && slab->place == SJ_SLAB_PARTIAL && slab->class_index == c);
            CHECK(sj_load_relaxed_ptr(&slab->span.owner) == heap);
            previous = slab;
            count++;
        }
        CHECK(list->last == previous);
        CHECK_EQ(list->count, count);
        CHECK(heap->bins[c].bits == 0 || (heap->bins[c].slab != NULL && !is_lifo()));
        CHECK(heap->bins[c].word == &sj__heap_no_word || heap->bins[c].slab != NULL);
    }
}

static void check_all(void)
{
    unsigned owned = 0, slabs = 0;
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all) {
        sj__lock(&heap->lock);
        sj__remote_fold(&sj__sealed.settings.policy, heap);
        sj__unlock(&heap->lock);
        check_heap(heap);
        for (unsigned c = 0; c < SJ_CLASS_COUNT; c++)
            owned += heap->lists[c].slabs;
    }
    size_t granules = sj_load_relaxed_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT;
    for (size_t granule = 0; granule < granules; granule++) {
        struct sj_span *span = sj_window_lookup(granule);
        if (sj_load_relaxed_u32(&span->kind) != SJ_SPAN_SLAB ||
            ((struct sj_slab *)(void *)span)->first_granule != granule)
            continue;
        check_slab((struct sj_slab *)(void *)span);
        slabs++;
    }
    CHECK_EQ(slabs, owned);
}

/* --- Reuse at once. --- */

static void heap_bin__freed_slot_of_the_current_word_is_next_with_lifo(void)
{
    void *blocks[20];
    for (unsigned i = 0; i < 20; i++)
        REQUIRE((blocks[i] = sj_malloc(100)) != NULL);
    struct sj_bin *bin = bin_of(100);
    REQUIRE(word_of(blocks[19]) == bin->word);
    sj_free(blocks[19]);
    CHECK(is_in_bin(blocks[19], 100));
    CHECK(sj_malloc(100) == blocks[19]);
    CHECK(!is_in_bin(blocks[19], 100));
    check_all();
    for (unsigned i = 0; i < 20; i++)
        sj_free(blocks[i]);
    check_all();
}

static void heap_bin__freed_slot_of_another_word_becomes_available(void)
{
    enum { BLOCKS = 130 };
    void *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        REQUIRE((blocks[i] = sj_malloc(48)) != NULL);
    REQUIRE(word_of(blocks[0]) != bin_of(48)->word);
    sj_free(blocks[0]);
    CHECK(is_available(blocks[0]) && !is_in_bin(blocks[0], 48));
    check_all();
    for (unsigned i = 1; i < BLOCKS; i++)
        sj_free(blocks[i]);
    check_all();
}

static void heap_bin__slab_that_the_bin_has_left_gets_its_slots_back_itself(void)
{
    enum { BLOCKS = 3000 }; /* several slabs of 512 */
    static void *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        REQUIRE((blocks[i] = sj_malloc(128)) != NULL);
    const struct sj_slab *left = slab_of(blocks[0]);
    REQUIRE(left != bin_of(128)->slab);
    CHECK(!left->uncounted);
    for (unsigned i = 0; i < BLOCKS && slab_of(blocks[i]) == left; i++) {
        sj_free(blocks[i]);
        CHECK(is_available(blocks[i]));
        blocks[i] = NULL;
        if (left->place != SJ_SLAB_FULL)
            break;
    }
    check_all();
    for (unsigned i = 0; i < BLOCKS; i++)
        sj_free(blocks[i]);
    check_all();
}

static void heap_bin__trim_empties_bins_and_frees_after_it_reach_the_slab(void)
{
    void *blocks[10];
    for (unsigned i = 0; i < 10; i++)
        REQUIRE((blocks[i] = sj_malloc(80)) != NULL);
    struct sj_bin *bin = bin_of(80);
    struct sj_word *word = bin->word;
    CHECK(word->available != 0);
    (void)sj_malloc_trim(0);
    CHECK(bin->word == &sj__heap_no_word);
    CHECK(bin->slab == NULL);
    CHECK(!slab_of(blocks[0])->uncounted);
    check_all();
    for (unsigned i = 0; i < 5; i++) {
        CHECK(word_of(blocks[i]) == word);
        sj_free(blocks[i]);
        CHECK(is_available(blocks[i]));
        CHECK(bin->word == &sj__heap_no_word);
    }
    check_all();
    void *next[5];
    for (unsigned i = 0; i < 5; i++) {
        REQUIRE((next[i] = sj_malloc(80)) != NULL);
        for (unsigned j = 5; j < 10; j++)
            CHECK(next[i] != blocks[j]);
    }
    check_all();
    for (unsigned i = 0; i < 5; i++) {
        sj_free(next[i]);
        sj_free(blocks[5 + i]);
    }
    check_all();
}

/* As if a signal handler had filled the bin anew between the choice of a slot that owes and its payment. */
static void heap_bin__slot_is_paid_in_its_own_slab_when_the_bin_has_moved_on(void)
{
    enum { BLOCKS = 3000, BYTES = 128 }; /* several slabs of 512 */
    static unsigned char *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) {
        REQUIRE((blocks[i] = sj_malloc(BYTES)) != NULL);
        memset(blocks[i], 0xee, BYTES);
    }
    struct sj_heap *heap = sj__heap_current;
    REQUIRE(slab_of(blocks[1]) != bin_of(BYTES)->slab);
    sj_free(blocks[1]);
    CHECK((word_of(blocks[1])->dirty & bit_of(blocks[1])) != 0);
    uint64_t paid_bytes = heap->paid_reuse_bytes;
    sj__heap_pay_slot(heap, (char *)blocks[1]);
    CHECK_EQ(heap->paid_reuse_bytes - paid_bytes, BYTES);
    CHECK((word_of(blocks[1])->dirty & bit_of(blocks[1])) == 0);
    for (unsigned i = 0; i < BYTES; i++)
        CHECK(blocks[1][i] == 0 && blocks[0][i] == 0xee && blocks[2][i] == 0xee);
    for (unsigned i = 0; i < BLOCKS; i++)
        if (i != 1)
            sj_free(blocks[i]);
    check_all();
}

/* --- Slabs that come and go. --- */

static void heap_bin__full_slab_comes_back_when_an_eighth_is_free(void)
{
    enum { BLOCKS = 2048 };
    static void *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        REQUIRE((blocks[i] = sj_malloc(64)) != NULL);
    const struct sj_slab *full = NULL;
    for (unsigned i = 0; i < BLOCKS && full == NULL; i++)
        if (slab_of(blocks[i])->place == SJ_SLAB_FULL)
            full = slab_of(blocks[i]);
    REQUIRE(full != NULL);
    unsigned freed = 0, eighth = full->slots / 8;
    for (unsigned i = 0; i < BLOCKS && full->place == SJ_SLAB_FULL; i++)
        if (slab_of(blocks[i]) == full) {
            sj_free(blocks[i]);
            blocks[i] = NULL;
            freed++;
        }
    CHECK_EQ(full->place, SJ_SLAB_PARTIAL);
    CHECK_EQ(freed, eighth);
    check_all();
    for (unsigned i = 0; i < BLOCKS; i++)
        sj_free(blocks[i]);
    check_all();
}

static uint64_t slabs_now(void)
{
    struct sj_stats stats;
    CHECK_EQ(sj_stats_read(&stats), 0);
    return stats.slabs;
}

static void heap_bin__empty_slabs_are_closed_but_for_one(void)
{
    enum { BLOCKS = 1000 };
    static void *blocks[BLOCKS];
    (void)sj_malloc_trim(0);
    uint64_t before = slabs_now();
    for (unsigned i = 0; i < BLOCKS; i++)
        REQUIRE((blocks[i] = sj_malloc(4096)) != NULL);
    CHECK(slabs_now() >= before + BLOCKS / 16);
    for (unsigned i = 0; i < BLOCKS; i++)
        sj_free(blocks[i]);
    CHECK(slabs_now() <= before + 2); /* the current one, and one */
    check_all();
    (void)sj_malloc_trim(0);
    CHECK_EQ(slabs_now(), before);
    check_all();
}

static void heap_bin__lone_object_does_not_open_and_close_slabs(void)
{
    struct sj_stats before, after;
    sj_free(sj_malloc(2000));
    CHECK_EQ(sj_stats_read(&before), 0);
    for (unsigned i = 0; i < 10000; i++)
        sj_free(sj_malloc(2000));
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.slabs, before.slabs);
    CHECK_EQ(after.free_held_bytes, before.free_held_bytes);
}

/* What a bin hands out is not counted one by one with lifo; the sums must be right all the same, at any time. */
static void heap_bin__allocations_are_counted_to_the_block(void)
{
    enum { BLOCKS = 5000 };
    static void *blocks[BLOCKS];
    struct sj_stats before, after;
    CHECK_EQ(sj_stats_read(&before), 0);
    for (unsigned i = 0; i < BLOCKS; i++) {
        REQUIRE((blocks[i] = sj_malloc(200)) != NULL);
        if (i % 3 == 0)
            sj_free(sj_malloc(200));
        if (i % 1000 == 999) {
            CHECK_EQ(sj_stats_read(&after), 0);
            CHECK_EQ(after.allocations - before.allocations, i + 1 + (i + 3) / 3);
            CHECK_EQ(after.frees - before.frees, (i + 3) / 3);
        }
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        sj_free(blocks[i]);
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.allocations - before.allocations, BLOCKS + (BLOCKS + 2) / 3);
    CHECK_EQ(after.allocations - after.frees, before.allocations - before.frees);
    struct sj_slab *slab = bin_of(200)->slab;
    REQUIRE(slab != NULL && slab->uncounted);
    slab->until_slow = 1; /* as if it had seen all the frees that it can count, which must then be in the sum */
    uint64_t unseen = SJ_SLAB_UNCOUNTED - 1;
    CHECK_EQ(sj_stats_read(&before), 0);
    sj_free(sj_malloc(200));
    CHECK_EQ(slab->until_slow, SJ_SLAB_UNCOUNTED);
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.allocations - before.allocations, 1);
    CHECK(after.allocations > unseen);
    check_all();
}

/* As if a signal handler had left a count too low: the slab must not be closed under a live block. */
static void heap_bin__slab_counted_wrong_is_counted_again_not_closed(void)
{
    enum { BLOCKS = 600 };
    static void *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        REQUIRE((blocks[i] = sj_malloc(160)) != NULL);
    struct sj_slab *slab = slab_of(blocks[0]);
    REQUIRE(slab->place == SJ_SLAB_FULL);
    sj__lock(&sj__heap_current->lock);
    slab->until_slow = 1 - (int32_t)slab->trigger; /* one used, as it says */
    sj__unlock(&sj__heap_current->lock);
    void *spare = sj_malloc(160); /* so that this slab is not the list's only one */
    sj_free(blocks[1]);
    sj__heap_note_free(&sj__sealed.settings.policy, sj__heap_current, slab);
    sj__heap_note_free(&sj__sealed.settings.policy, sj__heap_current, slab);
    CHECK(slab_of(blocks[0]) == slab);
    CHECK((word_of(blocks[0])->live & bit_of(blocks[0])) != 0);
    blocks[1] = spare;
    for (unsigned i = 0; i < BLOCKS; i++)
        sj_free(blocks[i]);
    (void)sj_malloc_trim(0);
}

/* --- Any program, under each policy. --- */

static void *live[LIVE_MAX];
static size_t live_size[LIVE_MAX];

static void step(uint64_t *state)
{
    unsigned i = (unsigned)unit_random_below(state, LIVE_MAX);
    if (live[i] != NULL) {
        unsigned char *bytes = live[i];
        CHECK(live_size[i] == 0 || (bytes[0] == i % 256 && bytes[live_size[i] - 1] == i % 256));
        sj_free(live[i]);
        live[i] = NULL;
        return;
    }
    live_size[i] = unit_random_below(state, (size_t)1 << unit_random_below(state, 15));
    live[i] = sj_malloc(live_size[i]);
    CHECK(live[i] != NULL);
    if (live_size[i] > 0)
        memset(live[i], (int)(i % 256), live_size[i]);
}

static int run_program(void)
{
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < PROGRAM_STEPS && !unit_failed(); i++) {
        step(&state);
        if (i % 997 == 0)
            check_all();
        if (i % 9001 == 9000) {
            (void)sj_malloc_trim(0);
            check_all();
        }
        if (i % 4096 == 0) /* waves: empty nearly all */
            for (unsigned j = 0; j < LIVE_MAX; j += 1 + (unsigned)unit_random_below(&state, 3)) {
                sj_free(live[j]);
                live[j] = NULL;
            }
    }
    for (unsigned i = 0; i < LIVE_MAX; i++)
        sj_free(live[i]);
    check_all();
    (void)sj_malloc_trim(0);
    check_all();
    CHECK_EQ(slabs_now(), 0);
    return (int)unit_failed();
}

static void heap_bin__planes_bins_and_counts_agree_after_any_program(void)
{
    check_under("level=0");
    check_under("level=1");
    check_under("level=2");
    check_under("level=0,random=on,scrub=reuse");
    check_under("level=2,random=off,scrub=free");
    check_under("level=3");
    check_under("level=4,verify=off");
}

int main(int argc, char **argv)
{
    if (unit_child_options() != NULL)
        return run_program();
    run_under(OPTIONS, argv);
    unit_begin(argc, argv);
    RUN(heap_bin__freed_slot_of_the_current_word_is_next_with_lifo);
    RUN(heap_bin__freed_slot_of_another_word_becomes_available);
    RUN(heap_bin__slab_that_the_bin_has_left_gets_its_slots_back_itself);
    RUN(heap_bin__trim_empties_bins_and_frees_after_it_reach_the_slab);
    RUN(heap_bin__slot_is_paid_in_its_own_slab_when_the_bin_has_moved_on);
    RUN(heap_bin__full_slab_comes_back_when_an_eighth_is_free);
    RUN(heap_bin__empty_slabs_are_closed_but_for_one);
    RUN(heap_bin__lone_object_does_not_open_and_close_slabs);
    RUN(heap_bin__allocations_are_counted_to_the_block);
    RUN(heap_bin__slab_counted_wrong_is_counted_again_not_closed);
    RUN(heap_bin__planes_bins_and_counts_agree_after_any_program);
    return unit_end();
}
