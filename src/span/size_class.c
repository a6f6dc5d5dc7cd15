/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see size_class.h.
 */
#include "span/size_class.h"

#include "meta/window.h"

enum {
    LINEAR_MAX_BYTES = 128,       /* 16-byte steps up to here */
    CLASSES_A_DOUBLING_SHIFT = 2, /* four from there on */
    FINE_MIN_BYTES = 1024,        /* and eight from here on */
    SLAB_MIN_SLOTS = 8,           /* a slab of large slots takes more granules rather than fewer slots */
    FRESH_MAX_BYTES = 8192, /* untouched slots are opened in groups of at most this span, so that picks stay close */
    UNITS_A_SLAB = 4,       /* a slab has at least this many units, if they have 8 slots each */
    GROUP_MIN_SLOTS = 8,
    GROUP_MAX_BYTES = 16384 /* but half as many where eight would span more */
};

struct sj_size_class sj__size_classes[SJ_CLASS_COUNT];
uint16_t sj__class_of_step[SJ_SMALL_MAX_BYTES / SJ_SMALL_STEP_BYTES + 1];

static uint32_t next_slot_bytes(uint32_t slot_bytes)
{
    if (slot_bytes < LINEAR_MAX_BYTES)
        return slot_bytes + SJ_SMALL_STEP_BYTES;
    uint32_t doubling_bytes = (uint32_t)1 << sj_highest_bit(slot_bytes);
    return slot_bytes + (doubling_bytes >> (CLASSES_A_DOUBLING_SHIFT + (slot_bytes >= FINE_MIN_BYTES ? 1 : 0)));
}

static void lay_out_slab(struct sj_size_class *size_class)
{
    uint32_t slot_bytes = size_class->slot_bytes;
    uint32_t granules = 1;
    while (granules * SJ_GRANULE_BYTES / slot_bytes < SLAB_MIN_SLOTS)
        granules *= 2;
    uint32_t slots = granules * SJ_GRANULE_BYTES / slot_bytes;
    uint32_t group_min = slot_bytes > GROUP_MAX_BYTES / GROUP_MIN_SLOTS ? GROUP_MIN_SLOTS / 2 : GROUP_MIN_SLOTS;
    uint32_t fresh_slots = SJ_WORD_BITS;
    while (fresh_slots > group_min && fresh_slots * slot_bytes > FRESH_MAX_BYTES)
        fresh_slots /= 2;
    uint32_t unit_slots = SJ_WORD_BITS;
    while (unit_slots > group_min && unit_slots * UNITS_A_SLAB > slots)
        unit_slots /= 2;
    size_class->granules = (uint16_t)granules;
    size_class->slots = (uint16_t)slots;
    size_class->words = (uint16_t)((slots + SJ_WORD_BITS - 1) / SJ_WORD_BITS);
    size_class->fresh_slots = (uint8_t)fresh_slots;
    size_class->unit_slots = (uint8_t)unit_slots;
    size_class->reciprocal = UINT64_MAX / slot_bytes + 1;
}

void sj__size_classes_start(void)
{
    uint32_t slot_bytes = SJ_SMALL_STEP_BYTES;
    sj__size_classes[SJ_CLASS_ZERO].slot_bytes = slot_bytes;
    lay_out_slab(&sj__size_classes[SJ_CLASS_ZERO]);
    size_t step = 1; /* entry 0 of the table, size 0, stays class 0 */
    for (unsigned index = 1; index < SJ_CLASS_COUNT; index++) {
        struct sj_size_class *size_class = &sj__size_classes[index];
        size_class->slot_bytes = slot_bytes;
        size_class->usable_bytes = slot_bytes;
        lay_out_slab(size_class);
        while (step <= slot_bytes / SJ_SMALL_STEP_BYTES)
            sj__class_of_step[step++] = (uint16_t)(index << SJ_BIN_SHIFT);
        slot_bytes = next_slot_bytes(slot_bytes);
    }
}

unsigned sj__class_of_aligned(size_t size_bytes, size_t alignment)
{
    if (size_bytes > SJ_SMALL_MAX_BYTES || alignment > SJ_SMALL_MAX_BYTES)
        return 0;
    unsigned index = sj_class_of(size_bytes == 0 ? 1 : size_bytes);
    while (index < SJ_CLASS_COUNT && (sj__size_classes[index].slot_bytes & (alignment - 1)) != 0)
        index++;
    return index < SJ_CLASS_COUNT ? index : 0;
}
