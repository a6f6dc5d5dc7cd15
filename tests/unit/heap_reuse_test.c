/* SPDX-License-Identifier: MIT
 *
 * What: what the statistics say of reuse: the entropy of random picks, and how long freed slots rest.
 *
 * Why this way: entropies against values worked out by hand, and against what picks really do over many of them; rests of
 * programs whose every take is known. What depends on the policy runs in a process of its own.
 *
 * Invariants checked: see heap/picks.h and struct sj_stats.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "heap/picks.h"
#include "scrubjay.h"

/* Of 128 bytes a word of 64 slots is 8 KiB: a group to be opened, and a unit to be taken again. */
enum { SLOT_BYTES = 128, UNIT_SLOTS = 64, BIT = SJ_PICKS_UNITS_A_BIT };

static void heap_reuse__entropy_of_a_pick_is_as_worked_out_by_hand(void)
{
    CHECK_EQ(sj__picks_entropy(~(uint64_t)0, 15), 4 * BIT);
    CHECK_EQ(sj__picks_entropy(~(uint64_t)0, 7), 3 * BIT);
    CHECK_EQ(sj__picks_entropy(~(uint64_t)0, 3), 2 * BIT);
    CHECK_EQ(sj__picks_entropy(0xffff, 15), 4 * BIT);
    /* Each second slot: seven with two places of 16, and two with one: 7/8 * 3 + 1/8 * 4 bits. */
    CHECK_EQ(sj__picks_entropy(0x5555555555555555u, 15), 3 * BIT + BIT / 8);
    CHECK_EQ(sj__picks_entropy(1, 15), 0);
    CHECK_EQ(sj__picks_entropy((uint64_t)1 << 63, 15), 0);
    CHECK_EQ(sj__picks_entropy(0x101, 15), BIT); /* the lowest: its place and seven round the end */
    /* 8 neighbours: seven with one place of 16, the lowest with 9: 7/16 * 4 + 9/16 * log2(16/9) = 2.217 bits */
    CHECK(sj__picks_entropy(0xff, 15) >= 2216 * BIT / 1000 && sj__picks_entropy(0xff, 15) <= 2219 * BIT / 1000);
}

static void heap_reuse__sample_adds_one_refill_in_many(void)
{
    struct sj_picks picks = { 0 };
    sj__picks_note(&picks, 0x3, 15); /* two slots: 1/16 and 15/16, then none to choose */
    CHECK_EQ(picks.sampled, 2);
    CHECK_EQ(picks.entropy, sj__picks_entropy(0x3, 15));
    for (unsigned i = 1; i < SJ_PICKS_REFILLS_A_SAMPLE; i++)
        sj__picks_note(&picks, ~(uint64_t)0, 15);
    CHECK_EQ(picks.sampled, 2);
    sj__picks_note(&picks, ~(uint64_t)0, 15);
    CHECK_EQ(picks.sampled, 66);
    CHECK(picks.entropy <= 65 * 4 * BIT);
}

/* --- Rests. --- */

static void *blocks[4 * UNIT_SLOTS];

static void make(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        blocks[i] = sj_malloc(SLOT_BYTES);
}

static void drop(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        sj_free(blocks[i]);
}

static struct sj_stats read_stats(void)
{
    struct sj_stats stats;
    CHECK_EQ(sj_stats_read(&stats), 0);
    return stats;
}

/* Two units are opened before one is taken again, so a unit's slots rest while the other's are handed out. */
static int check_rests(void)
{
    CHECK_EQ(read_stats().turns, 0);
    CHECK_EQ(read_stats().shortest_rest, UINT64_MAX);
    make(0, 2 * UNIT_SLOTS);
    drop(0, 2 * UNIT_SLOTS);
    CHECK_EQ(read_stats().turns, 0);
    make(0, 1);
    CHECK_EQ(read_stats().turns, 1);
    CHECK_EQ(read_stats().shortest_rest, UNIT_SLOTS);
    make(1, 2 * UNIT_SLOTS - 1);
    CHECK_EQ(read_stats().turns, 2);
    CHECK_EQ(read_stats().shortest_rest, UNIT_SLOTS);
    return (int)unit_failed();
}

/* With all other slots of the slab in use the unit just used up is the only one there is: no rest at all. */
static int check_no_rest(void)
{
    const unsigned slots = sj__size_classes[sj_class_of(SLOT_BYTES)].slots;
    static void *rest[1024];
    make(0, UNIT_SLOTS);
    for (unsigned i = UNIT_SLOTS; i < slots; i++)
        rest[i] = sj_malloc(SLOT_BYTES);
    struct sj_slab *slab = slab_of(blocks[0]);
    CHECK(rest[slots - 1] != NULL && slab_of(rest[slots - 1]) == slab);
    for (unsigned i = slots - UNIT_SLOTS; i < slots; i++)
        sj_free(rest[i]);
    make(0, 1);
    CHECK_EQ(read_stats().turns, 1);
    CHECK_EQ(read_stats().shortest_rest, 0);
    return (int)unit_failed();
}

static int check_nothing_of_lifo(void)
{
    make(0, UNIT_SLOTS);
    drop(0, UNIT_SLOTS);
    make(0, 2 * UNIT_SLOTS);
    CHECK_EQ(read_stats().turns, 0);
    CHECK_EQ(read_stats().pick_millibits, 0);
    return (int)unit_failed();
}

/* The first refill is always in the sample: 64 neighbours, picks among 16. */
static int check_picks(void)
{
    make(0, 1);
    uint64_t millibits = read_stats().pick_millibits;
    NOTE("mean entropy of the picks of a whole word: %llu / 1000 bit", (unsigned long long)millibits);
    CHECK(millibits > 1200 && millibits < 2400);
    return (int)unit_failed();
}

static const struct {
    const char *options;
    int (*check)(void);
} children[] = {
    { "level=0,delay=run", check_rests },
    { "level=0,delay=run,guard=large", check_no_rest },
    { "level=0", check_nothing_of_lifo },
    { "level=1", check_picks },
};

static void heap_reuse__rest_is_what_was_handed_out_in_between(void)
{
    check_under(children[0].options);
}

static void heap_reuse__rest_is_nothing_when_there_is_no_other_unit(void)
{
    check_under(children[1].options);
}

static void heap_reuse__nothing_is_said_without_rest_and_random(void)
{
    check_under(children[2].options);
}

static void heap_reuse__picks_of_a_program_are_measured(void)
{
    check_under(children[3].options);
}

int main(int argc, char **argv)
{
    const char *options = unit_child_options();
    for (size_t i = 0; options != NULL && i < sizeof children / sizeof children[0]; i++)
        if (strcmp(options, children[i].options) == 0)
            return children[i].check();
    unit_begin(argc, argv);
    RUN(heap_reuse__entropy_of_a_pick_is_as_worked_out_by_hand);
    RUN(heap_reuse__sample_adds_one_refill_in_many);
    RUN(heap_reuse__rest_is_what_was_handed_out_in_between);
    RUN(heap_reuse__rest_is_nothing_when_there_is_no_other_unit);
    RUN(heap_reuse__nothing_is_said_without_rest_and_random);
    RUN(heap_reuse__picks_of_a_program_are_measured);
    return unit_end();
}
