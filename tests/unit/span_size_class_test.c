/* SPDX-License-Identifier: MIT
 *
 * What: the size classes and the arithmetic of slots, exhaustively.
 *
 * Why this way: the whole domain is small enough to be walked: every size, every class, every offset in a slab, every
 * alignment. What a loop can decide needs no sampling.
 *
 * Invariants: the table is what sj__size_classes_start makes of it.
 *
 * Concurrency: none.
 */
#include "unit/unit.h"

#include "meta/window.h"
#include "span/size_class.h"

enum { STEPS_UP_TO_BYTES = 128, FINE_FROM_BYTES = 1024, WORST_WASTE_PERCENT = 25, MEAN_WASTE_PERCENT = 12 };

static size_t slab_bytes(const struct sj_size_class *size_class)
{
    return (size_t)size_class->granules << SJ_GRANULE_SHIFT;
}

static void span_size_class__classes_rise_and_end_at_the_largest_small_size(void)
{
    CHECK_EQ(sj__size_classes[1].slot_bytes, SJ_SMALL_STEP_BYTES);
    for (unsigned c = 2; c < SJ_CLASS_COUNT; c++)
        CHECK(sj__size_classes[c].slot_bytes > sj__size_classes[c - 1].slot_bytes);
    for (unsigned c = 1; c < SJ_CLASS_COUNT; c++) {
        CHECK_EQ(sj__size_classes[c].slot_bytes % SJ_SMALL_STEP_BYTES, 0);
        CHECK_EQ(sj__size_classes[c].usable_bytes, sj__size_classes[c].slot_bytes);
    }
    CHECK_EQ(sj__size_classes[SJ_CLASS_COUNT - 1].slot_bytes, SJ_SMALL_MAX_BYTES);
}

static void span_size_class__zero_has_slots_of_no_use(void)
{
    CHECK_EQ(sj_class_of(0), SJ_CLASS_ZERO);
    CHECK_EQ(sj__size_classes[SJ_CLASS_ZERO].usable_bytes, 0);
    CHECK_EQ(sj__size_classes[SJ_CLASS_ZERO].slot_bytes, SJ_SMALL_STEP_BYTES);
}

static void span_size_class__every_size_gets_the_smallest_class_that_holds_it(void)
{
    for (size_t size = 1; size <= SJ_SMALL_MAX_BYTES; size++) {
        unsigned c = sj_class_of(size);
        REQUIRE(c >= 1 && c < SJ_CLASS_COUNT);
        CHECK(sj__size_classes[c].slot_bytes >= size);
        CHECK(c == 1 || sj__size_classes[c - 1].slot_bytes < size);
        CHECK_EQ(sj_bin_offset_of(size), (size_t)c << SJ_BIN_SHIFT);
    }
}

static void span_size_class__waste_is_bounded(void)
{
    double sum_percent = 0;
    for (size_t size = 1; size <= SJ_SMALL_MAX_BYTES; size++) {
        size_t slot_bytes = sj__size_classes[sj_class_of(size)].slot_bytes;
        size_t waste_bytes = slot_bytes - size;
        sum_percent += 100.0 * (double)waste_bytes / (double)slot_bytes;
        if (size > FINE_FROM_BYTES)
            CHECK(waste_bytes * 8 < size);
        else if (size > STEPS_UP_TO_BYTES)
            CHECK(waste_bytes * 100 <= size * WORST_WASTE_PERCENT);
        else
            CHECK(waste_bytes < SJ_SMALL_STEP_BYTES);
    }
    double mean_percent = sum_percent / SJ_SMALL_MAX_BYTES;
    NOTE("mean waste over all sizes: %.2f %%", mean_percent);
    CHECK(mean_percent <= MEAN_WASTE_PERCENT);
}

/* Each doubling counts the same, as programs' sizes are rather distributed. */
static void span_size_class__waste_is_bounded_in_each_doubling(void)
{
    double sum_percent = 0;
    unsigned doublings = 0;
    for (size_t low = STEPS_UP_TO_BYTES; low < SJ_SMALL_MAX_BYTES; low *= 2, doublings++) {
        double sum = 0;
        for (size_t size = low + 1; size <= 2 * low; size++) {
            size_t slot_bytes = sj__size_classes[sj_class_of(size)].slot_bytes;
            sum += 100.0 * (double)(slot_bytes - size) / (double)slot_bytes;
        }
        sum_percent += sum / (double)low;
    }
    NOTE("mean waste over doublings: %.2f %%", sum_percent / doublings);
    CHECK(sum_percent / doublings <= MEAN_WASTE_PERCENT);
}

static void span_size_class__slot_of_every_offset_is_exact(void)
{
    for (unsigned c = 0; c < SJ_CLASS_COUNT; c++) {
        const struct sj_size_class *size_class = &sj__size_classes[c];
        size_t wrong = 0;
        for (size_t offset = 0; offset < slab_bytes(size_class); offset++)
            wrong += sj_slot_of(size_class->reciprocal, offset) != offset / size_class->slot_bytes;
        CHECK_EQ(wrong, 0);
    }
}

static void span_size_class__slabs_hold_what_they_say(void)
{
    for (unsigned c = 0; c < SJ_CLASS_COUNT; c++) {
        const struct sj_size_class *size_class = &sj__size_classes[c];
        size_t slots_bytes = (size_t)size_class->slots * size_class->slot_bytes;
        CHECK(slots_bytes <= slab_bytes(size_class));
        CHECK(slab_bytes(size_class) - slots_bytes < size_class->slot_bytes);
        CHECK(size_class->slots >= 8);
        CHECK(size_class->words <= SJ_SLAB_MAX_WORDS);
        CHECK_EQ(size_class->words, (size_class->slots + SJ_WORD_BITS - 1) / SJ_WORD_BITS);
        CHECK(sj_is_power_of_two(size_class->fresh_slots) && sj_is_power_of_two(size_class->unit_slots));
        CHECK(size_class->fresh_slots >= 4 && size_class->fresh_slots <= SJ_WORD_BITS);
        CHECK(size_class->unit_slots >= 4 && size_class->unit_slots <= SJ_WORD_BITS);
    }
}

static bool serves(unsigned class_index, size_t size, size_t alignment)
{
    return sj__size_classes[class_index].slot_bytes >= size &&
           sj__size_classes[class_index].slot_bytes % alignment == 0;
}

static unsigned class_of_aligned_by_search(size_t size, size_t alignment)
{
    for (unsigned c = 1; c < SJ_CLASS_COUNT; c++)
        if (serves(c, size, alignment))
            return c;
    return 0;
}

static void span_size_class__aligned_class_is_the_smallest_that_is_a_multiple(void)
{
    for (size_t alignment = 1; alignment <= 4 * (size_t)SJ_SMALL_MAX_BYTES; alignment *= 2)
        for (size_t size = 0; size <= SJ_SMALL_MAX_BYTES; size++) {
            unsigned want = class_of_aligned_by_search(size == 0 ? 1 : size, alignment);
            if (sj__class_of_aligned(size, alignment) != want)
                CHECK_EQ(sj__class_of_aligned(size, alignment), want);
        }
}

static void span_size_class__no_class_is_aligned_beyond_a_slot_or_holds_more(void)
{
    for (size_t alignment = 2 * (size_t)SJ_SMALL_MAX_BYTES; alignment != 0; alignment *= 2)
        CHECK_EQ(sj__class_of_aligned(1, alignment), 0);
    const size_t sizes[] = { SJ_SMALL_MAX_BYTES + 1, (size_t)1 << 32, SIZE_MAX / 2, SIZE_MAX - 15, SIZE_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        CHECK_EQ(sj__class_of_aligned(sizes[i], 16), 0);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    sj__size_classes_start();
    RUN(span_size_class__classes_rise_and_end_at_the_largest_small_size);
    RUN(span_size_class__zero_has_slots_of_no_use);
    RUN(span_size_class__every_size_gets_the_smallest_class_that_holds_it);
    RUN(span_size_class__waste_is_bounded);
    RUN(span_size_class__waste_is_bounded_in_each_doubling);
    RUN(span_size_class__slot_of_every_offset_is_exact);
    RUN(span_size_class__slabs_hold_what_they_say);
    RUN(span_size_class__aligned_class_is_the_smallest_that_is_a_multiple);
    RUN(span_size_class__no_class_is_aligned_beyond_a_slot_or_holds_more);
    return unit_end();
}
