/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see detain.h.
 */
#include "heap/detain.h"

#include "meta/arena.h"

enum {
    QUARANTINE_BYTES = 16384, /* of the smallest */
    REFUSED_REST = 255        /* frees until a store is asked for again, after there was no memory for one */
};

/* Lays out what the policy wants. Returns how many entries its store has to have. */
static size_t lay_out(const struct sj_policy *policy, unsigned class_index, struct sj_quarantine *quarantine)
{
    size_t bytes = (size_t)QUARANTINE_BYTES << policy->quarantine;
    return sj_quarantine_lay_out(quarantine, bytes / sj__size_classes[class_index].slot_bytes);
}

void sj__detain_prepare(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index)
{
    struct sj_quarantine *quarantine = &heap->quarantines[class_index];
    if (policy->delay != SJ_DELAY_QUARANTINE || quarantine->entries != NULL)
        return;
    if (quarantine->rest > 0) {
        quarantine->rest--;
        return;
    }
    size_t length = lay_out(policy, class_index, quarantine);
    enum sj_inside outer = sj__heap_inside;
    sj__heap_inside = SJ_INSIDE_SPANS;
    uint64_t *entries = sj__arena_alloc(length * sizeof(uint64_t)); /* no memory: slots don't rest in there */
    sj__heap_inside = outer;
    quarantine->rest = entries == NULL ? REFUSED_REST : 0;
    quarantine->entries = entries;
}

static struct sj_slab *let_out(struct sj_slab *slab, size_t slot)
{
    sj_word_set(&slab->planes[slot / SJ_WORD_BITS].available, (uint64_t)1 << (slot % SJ_WORD_BITS));
    slab->until_slow--;
    return slab;
}

struct sj_slab *sj__detain(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab, size_t slot)
{
    struct sj_quarantine *quarantine = &heap->quarantines[slab->class_index];
    if (policy->delay != SJ_DELAY_QUARANTINE || quarantine->entries == NULL)
        return let_out(slab, slot);
    uint64_t entry = sj_detain_entry(slab, slot);
    uint64_t leaving = sj_quarantine_exchange(quarantine, entry, heap->pool[heap->pool_next++]);
    return leaving != 0 ? let_out(sj_detain_slab(leaving), sj_detain_slot(leaving)) : NULL;
}

unsigned sj__detain_count(const struct sj_heap *heap, const struct sj_slab *slab)
{
    const struct sj_quarantine *quarantine = &heap->quarantines[slab->class_index];
    size_t length = sj_quarantine_length(quarantine);
    unsigned count = 0;
    for (size_t i = 0; i < length; i++)
        count += quarantine->entries[i] != 0 && sj_detain_slab(quarantine->entries[i]) == slab;
    return count;
}

void sj__detain_end(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index)
{
    struct sj_quarantine *quarantine = &heap->quarantines[class_index];
    size_t length = sj_quarantine_length(quarantine);
    for (size_t i = 0; i < length; i++) {
        uint64_t entry = quarantine->entries[i];
        quarantine->entries[i] = 0;
        if (entry == 0)
            continue;
        struct sj_slab *slab = let_out(sj_detain_slab(entry), sj_detain_slot(entry));
        if (slab->until_slow <= 0)
            sj__heap_settle_slab(policy, heap, slab);
    }
}

void sj__detain_resize(const struct sj_policy *policy, struct sj_heap *heap)
{
    for (unsigned class_index = 0; class_index < SJ_CLASS_COUNT; class_index++) {
        struct sj_quarantine *quarantine = &heap->quarantines[class_index];
        struct sj_quarantine wanted = { 0 };
        if (quarantine->entries == NULL)
            continue;
        (void)lay_out(policy, class_index, &wanted);
        if (wanted.queue_mask == quarantine->queue_mask)
            continue;
        sj__detain_end(policy, heap, class_index);
        *quarantine = (struct sj_quarantine){ 0 }; /* the next free makes it anew; what it had is lost to the arena */
    }
}
