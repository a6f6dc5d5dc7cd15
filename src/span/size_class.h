/* SPDX-License-Identifier: MIT
 *
 * What: the size classes of small objects, and the arithmetic of their slots.
 *
 * Why this way: 16-byte steps to 128 bytes, then four classes a doubling, and eight from 1 KiB on to 32 KiB: a block gets at
 * most a quarter more than was asked, from 1 KiB on an eighth; over all sizes 4 % are wasted (doc/adr/0035). The class of a
 * size is one load from a table. The slot of an address is one multiplication by the reciprocal, of which the upper half is
 * the slot and the lower tells whether anything is left over, so an interior pointer is found by a compare (Lemire, Kaser
 * and Kurz, Faster remainder by direct computation, 2019; tested for every offset). Every class that is a multiple of A
 * serves alignment A, since slabs begin at 64 KiB boundaries.
 *
 * Invariants: class 0 is for zero-sized objects: 16-byte slots in inaccessible pages. Classes 1.. rise in size.
 * Slabs are whole granules; a slab holds at most SJ_SLAB_MAX_WORDS * 64 slots.
 *
 * Concurrency: constant after sj__size_classes_start.
 */
#ifndef SJ_SPAN_SIZE_CLASS_H
#define SJ_SPAN_SIZE_CLASS_H

#include "base/bits.h"

enum {
    SJ_SMALL_STEP_BYTES = 16,
    SJ_SMALL_MAX_BYTES = 32768,
    SJ_CLASS_ZERO = 0,
    SJ_CLASS_COUNT = 61,
    SJ_SLAB_MAX_WORDS = 64,
    SJ_BIN_SHIFT = 6
};

struct sj_size_class {
    uint64_t reciprocal;   /* ceil(2^64 / slot_bytes) */
    uint32_t slot_bytes;   /* a multiple of 16 */
    uint32_t usable_bytes; /* what the program may use: slot_bytes, or 0 for class 0 */
    uint16_t slots;        /* slots a slab */
    uint16_t words;        /* 64-slot words a slab */
    uint16_t granules;     /* 64 KiB granules a slab */
    uint8_t fresh_slots;   /* how many neighbouring slots are opened at once: a power of two, 4 to 64 */
    uint8_t unit_slots;    /* how many are taken at once for reuse, where freed slots are to rest: likewise */
};

extern SJ_HIDDEN struct sj_size_class sj__size_classes[SJ_CLASS_COUNT];

/* Class of each size, in steps of 16 bytes: entry (size + 15) / 16. The class times 64, which is where its bin lies in
 * a heap: a shift less on every allocation. */
extern SJ_HIDDEN uint16_t sj__class_of_step[SJ_SMALL_MAX_BYTES / SJ_SMALL_STEP_BYTES + 1];

void sj__size_classes_start(void);

SJ_ALWAYS_INLINE size_t sj_bin_offset_of(size_t size_bytes)
{
    return sj__class_of_step[(size_bytes + (SJ_SMALL_STEP_BYTES - 1)) / SJ_SMALL_STEP_BYTES];
}

/* Units a slab of the class has, see unit_slots. */
SJ_ALWAYS_INLINE size_t sj_class_units(const struct sj_size_class *size_class)
{
    return (size_class->slots + size_class->unit_slots - 1u) / size_class->unit_slots;
}

/* The class for `size_bytes`, which is at most SJ_SMALL_MAX_BYTES. */
SJ_ALWAYS_INLINE unsigned sj_class_of(size_t size_bytes)
{
    return (unsigned)(sj_bin_offset_of(size_bytes) >> SJ_BIN_SHIFT);
}

/* The smallest class that holds `size_bytes` at a multiple of `alignment` (a power of two); 0 if none does.
 * A size of zero counts as one byte. */
unsigned sj__class_of_aligned(size_t size_bytes, size_t alignment);

/* The slot that contains the byte at `offset_bytes` of a slab. */
SJ_ALWAYS_INLINE unsigned sj_slot_of(uint64_t reciprocal, size_t offset_bytes)
{
    return (unsigned)(((sj_u128)offset_bytes * reciprocal) >> 64);
}

/* The slot that begins at `offset_bytes`; false if none does. The offset is below 2^32. */
SJ_ALWAYS_INLINE bool sj_slot_exact(uint64_t reciprocal, size_t offset_bytes, size_t *slot)
{
    sj_u128 product = (sj_u128)offset_bytes * reciprocal;
    *slot = (size_t)(product >> 64);
    return (uint64_t)product < reciprocal;
}

#endif
