/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see check.h.
 */
#include "heap/check.h"

#include "heap/adopt.h"
#include "heap/hand_out.h"
#include "heap/remote.h"
#include "report/report.h"
#include "span/place.h"
#include "span/run.h"
#include "span/sampled.h"
#include "span/tail.h"

_Noreturn static void report(const void *at, const char *note)
{
    sj__report_misuse(SJ_METADATA_CORRUPTION,
                      &(struct sj_report_facts){ .pointer = at, .function = "sj_check", .note = note });
}

/* ---- A slab, under its heap's lock ------------------------------------------------------------------------------- */

/* Its owner's fast path may be writing it. */
SJ_READS_ANYTHING static int32_t used_about_now(const struct sj_slab *slab)
{
    return (int32_t)((uint32_t)slab->until_slow + slab->trigger);
}

static const char *count_fault(const struct sj_slab *slab)
{
    /* A handler may leave a count off by one, and is not seen to until the count says 0; the owner may be changing it now. So it is
     * only judged by the size of what it counts. */
    int64_t used = used_about_now(slab), slots = slab->slots;
    return !slab->uncounted && (used < -2 * slots || used > 3 * slots) ? "a slab counts slots that it does not have"
                                                                       : NULL;
}

static bool is_slab_or_null(const struct sj_slab *slab)
{
    return slab == NULL || sj__arena_holds(slab, sizeof *slab);
}

static const char *list_fault(const struct sj_heap *heap, const struct sj_slab *slab)
{
    const struct sj_bin_list *list = &heap->lists[slab->class_index];
    if (!is_slab_or_null(slab->next) || !is_slab_or_null(slab->previous))
        return "a partial slab's neighbour in the list is no slab";
    const struct sj_slab *after = slab->previous != NULL ? slab->previous->next : list->first;
    const struct sj_slab *before = slab->next != NULL ? slab->next->previous : list->last;
    return after != slab || before != slab ? "the list of partial slabs is broken" : NULL;
}

static const char *bin_fault(const struct sj_bin *bin, const struct sj_slab *slab)
{
    if (bin->word == &sj__heap_no_word)
        return NULL;
    size_t index = (size_t)(bin->word - slab->planes);
    if (index >= slab->words || bin->word != &slab->planes[index] || bin->remote != &slab->remote->bits[index] ||
        bin->slot_bytes != slab->slot_bytes || bin->word_start != slab->base + index * SJ_WORD_BITS * slab->slot_bytes)
        return "a bin hands out from elsewhere than its slab";
    return (sj_word_read(&bin->bits) & ~sj__slab_opened_of(slab, (unsigned)index)) != 0
               ? "a bin has slots that were never opened"
               : NULL;
}

/* Where the heap has it. */
static const char *place_fault(const struct sj_heap *heap, const struct sj_slab *slab)
{
    const struct sj_bin *bin = &heap->bins[slab->class_index];
    bool is_current = slab->place == SJ_SLAB_CURRENT;
    if (slab->place > SJ_SLAB_FULL || is_current != (bin->slab == slab) || (slab->uncounted && !is_current))
        return "a slab and its bin don't agree on where it is";
    if (is_current)
        return bin_fault(bin, slab);
    return slab->place == SJ_SLAB_PARTIAL ? list_fault(heap, slab) : NULL;
}

/* Slots of a word that have been freed, owe nothing, and can't be handed out while the heap's lock is held: all but those of the bin's
 * word that its owner may take without it. In this order: a slot that leaves the bin is live before it has left, and one that
 * stops being live has been filled before. */
static uint64_t resting(const struct sj_policy *policy, const struct sj_heap *heap, const struct sj_slab *slab,
                        const struct sj_word *word)
{
    const struct sj_bin *bin = &heap->bins[slab->class_index];
    uint64_t in_bin = bin->word != word                ? 0
                      : policy->delay == SJ_DELAY_LIFO ? ~(uint64_t)0
                                                       : sj_word_read_acquire(&bin->bits);
    uint64_t live = sj_word_read_acquire(&word->live);
    return sj_word_read_acquire(&word->freed) & ~sj_word_read_acquire(&word->dirty) & ~live & ~in_bin;
}

/* Do its free slots read as zero, but for those that owe? Until a heap has been settled after a raise its bins follow another
 * policy. */
static bool is_scrubbed(const struct sj_settings *settings, const struct sj_heap *heap, const struct sj_slab *slab)
{
    return SJ_STORES_STAY_IN_ORDER && sj__adopt_policy_of(heap)->scrub == SJ_SCRUB_FREE &&
           slab->class_index != SJ_CLASS_ZERO &&
           (heap->own_policy != NULL ||
            sj_load_acquire_u32(&heap->level) == settings->level); /* pairs with the store that settles it */
}

_Noreturn static void report_overrun(const struct sj_slab *slab, unsigned slot_index, const char *changed)
{
    const char *block = slab->base + (size_t)slot_index * slab->slot_bytes;
    size_t usable_bytes = sj_tail_usable(slab, slot_index), offset = (size_t)(changed - block);
    unsigned next = slot_index + 1;
    bool is_live =
        next < slab->slots && (sj_word_read(&slab->planes[next / SJ_WORD_BITS].live) >> next % SJ_WORD_BITS) % 2;
    sj__report_misuse(SJ_OBJECT_OVERRUN,
                      &(struct sj_report_facts){
                          .pointer = changed,
                          .block = block,
                          .function = "sj_check",
                          .size_bytes = usable_bytes,
                          .offset_bytes = offset,
                          .note = next >= slab->slots ? "found by a check of the heap; behind it no block can begin"
                                  : is_live ? "found by a check of the heap; the block that begins behind it is live"
                                            : "found by a check of the heap; what begins behind it is free",
                          .has_byte = true,
                          .byte_was = sj__canary_byte(block, offset - usable_bytes),
                          .byte_is = (uint8_t)*changed,
                      });
}

/* The ends of live slots. A slot that owes is not looked at: it is scrubbed when it is live already. */
static void check_tails(const struct sj_slab *slab, unsigned word_index, uint64_t range)
{
    const struct sj_word *word = &slab->planes[word_index];
    uint64_t left = sj_word_read_acquire(&word->live) & range;
    for (left &= ~sj_word_read_acquire(&word->dirty); left != 0; left &= left - 1) {
        unsigned slot_index = word_index * SJ_WORD_BITS + sj_lowest_bit(left);
        const char *changed = sj__tail_damaged(slab, slot_index);
        if (sj_unlikely(changed != NULL))
            report_overrun(slab, slot_index, changed);
    }
}

static void check_word(const struct sj_settings *settings, const struct sj_heap *heap, const struct sj_slab *slab,
                       unsigned word_index, uint64_t range)
{
    const struct sj_word *word = &slab->planes[word_index];
    uint64_t unopened = ~sj__slab_opened_of(slab, word_index);
    if (((sj_word_read(&word->available) | sj_word_read(&word->freed)) & unopened) != 0)
        report(slab->base + (size_t)word_index * SJ_WORD_BITS * slab->slot_bytes,
               "slots are free that were never opened");
    if (!is_scrubbed(settings, heap, slab))
        return;
    if (slab->canary != SJ_CANARY_OFF)
        check_tails(slab, word_index, range);
    const struct sj_policy *policy = sj__adopt_policy_of(heap);
    uint64_t left = policy->verify ? resting(policy, heap, slab, word) & range : 0;
    for (; left != 0; left &= left - 1)
        sj__hand_out_check_slot(slab, word_index * SJ_WORD_BITS + sj_lowest_bit(left), "found by a check of the heap");
}

/* The slots that begin in this granule. */
static void check_slots(const struct sj_settings *settings, const struct sj_heap *heap, const struct sj_slab *slab,
                        size_t granule)
{
    size_t offset = (granule - slab->first_granule) << SJ_GRANULE_SHIFT;
    size_t first = (offset + slab->slot_bytes - 1) / slab->slot_bytes;
    size_t end = (offset + SJ_GRANULE_BYTES + slab->slot_bytes - 1) / slab->slot_bytes;
    end = end < slab->slots ? end : slab->slots;
    for (size_t start = first / SJ_WORD_BITS * SJ_WORD_BITS; start < end; start += SJ_WORD_BITS) {
        uint64_t range = sj_low_mask(end - start < SJ_WORD_BITS ? (unsigned)(end - start) : SJ_WORD_BITS);
        if (first > start)
            range &= ~sj_low_mask((unsigned)(first - start));
        check_word(settings, heap, slab, (unsigned)(start / SJ_WORD_BITS), range);
    }
}

static void check_locked(const struct sj_settings *settings, const struct sj_heap *heap, const struct sj_slab *slab,
                         size_t granule)
{
    const char *fault = sj__slab_fault(slab);
    if (fault == NULL && granule - slab->first_granule >= sj__size_classes[slab->class_index].granules)
        fault = "the map has a slab at a granule that is not its own";
    if (fault == NULL)
        fault = place_fault(heap, slab);
    if (fault == NULL)
        fault = count_fault(slab);
    if (fault != NULL)
        report(sj_window_address(granule), fault);
    if (granule == slab->first_granule)
        sj__remote_check_slab(slab);
    check_slots(settings, heap, slab, granule);
}

/* ---- A granule --------------------------------------------------------------------------------------------------- */

static bool is_heap(const void *owner)
{
    const struct sj_heap *heap = sj__adopt_all_heaps();
    while (heap != NULL && heap != owner)
        heap = heap->next_of_all;
    return heap != NULL;
}

static void check_slab(struct sj_check *check, const struct sj_slab *slab, size_t granule)
{
    struct sj_heap *heap = sj_load_acquire_ptr(&slab->span.owner); /* pairs with the store in sj__slab_open */
    if (heap == NULL)                                              /* it is being opened or closed */
        return;
    if (!is_heap(heap))
        report(sj_window_address(granule), "the owner of a slab is no heap");
    if (!sj__lock_in_time(&heap->lock, &check->patience_ms))
        return;
    /* Now it stays what it is, if it still is. */
    if (sj_load_acquire_ptr(&slab->span.owner) == heap && sj_load_relaxed_u32(&slab->span.kind) == SJ_SPAN_SLAB &&
        sj_window_lookup(granule) == &slab->span)
        check_locked(check->settings, heap, slab, granule);
    sj__unlock(&heap->lock);
}

/* The kinds that a record has while the map names it. */
static bool is_known(const struct sj_span *span, uint32_t kind)
{
    if (span == sj__window_unused || span == sj__sampled_span())
        return kind == (span == sj__window_unused ? SJ_SPAN_UNUSED : SJ_SPAN_SAMPLED);
    return kind == SJ_SPAN_FREED || kind == SJ_SPAN_RUN || kind == SJ_SPAN_FRESH ||
           (kind == SJ_SPAN_SLAB && sj__arena_holds(span, sizeof(struct sj_slab))) ||
           (kind == SJ_SPAN_LARGE && sj__arena_holds(span, sizeof(struct sj_large)));
}

static void check_granule(struct sj_check *check, size_t granule)
{
    const struct sj_span *span = sj_window_lookup(granule);
    const char *fault = NULL;
    if (span != sj__sampled_span() && !sj__arena_holds(span, sizeof *span))
        report(sj_window_address(granule), "the map names something that is no record");
    uint32_t kind = sj_load_acquire_u32(&span->kind);
    if (!is_known(span, kind))
        fault = "the map names a record of no known kind";
    else if (kind == SJ_SPAN_SLAB)
        check_slab(check, (const struct sj_slab *)(const void *)span, granule);
    else if (kind == SJ_SPAN_LARGE)
        fault = sj__place_fault((const struct sj_large *)(const void *)span, granule);
    else if (kind == SJ_SPAN_RUN || kind == SJ_SPAN_FRESH)
        fault = sj__run_fault(granule);
    if (fault != NULL)
        report(sj_window_address(granule), fault);
}

void sj__check_granules(struct sj_check *check, size_t first, size_t end)
{
    size_t limit = sj_load_acquire_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT; /* pairs with the growth */
    for (size_t granule = first; granule < end && granule < limit; granule++)
        check_granule(check, granule);
}
