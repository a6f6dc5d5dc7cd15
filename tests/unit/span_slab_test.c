/* SPDX-License-Identifier: MIT
 *
 * What: slabs: opening, taking, paying and closing, and what the planes say meanwhile.
 *
 * Why this way: the test plays the owner: it hands slots out and frees them by the planes, as the fast paths do, and
 * keeps a state a slot of its own to compare with. Slots are written, so that "reads as zero" is looked at.
 *
 * Invariants checked: no slot is taken twice; live and available are never both set; the used count is what is taken or
 * live; a slot that is neither live nor dirty reads as zero.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "front/entry.h"
#include "platform/pages.h"
#include "span/run.h"
#include "span/slab.h"

#include <signal.h>
#include <sys/wait.h>

enum { SLOTS_MAX = SJ_SLAB_MAX_WORDS * (int)SJ_WORD_BITS };

static int owner; /* whose address stands for a heap */

static const struct sj_policy common = SJ_POLICY_LEVEL_1; /* places come from the runs and go there */

static const struct sj_take at_once = { .unit_slots = SJ_WORD_BITS, .rich_slots = 8 };

static struct sj_slab *open_slab(unsigned class_index)
{
    return sj__slab_open(&common, class_index, &owner, 2);
}

static char *slot_start(const struct sj_slab *slab, unsigned slot)
{
    return slab->base + (size_t)slot * slab->slot_bytes;
}

static bool is_zero(const char *bytes, size_t count)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* --- The owner's part: as front/fast.h and heap/remote.c do it. --- */

static struct sj_word *word_at(struct sj_slab *slab, unsigned slot)
{
    return &slab->planes[slot / SJ_WORD_BITS];
}

static uint64_t bit_at(unsigned slot)
{
    return (uint64_t)1 << (slot % SJ_WORD_BITS);
}

static void hand_out(struct sj_slab *slab, unsigned slot)
{
    sj_word_set(&word_at(slab, slot)->live, bit_at(slot));
    memset(slot_start(slab, slot), 0x5a, slab->slot_bytes);
}

static void free_slot(struct sj_slab *slab, unsigned slot, bool scrub)
{
    struct sj_word *word = word_at(slab, slot);
    if (scrub)
        memset(slot_start(slab, slot), 0, slab->slot_bytes);
    else
        sj_word_set(&word->dirty, bit_at(slot));
    sj_word_set(&word->freed, bit_at(slot));
    sj_word_clear(&word->live, bit_at(slot));
    sj_word_set(&word->available, bit_at(slot));
    slab->until_slow--;
}

/* Puts taken slots back that were never handed out. */
static void put_back(struct sj_slab *slab, const struct sj_group *group)
{
    sj_word_set(&slab->planes[group->word_index].available, group->bits);
    slab->until_slow -= (int32_t)sj_count_bits(group->bits);
}

static unsigned count_plane(const struct sj_slab *slab, size_t plane_offset)
{
    unsigned count = 0;
    for (unsigned w = 0; w < slab->words; w++)
        count += sj_count_bits(*(const uint64_t *)(const void *)((const char *)&slab->planes[w] + plane_offset));
    return count;
}

static void check_planes(const struct sj_slab *slab)
{
    for (unsigned w = 0; w < slab->words; w++)
        CHECK((slab->planes[w].live & slab->planes[w].available) == 0);
    unsigned rest = slab->slots % SJ_WORD_BITS;
    uint64_t beyond = rest == 0 ? 0 : ~sj_low_mask(rest);
    const struct sj_word *last = &slab->planes[slab->words - 1];
    CHECK(((last->live | last->available | last->dirty | last->freed) & beyond) == 0);
}

static void check_group(const struct sj_slab *slab, const struct sj_group *group)
{
    CHECK(group->bits != 0);
    CHECK(sj_is_power_of_two(group->slots) && group->slots <= SJ_WORD_BITS);
    CHECK_EQ(group->first_slot % group->slots, 0);
    CHECK((group->bits & ~(sj_low_mask(group->slots) << group->first_slot)) == 0);
    unsigned last = group->word_index * SJ_WORD_BITS + sj_highest_bit(group->bits);
    CHECK(last < slab->slots);
    CHECK((slab->planes[group->word_index].available & group->bits) == 0);
    CHECK((slab->planes[group->word_index].live & group->bits) == 0);
}

/* --- Opening and taking. --- */

static void span_slab__opens_with_nothing_taken_and_owned_granules(void)
{
    for (unsigned c = 1; c < SJ_CLASS_COUNT; c++) {
        struct sj_slab *slab = open_slab(c);
        REQUIRE(slab != NULL);
        const struct sj_size_class *size_class = &sj__size_classes[c];
        CHECK(sj_load_relaxed_ptr(&slab->span.owner) == &owner);
        CHECK_EQ(sj_load_relaxed_u32(&slab->span.kind), SJ_SPAN_SLAB);
        CHECK_EQ(slab->stamp, 2);
        CHECK_EQ((uintptr_t)slab->base % SJ_GRANULE_BYTES, 0);
        CHECK_EQ(slab->slots, size_class->slots);
        CHECK_EQ(sj_slab_used(slab), 0);
        CHECK(sj__slab_is_idle(slab));
        for (size_t offset = 0; offset < (size_t)size_class->granules << SJ_GRANULE_SHIFT; offset += SJ_GRANULE_BYTES)
            CHECK(sj__window_find(slab->base + offset) == &slab->span);
        check_planes(slab);
        sj__slab_close(slab);
    }
}

static void check_takes_every_slot_once(unsigned class_index, const struct sj_take *how)
{
    static uint64_t seen[SJ_SLAB_MAX_WORDS];
    struct sj_slab *slab = open_slab(class_index);
    REQUIRE(slab != NULL);
    slab->first_group = (uint16_t)(unit_state.seed % slab->groups);
    memset(seen, 0, sizeof seen);
    struct sj_group group;
    unsigned taken = 0;
    while (sj__slab_take(slab, how, &group)) {
        check_group(slab, &group);
        CHECK((seen[group.word_index] & group.bits) == 0);
        seen[group.word_index] |= group.bits;
        taken += sj_count_bits(group.bits);
        CHECK_EQ(sj_slab_used(slab), taken);
        if (!CHECK(taken <= slab->slots))
            return;
    }
    CHECK_EQ(taken, slab->slots);
    check_planes(slab);
    sj__slab_close(slab);
}

static void span_slab__takes_every_slot_once(void)
{
    for (unsigned c = 0; c < SJ_CLASS_COUNT; c++) {
        struct sj_take how = at_once;
        check_takes_every_slot_once(c, &how);
        how.rest_bytes = SIZE_MAX;
        check_takes_every_slot_once(c, &how);
        how = (struct sj_take){ .unit_slots = sj__size_classes[c].unit_slots, .rich_slots = 2, .rest_bytes = 16384 };
        check_takes_every_slot_once(c, &how);
        how.rich_only = true;
        check_takes_every_slot_once(c, &how);
    }
}

static void span_slab__begins_at_its_first_group_and_opens_no_more_than_needed(void)
{
    for (unsigned c = 1; c < SJ_CLASS_COUNT; c++) {
        struct sj_slab *slab = open_slab(c);
        REQUIRE(slab != NULL);
        slab->first_group = (uint16_t)(slab->groups - 1);
        struct sj_group group;
        for (unsigned i = 0; i < 20; i++) { /* all that is taken is put back: the first group serves for ever */
            REQUIRE(sj__slab_take(slab, &at_once, &group));
            if (sj_count_bits(group.bits) < at_once.rich_slots)
                break;
            unsigned first_slot = slab->first_group * sj__size_classes[c].fresh_slots;
            CHECK(group.word_index == first_slot / SJ_WORD_BITS && (group.bits & bit_at(first_slot)) != 0);
            put_back(slab, &group);
            CHECK_EQ(slab->opened, 1);
        }
        if (slab->opened == 1 && sj_slab_used(slab) != 0)
            put_back(slab, &group);
        sj__slab_close(slab);
    }
}

static void span_slab__lets_slots_rest_until_enough_of_it_is_open(void)
{
    enum { REST_BYTES = 16384 };
    for (unsigned c = 1; c < SJ_CLASS_COUNT; c++) {
        struct sj_slab *slab = open_slab(c);
        REQUIRE(slab != NULL);
        struct sj_take how = at_once;
        how.rich_slots = 1;
        how.rest_bytes = REST_BYTES;
        struct sj_group group;
        size_t span_bytes = 0;
        unsigned opened = 0;
        while (span_bytes < REST_BYTES && opened < slab->groups) {
            REQUIRE(sj__slab_take(slab, &how, &group));
            CHECK_EQ(slab->opened, ++opened);
            span_bytes = (size_t)opened * sj__size_classes[c].fresh_slots * slab->slot_bytes;
            put_back(slab, &group);
        }
        REQUIRE(sj__slab_take(slab, &how, &group));
        CHECK_EQ(slab->opened, opened);
        put_back(slab, &group);
        sj__slab_close(slab);
    }
}

static void span_slab__prefers_fresh_to_poor_and_the_fullest_when_all_are_poor(void)
{
    struct sj_slab *slab = open_slab(sj_class_of(64)); /* 16 groups of 64 */
    REQUIRE(slab != NULL);
    struct sj_group group;
    REQUIRE(sj__slab_take(slab, &at_once, &group));
    group.bits = sj_low_mask(at_once.rich_slots - 1);
    put_back(slab, &group);
    struct sj_group next;
    REQUIRE(sj__slab_take(slab, &at_once, &next));
    CHECK(next.word_index != group.word_index);
    while (slab->opened < slab->groups)
        REQUIRE(sj__slab_take(slab, &at_once, &next));
    struct sj_group fuller = { .bits = sj_low_mask(at_once.rich_slots - 2) << 40, .word_index = 9, .slots = 64 };
    put_back(slab, &fuller);
    struct sj_take how = at_once;
    how.rich_only = true;
    CHECK(!sj__slab_take(slab, &how, &next));
    REQUIRE(sj__slab_take(slab, &at_once, &next));
    CHECK_EQ(next.word_index, group.word_index);
    CHECK_EQ(next.bits, group.bits);
    REQUIRE(sj__slab_take(slab, &at_once, &next));
    CHECK_EQ(next.bits, fuller.bits);
    CHECK(!sj__slab_take(slab, &at_once, &next));
    CHECK_EQ(sj_slab_used(slab), slab->slots);
    sj__slab_close(slab);
}

static void span_slab__trigger_does_not_change_what_is_used(void)
{
    struct sj_slab *slab = open_slab(sj_class_of(64));
    REQUIRE(slab != NULL);
    struct sj_group group;
    REQUIRE(sj__slab_take(slab, &at_once, &group));
    uint32_t used = sj_slab_used(slab);
    for (uint32_t trigger = 0; trigger <= used; trigger++) {
        sj_slab_set_trigger(slab, trigger);
        CHECK_EQ(sj_slab_used(slab), used);
        CHECK_EQ(slab->until_slow, (int32_t)(used - trigger));
    }
    sj_slab_set_trigger(slab, 0);
    put_back(slab, &group);
    sj__slab_close(slab);
}

static void span_slab__is_idle_only_without_live_and_remote_bits(void)
{
    struct sj_slab *slab = open_slab(sj_class_of(64));
    REQUIRE(slab != NULL);
    struct sj_group group;
    REQUIRE(sj__slab_take(slab, &at_once, &group));
    CHECK(sj__slab_is_idle(slab));
    unsigned slot = group.word_index * SJ_WORD_BITS + sj_lowest_bit(group.bits);
    hand_out(slab, slot);
    CHECK(!sj__slab_is_idle(slab));
    (void)sj_fetch_or_acq_rel_u64(&slab->remote->bits[group.word_index], bit_at(slot));
    free_slot(slab, slot, true);
    CHECK(!sj__slab_is_idle(slab));
    (void)sj_fetch_and_acq_rel_u64(&slab->remote->bits[group.word_index], 0);
    CHECK(sj__slab_is_idle(slab));
    sj__slab_close(slab);
}

/* --- Paying. --- */

static void check_pays_exactly(unsigned class_index, uint64_t dirty, uint64_t of)
{
    struct sj_slab *slab = open_slab(class_index);
    REQUIRE(slab != NULL);
    unsigned slots = slab->slots < SJ_WORD_BITS ? slab->slots : SJ_WORD_BITS;
    size_t bytes = (size_t)slots * slab->slot_bytes;
    dirty &= sj_low_mask(slots);
    memset(slab->base, 0x77, bytes);
    slab->planes[0].dirty = dirty;
    struct sj_group group = { .bits = of, .word_index = 0, .slots = SJ_WORD_BITS };
    CHECK_EQ(sj__slab_pay(slab, &group), (size_t)sj_count_bits(dirty & of) * slab->slot_bytes);
    CHECK_EQ(slab->planes[0].dirty, dirty & ~of);
    for (unsigned slot = 0; slot < slots; slot++) {
        bool paid = (dirty & of & bit_at(slot)) != 0;
        const char *start = slot_start(slab, slot);
        CHECK_EQ(start[0], paid ? 0 : 0x77);
        CHECK(memcmp(start, start + 1, slab->slot_bytes - 1) == 0);
    }
    CHECK_EQ(sj__slab_pay(slab, &group), 0);
    memset(slab->base, 0, bytes);
    slab->planes[0].dirty = 0;
    sj__slab_close(slab);
}

static void span_slab__pays_what_is_dirty_and_nothing_else(void)
{
    uint64_t state = unit_state.seed;
    const uint64_t fixed[] = { 0, ~(uint64_t)0, 1, (uint64_t)1 << 63, 0x5555555555555555u, 0xffff0000ffff0000u };
    for (unsigned c = 1; c < SJ_CLASS_COUNT; c++) {
        for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
            check_pays_exactly(c, fixed[i], ~(uint64_t)0);
            check_pays_exactly(c, ~(uint64_t)0, fixed[i]);
        }
        for (unsigned i = 0; i < 4; i++)
            check_pays_exactly(c, unit_random(&state), unit_random(&state));
    }
}

/* --- Closing and opening again. --- */

static struct sj_slab *slab_with_old_bytes(unsigned class_index)
{
    struct sj_slab *slab = open_slab(class_index);
    struct sj_group group;
    while (slab != NULL && sj__slab_take(slab, &at_once, &group))
        for (uint64_t left = group.bits; left != 0; left &= left - 1) {
            unsigned slot = group.word_index * SJ_WORD_BITS + sj_lowest_bit(left);
            hand_out(slab, slot);
            free_slot(slab, slot, false);
            sj_word_clear(&word_at(slab, slot)->available, bit_at(slot)); /* so that the next take goes on */
            slab->until_slow++;
        }
    return slab;
}

static void span_slab__opens_dirty_on_pages_closed_dirty(void)
{
    for (unsigned c = 1; c < SJ_CLASS_COUNT; c++) {
        struct sj_slab *slab = slab_with_old_bytes(c);
        REQUIRE(slab != NULL);
        CHECK_EQ(count_plane(slab, offsetof(struct sj_word, dirty)), slab->slots);
        char *base = slab->base;
        sj__slab_close(slab);
        slab = open_slab(c);
        REQUIRE(slab != NULL);
        CHECK(slab->base == base);
        CHECK_EQ(count_plane(slab, offsetof(struct sj_word, dirty)), slab->slots);
        sj__slab_close(slab);
        (void)sj__run_purge();
    }
}

/* Slots that were dirty and are paid, and the bytes behind the last slot, which nobody pays for. */
static void span_slab__gives_zero_pages_back_only_if_every_byte_is(void)
{
    for (unsigned c = 1; c < SJ_CLASS_COUNT; c++) {
        size_t granules = sj__size_classes[c].granules, first;
        enum sj_run_content content;
        REQUIRE(sj__run_take(granules, &first, &content));
        memset(sj_window_address(first), 0x66, granules << SJ_GRANULE_SHIFT);
        sj__run_give(first, granules, SJ_RUN_DIRTY);
        struct sj_slab *slab = open_slab(c);
        REQUIRE(slab != NULL && slab->first_granule == first);
        for (unsigned w = 0; w < slab->words; w++) {
            struct sj_group group = { .bits = ~(uint64_t)0, .word_index = w };
            (void)sj__slab_pay(slab, &group);
        }
        sj__slab_close(slab);
        REQUIRE(sj__run_take(granules, &first, &content));
        CHECK(content == SJ_RUN_DIRTY || is_zero(sj_window_address(first), granules << SJ_GRANULE_SHIFT));
        sj__run_give(first, granules, SJ_RUN_DIRTY);
        (void)sj__run_purge();
    }
}

static bool touching_faults(volatile char *byte)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        *byte = 1;
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void span_slab__of_zero_sized_objects_faults_and_its_pages_are_usable_after(void)
{
    (void)sj__run_purge();
    struct sj_slab *slab = sj__slab_open(&common, SJ_CLASS_ZERO, &owner, 0);
    REQUIRE(slab != NULL);
    char *base = slab->base;
    CHECK(touching_faults(base));
    CHECK(touching_faults(base + SJ_GRANULE_BYTES - 1));
    sj__slab_close(slab);
    memset(base, 1, SJ_GRANULE_BYTES);
    memset(base, 0, SJ_GRANULE_BYTES);
    size_t first;
    enum sj_run_content content;
    REQUIRE(sj__run_take(1, &first, &content));
    CHECK(sj_window_address(first) == base);
    sj__run_give(first, 1, content);
}

/* --- No memory. --- */

static void span_slab__does_not_open_when_there_is_no_memory_and_loses_none(void)
{
    enum { SLABS_MAX = 4096 };
    static struct sj_slab *slabs[SLABS_MAX];
    unsigned count = 0;
    sj__pages_set_source(&refuse_all);
    while (count < SLABS_MAX && (slabs[count] = open_slab(SJ_CLASS_COUNT - 1)) != NULL)
        count++;
    CHECK(count < SLABS_MAX);
    for (unsigned i = 0; i < 100; i++)
        CHECK(open_slab(SJ_CLASS_COUNT - 1) == NULL);
    unsigned before = count;
    while (count > 0)
        sj__slab_close(slabs[--count]);
    while (count < SLABS_MAX && (slabs[count] = open_slab(SJ_CLASS_COUNT - 1)) != NULL)
        count++;
    CHECK_EQ(count, before);
    while (count > 0)
        sj__slab_close(slabs[--count]);
    sj__pages_set_source(NULL);
}

/* --- A random life. --- */

enum state { CLOSED, AVAILABLE, TAKEN, LIVE };

static unsigned char states[SLOTS_MAX]; /* enum state */

static unsigned count_state(const struct sj_slab *slab, enum state state)
{
    unsigned count = 0;
    for (unsigned slot = 0; slot < slab->slots; slot++)
        count += states[slot] == state;
    return count;
}

static void check_slots(struct sj_slab *slab)
{
    check_planes(slab);
    CHECK_EQ(sj_slab_used(slab), count_state(slab, TAKEN) + count_state(slab, LIVE));
    for (unsigned slot = 0; slot < slab->slots; slot++) {
        const struct sj_word *word = word_at(slab, slot);
        bool live = (word->live & bit_at(slot)) != 0, dirty = (word->dirty & bit_at(slot)) != 0;
        bool available = (word->available & bit_at(slot)) != 0;
        if (live != (states[slot] == LIVE) || available != (states[slot] == AVAILABLE))
            CHECK(live == (states[slot] == LIVE) && available == (states[slot] == AVAILABLE));
        if (!live && !dirty && !is_zero(slot_start(slab, slot), slab->slot_bytes))
            CHECK(is_zero(slot_start(slab, slot), slab->slot_bytes));
    }
}

static void random_take(struct sj_slab *slab, uint64_t *state, bool pay)
{
    struct sj_take how = { .unit_slots = 8u << unit_random_below(state, 4),
                           .rich_slots = 1 + (unsigned)unit_random_below(state, 8),
                           .rest_bytes = unit_random_below(state, 2) == 0 ? 0 : 16384,
                           .rich_only = unit_random_below(state, 2) == 0 };
    struct sj_group group;
    if (!sj__slab_take(slab, &how, &group)) {
        CHECK(how.rich_only || count_state(slab, AVAILABLE) + count_state(slab, CLOSED) == 0);
        return;
    }
    check_group(slab, &group);
    for (uint64_t left = group.bits; left != 0; left &= left - 1) {
        unsigned slot = group.word_index * SJ_WORD_BITS + sj_lowest_bit(left);
        CHECK(states[slot] == AVAILABLE || states[slot] == CLOSED);
        states[slot] = TAKEN;
    }
    if (pay) {
        (void)sj__slab_pay(slab, &group);
        CHECK((slab->planes[group.word_index].dirty & group.bits) == 0);
    }
}

static void random_life(unsigned class_index, uint64_t *state)
{
    struct sj_slab *slab = open_slab(class_index);
    REQUIRE(slab != NULL);
    bool pays = slab->clean_start;
    slab->first_group = (uint16_t)unit_random_below(state, slab->groups);
    memset(states, CLOSED, sizeof states);
    for (unsigned i = 0; i < 60; i++) {
        if (unit_random_below(state, 4) == 0)
            random_take(slab, state, pays && unit_random_below(state, 2) == 0);
        unsigned percent = (unsigned)unit_random_below(state, 100);
        for (unsigned slot = 0; slot < slab->slots; slot++) {
            if (unit_random_below(state, 100) >= percent)
                continue;
            if (states[slot] == TAKEN) {
                hand_out(slab, slot);
                states[slot] = LIVE;
            } else if (states[slot] == LIVE) {
                free_slot(slab, slot,
                          unit_random_below(state, 2) == 0 && (word_at(slab, slot)->dirty & bit_at(slot)) == 0);
                states[slot] = AVAILABLE;
            }
        }
        check_slots(slab);
    }
    for (unsigned slot = 0; slot < slab->slots; slot++)
        if (states[slot] == LIVE)
            free_slot(slab, slot, false);
    CHECK(sj__slab_is_idle(slab));
    sj__slab_close(slab);
}

static void span_slab__planes_agree_with_the_oracle_over_a_random_life(void)
{
    uint64_t state = unit_state.seed;
    for (unsigned c = 1; c < SJ_CLASS_COUNT && !unit_failed(); c++)
        for (unsigned i = 0; i < 2; i++)
            random_life(c, &state);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    if (!sj__start())
        return 1;
    RUN(span_slab__opens_with_nothing_taken_and_owned_granules);
    RUN(span_slab__takes_every_slot_once);
    RUN(span_slab__begins_at_its_first_group_and_opens_no_more_than_needed);
    RUN(span_slab__lets_slots_rest_until_enough_of_it_is_open);
    RUN(span_slab__prefers_fresh_to_poor_and_the_fullest_when_all_are_poor);
    RUN(span_slab__trigger_does_not_change_what_is_used);
    RUN(span_slab__is_idle_only_without_live_and_remote_bits);
    RUN(span_slab__pays_what_is_dirty_and_nothing_else);
    RUN(span_slab__opens_dirty_on_pages_closed_dirty);
    RUN(span_slab__gives_zero_pages_back_only_if_every_byte_is);
    RUN(span_slab__of_zero_sized_objects_faults_and_its_pages_are_usable_after);
    RUN(span_slab__does_not_open_when_there_is_no_memory_and_loses_none);
    RUN(span_slab__planes_agree_with_the_oracle_over_a_random_life);
    return unit_end();
}
