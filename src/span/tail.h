/* SPDX-License-Identifier: MIT
 *
 * What: the bytes at the end of a slot that are not the object's, and the canary in them.
 *
 *     canary=slot   |object ................|CCCCCCCC|      the last 8 bytes of the slot
 *     canary=exact  |object .........|CCCCCCCCCCCCCCC|      from the size asked for to the slot's end, 8 bytes at least
 *
 * Why this way: which of the two a slab's slots have stands in its record since it was opened, so that after a live raise
 * nobody looks for canaries where there are none. With exact the tail's length lies out of line, in a note of 16 bits a
 * slot. Both leave 8 bytes at least: so a request has one class, whatever its slab has.
 *
 * Invariants: a live slot of such a slab has its canary. A note of 0 says that the slot has none.
 *
 * Concurrency: a live slot's note and tail belong to whoever holds the object.
 */
#ifndef SJ_SPAN_TAIL_H
#define SJ_SPAN_TAIL_H

#include "guard/canary.h"
#include "span/slab.h"

SJ_ALWAYS_INLINE size_t sj_tail_note(const struct sj_slab *slab, size_t slot)
{
    return __atomic_load_n(&slab->notes[slot], __ATOMIC_RELAXED);
}

SJ_ALWAYS_INLINE void sj_tail_set_note(struct sj_slab *slab, size_t slot, size_t bytes)
{
    __atomic_store_n(&slab->notes[slot], (uint16_t)bytes, __ATOMIC_RELAXED);
}

/* How many bytes at the end of a slot are not the program's while it is live. */
SJ_ALWAYS_INLINE size_t sj_tail_bytes(const struct sj_slab *slab, size_t slot)
{
    if (slab->canary == SJ_CANARY_OFF)
        return 0;
    return slab->canary == SJ_CANARY_EXACT ? sj_tail_note(slab, slot) : SJ_CANARY_BYTES;
}

/* How many bytes of it are. */
SJ_ALWAYS_INLINE size_t sj_tail_usable(const struct sj_slab *slab, size_t slot)
{
    return sj__size_classes[slab->class_index].usable_bytes - sj_tail_bytes(slab, slot);
}

/* What all small objects end at multiples of. */
SJ_ALWAYS_INLINE size_t sj_tail_step(const struct sj_policy *policy)
{
    const size_t steps[] = { SJ_SMALL_STEP_BYTES, SJ_CANARY_BYTES, 1 };
    return steps[policy->canary];
}

/* Does an object of this size, not 0, fit a slot of the slab, with what is to lie behind it? */
SJ_ALWAYS_INLINE bool sj_tail_leaves(const struct sj_slab *slab, size_t size_bytes)
{
    return slab->canary == SJ_CANARY_OFF || size_bytes + SJ_CANARY_BYTES <= slab->slot_bytes;
}

/* Sets the canary behind an object of `size_bytes` at `start`, if its slab has any. False if that takes longer. With
 * canary=slot other slabs are those from before a raise. */
SJ_ALWAYS_INLINE bool sj_tail_set_short(const struct sj_policy *policy, struct sj_slab *slab, char *start,
                                        size_t size_bytes)
{
    if (sj_likely(slab->canary == SJ_CANARY_SLOT)) {
        *(sj_canary_word *)(void *)(start + slab->slot_bytes - SJ_CANARY_BYTES) = sj_canary_of(start);
        return true;
    }
    if (policy->canary == SJ_CANARY_SLOT || slab->canary == SJ_CANARY_OFF)
        return false;
    size_t bytes = slab->slot_bytes - size_bytes;
    if (bytes > SJ_CANARY_SHORT_BYTES)
        return false;
    sj_tail_set_note(slab, sj_slot_of(slab->reciprocal, (size_t)(start - slab->base)), bytes);
    sj_canary_set_short(start + slab->slot_bytes - bytes, bytes, start);
    return true;
}

/* Is the canary of the live slot at `start` as it was set? False, too, if that takes longer to say. */
SJ_ALWAYS_INLINE bool sj_tail_holds_short(const struct sj_policy *policy, const struct sj_slab *slab, size_t slot,
                                          const char *start)
{
    if (sj_likely(slab->canary == SJ_CANARY_SLOT))
        return *(const sj_canary_word *)(const void *)(start + slab->slot_bytes - SJ_CANARY_BYTES) ==
               sj_canary_of(start);
    if (policy->canary == SJ_CANARY_SLOT || slab->canary == SJ_CANARY_OFF)
        return false;
    size_t bytes = sj_tail_note(slab, slot);
    return bytes - SJ_CANARY_BYTES <= SJ_CANARY_SHORT_BYTES - SJ_CANARY_BYTES &&
           sj_canary_holds_short(start + slab->slot_bytes - bytes, bytes, start);
}

/* Sets the canary behind a new object, of any length. */
void sj__tail_set(struct sj_slab *slab, size_t slot, size_t size_bytes);

/* The object is resized within its slot: what it gains reads as zero, and its canary is renewed. */
void sj__tail_renew(struct sj_slab *slab, size_t slot, size_t size_bytes);

/* Of a live slot of anybody's, where free slots read as zero: a byte among its last ones, which are the tail's whatever object it
 * has, that is neither zero nor the canary's; NULL if there is none. While a canary is written, or scrubbed, none is. */
const char *sj__tail_damaged(const struct sj_slab *slab, size_t slot);

/* The first byte behind the object that has changed; NULL if none has. */
const char *sj__tail_changed(const struct sj_slab *slab, size_t slot);

#endif
