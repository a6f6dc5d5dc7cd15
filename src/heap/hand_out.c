/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see hand_out.h.
 */
#include "heap/hand_out.h"

#include "guard/fill.h"
#include "report/report.h"
#include "span/tail.h"

#include <string.h>

static _Noreturn void report_changed(const char *slot, size_t slot_bytes, const char *note, const void *caller)
{
    size_t offset = sj__fill_first_changed(slot, slot_bytes, 0);
    sj__report_misuse(SJ_WRITE_AFTER_FREE, &(struct sj_report_facts){
                                               .pointer = slot + offset,
                                               .block = slot,
                                               .offset_bytes = offset,
                                               .size_bytes = slot_bytes,
                                               .caller = caller,
                                               .note = note,
                                               .has_byte = true,
                                               .byte_is = (uint8_t)slot[offset < slot_bytes ? offset : 0],
                                           });
}

/* A slot that does not read as it should: scrubs it if it owes that, else reports. */
static void settle(struct sj_heap *heap, struct sj_slab *slab, const struct sj_group *slot, const char *start,
                   const void *caller)
{
    if ((slab->planes[slot->word_index].dirty & slot->bits) == 0)
        report_changed(start, slab->slot_bytes, "found when the slot was about to be handed out", caller);
    heap->paid_reuse_bytes += sj__slab_pay(slab, slot);
}

void *sj__hand_out(const struct sj_policy *policy, struct sj_heap *heap, char *start, size_t size_bytes, bool zero,
                   const void *caller)
{
    struct sj_slab *slab = (struct sj_slab *)(void *)sj_window_lookup(sj_window_granule(start));
    struct sj_group slot = sj_slab_slot_at(slab, start);
    if (policy->verify && sj_unlikely(!sj_fill_holds(start, slab->slot_bytes, 0)))
        settle(heap, slab, &slot, start, caller);
    if (zero) {
        if ((slab->planes[slot.word_index].dirty & slot.bits) != 0)
            memset(start, 0, slab->slot_bytes);
        else
            heap->calloc_avoided_bytes += slab->slot_bytes;
    }
    if (slab->canary != SJ_CANARY_OFF)
        sj__tail_set(slab, slot.word_index * SJ_WORD_BITS + sj_lowest_bit(slot.bits), size_bytes);
    return start;
}

void sj__hand_out_check_slot(const struct sj_slab *slab, unsigned slot_index, const char *note)
{
    const char *start = slab->base + (size_t)slot_index * slab->slot_bytes;
    if (sj_unlikely(!sj_fill_holds(start, slab->slot_bytes, 0)))
        report_changed(start, slab->slot_bytes, note, NULL);
}

void sj__hand_out_check_slab(const struct sj_slab *slab)
{
    for (unsigned i = 0; i < slab->slots; i++) {
        const struct sj_word *word = &slab->planes[i / SJ_WORD_BITS];
        uint64_t bit = (uint64_t)1 << (i % SJ_WORD_BITS);
        if ((word->freed & ~word->dirty & bit) != 0)
            sj__hand_out_check_slot(slab, i, "found when its slab, all of it free, was closed");
    }
}
