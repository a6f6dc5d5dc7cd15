/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see judge.h.
 */
#include "front/judge.h"

#include "front/entry.h"
#include "front/operators.h"
#include "heap/account.h"
#include "heap/heap.h"
#include "platform/tags.h"
#include "report/report.h"
#include "span/tail.h"

static void judge_slot(struct sj_judgement *judgement, const char *pointer)
{
    struct sj_slab *slab = judgement->slab;
    size_t offset = (size_t)(pointer - slab->base);
    unsigned slot_index = sj_slot_of(slab->reciprocal, offset);
    judgement->slot_index = slot_index;
    if (slot_index >= slab->slots) {
        judgement->usable_bytes = sj__size_classes[slab->class_index].usable_bytes;
        judgement->verdict = SJ_IS_UNTOUCHED; /* the slab's last bytes, which no slot covers */
        return;
    }
    judgement->usable_bytes = sj_tail_usable(slab, slot_index);
    judgement->block = slab->base + (size_t)slot_index * slab->slot_bytes;
    const struct sj_word *word = &slab->planes[slot_index / SJ_WORD_BITS];
    uint64_t bit = (uint64_t)1 << (slot_index % SJ_WORD_BITS);
    uint64_t remote = sj_load_acquire_u64(&slab->remote->bits[slot_index / SJ_WORD_BITS]); /* pairs with the claim */
    bool freed = ((sj_word_read(&word->freed) | sj_word_read(&word->dirty) | remote) & bit) != 0;
    bool live = (sj_word_read_acquire(&word->live) & bit) != 0 && (remote & bit) == 0;
    if (live && sj_slab_is_counted(slab))
        judgement->account = __atomic_load_n(&slab->accounts[slot_index], __ATOMIC_RELAXED);
    if (pointer != judgement->block)
        judgement->verdict = live || freed ? SJ_IS_INTERIOR : SJ_IS_UNTOUCHED;
    else if (live)
        judgement->verdict = SJ_IS_LIVE;
    else
        judgement->verdict = freed ? SJ_IS_FREED : SJ_IS_UNTOUCHED;
}

static bool was_freed(const void *pointer)
{
    struct sj_span *span = sj__window_find(pointer);
    uint32_t kind = sj_load_relaxed_u32(&span->kind);
    if (kind == SJ_SPAN_LARGE) /* another thread is just freeing it, or it lies in a guard or slack */
        return ((struct sj_large *)(void *)span)->start == pointer;
    return kind == SJ_SPAN_FREED || kind == SJ_SPAN_RUN;
}

/* The pointer's granule is no slab's. A pointer into the granule of a large block, but not into the block, lies in
 * its guard or its slack, which nobody ever had. */
static void judge_large(struct sj_judgement *judgement, const char *pointer)
{
    struct sj_large *large = sj__large_containing(pointer);
    judgement->large = large;
    if (large == NULL) {
        judgement->verdict = was_freed(pointer) ? SJ_IS_FREED : SJ_IS_UNTOUCHED;
        return;
    }
    judgement->account = sj_load_relaxed_u32(&large->account);
    judgement->block = large->start;
    judgement->usable_bytes = sj__large_usable(large);
    judgement->verdict = pointer == large->start ? SJ_IS_LIVE : SJ_IS_INTERIOR;
}

static void judge_sampled(struct sj_judgement *judgement, const char *pointer)
{
    const struct sj_sampled *sampled = judgement->sampled;
    if (sampled == NULL) {
        judgement->verdict = SJ_IS_UNTOUCHED;
        return;
    }
    bool is_live = sj_load_acquire_u32(&sampled->state) == SJ_SAMPLED_LIVE; /* pairs with the store at allocation */
    judgement->block = sampled->start;
    judgement->usable_bytes = sampled->usable_bytes;
    if (pointer == sampled->start)
        judgement->verdict = is_live ? SJ_IS_LIVE : SJ_IS_FREED;
    else
        judgement->verdict =
            (size_t)(pointer - sampled->start) < sampled->usable_bytes ? SJ_IS_INTERIOR : SJ_IS_UNTOUCHED;
}

struct sj_judgement sj__judge(const void *pointer)
{
    struct sj_judgement judgement = { .verdict = SJ_IS_FOREIGN };
    pointer = sj_tags_strip(pointer);
    if (!sj_window_contains(pointer))
        return judgement;
    struct sj_span *span = sj__window_find(pointer);
    uint32_t kind = sj_load_relaxed_u32(&span->kind);
    if (kind == SJ_SPAN_SLAB) {
        judgement.slab = (struct sj_slab *)(void *)span;
        judge_slot(&judgement, pointer);
    } else if (kind == SJ_SPAN_SAMPLED) {
        judgement.sampled = sj__sampled_at(pointer);
        judge_sampled(&judgement, pointer);
    } else {
        judge_large(&judgement, pointer);
    }
    return judgement;
}

static size_t distance(const char *block, const char *pointer)
{
    return (size_t)(pointer >= block ? pointer - block : block - pointer);
}

struct sj_report_facts sj__judge_facts(const struct sj_judgement *judgement, const void *pointer, struct sj_asker asker)
{
    const struct sj_account *account = judgement->account != 0 ? sj__account_at(judgement->account) : NULL;
    bool is_live = judgement->sampled != NULL && sj_load_relaxed_u32(&judgement->sampled->state) == SJ_SAMPLED_LIVE;
    return (struct sj_report_facts){
        .pointer = pointer,
        .block = judgement->block,
        .arena = account != NULL ? account->book->name : NULL,
        .label = account != NULL && account->label[0] != '\0' ? account->label : NULL,
        .function = asker.function,
        .caller = asker.caller,
        .size_bytes = judgement->usable_bytes,
        .offset_bytes = judgement->block != NULL ? distance(judgement->block, pointer) : 0,
        .allocated = judgement->sampled != NULL ? &judgement->sampled->allocated : NULL,
        .freed = judgement->sampled != NULL && !is_live ? &judgement->sampled->freed : NULL,
    };
}

void sj__judge_report(const struct sj_judgement *judgement, const void *pointer, struct sj_asker asker, bool freeing)
{
    struct sj_report_facts facts = sj__judge_facts(judgement, pointer, asker);
    switch (judgement->verdict) {
    case SJ_IS_FREED: sj__report_refusable(freeing ? SJ_DOUBLE_FREE : SJ_USE_AFTER_FREE, &facts); return;
    case SJ_IS_INTERIOR: sj__report_refusable(SJ_INTERIOR_POINTER, &facts); return;
    case SJ_IS_UNTOUCHED: sj__report_refusable(SJ_NEVER_ALLOCATED, &facts); return;
    case SJ_IS_FOREIGN:
        if (sj__sealed.settings.foreign != SJ_FOREIGN_IGNORE)
            sj__report_refusable(SJ_FOREIGN_POINTER, &facts);
        return;
    case SJ_IS_LIVE: break;
    }
    facts.note = "a valid block was judged invalid: its state changed meanwhile";
    sj__report_misuse(SJ_METADATA_CORRUPTION, &facts);
}

void sj__judge_report_double_free(const struct sj_judgement *judgement, const void *pointer, struct sj_asker asker,
                                  const char *note)
{
    struct sj_report_facts facts = sj__judge_facts(judgement, pointer, asker);
    facts.note = note;
    sj__report_refusable(SJ_DOUBLE_FREE, &facts);
}

void sj__judge_report_overrun(const char *block, size_t usable_bytes, const char *changed, struct sj_asker asker)
{
    size_t offset = distance(block, changed);
    sj__report_misuse(SJ_OBJECT_OVERRUN, &(struct sj_report_facts){
                                             .pointer = changed,
                                             .block = block,
                                             .function = asker.function,
                                             .caller = asker.caller,
                                             .size_bytes = usable_bytes,
                                             .offset_bytes = offset,
                                             .has_byte = true,
                                             .byte_was = sj__canary_byte(block, offset - usable_bytes),
                                             .byte_is = (uint8_t)*changed,
                                         });
}

/* Can a small block that was asked for with this size and alignment be one of this class? From before a raise it has no
 * room for a canary. */
static bool leads_to(unsigned class_index, size_t size_bytes, size_t alignment)
{
    if (size_bytes == 0 || class_index == SJ_CLASS_ZERO)
        return size_bytes == 0 && class_index == SJ_CLASS_ZERO;
    return sj__class_of_aligned(size_bytes, alignment) == class_index ||
           sj_heap_class_for(&sj__sealed.in_force->policy, size_bytes, alignment) == class_index;
}

static bool is_size_of_small(const struct sj_judgement *judgement, size_t size_bytes, size_t alignment)
{
    const struct sj_slab *slab = judgement->slab;
    if (slab == NULL)
        return leads_to(judgement->sampled->class_index, size_bytes, alignment);
    if (slab->canary == SJ_CANARY_OFF)
        return leads_to(slab->class_index, size_bytes, alignment);
    return slab->canary == SJ_CANARY_EXACT
               ? size_bytes == judgement->usable_bytes
               : sj__class_of_aligned(size_bytes + SJ_CANARY_BYTES, alignment) == slab->class_index && size_bytes != 0;
}

void sj__judge_size(const struct sj_judgement *judgement, size_t size_bytes, size_t alignment, struct sj_asker asker)
{
    struct sj_report_facts facts = sj__judge_facts(judgement, judgement->block, asker);
    if (!sj_is_power_of_two(alignment) || ((uintptr_t)judgement->block & (alignment - 1)) != 0) {
        facts.given_bytes = alignment;
        sj__report_refusable(SJ_ALIGNMENT_MISMATCH, &facts);
        return;
    }
    facts.given_bytes = size_bytes;
    if (judgement->large != NULL) {
        const struct sj_large *large = judgement->large;
        facts.expected_bytes = large->requested_bytes;
        if (size_bytes < large->requested_bytes || size_bytes > sj__large_usable(large))
            sj__report_refusable(SJ_SIZE_MISMATCH, &facts);
        return;
    }
    if (!is_size_of_small(judgement, size_bytes, alignment)) {
        facts.expected_bytes = judgement->usable_bytes;
        sj__report_refusable(SJ_SIZE_MISMATCH, &facts);
    }
}

/* Where the family of a live block is kept; NULL if it is not. */
static uint8_t *family_of(const struct sj_judgement *judgement)
{
    struct sj_slab *slab = judgement->slab;
    if (slab != NULL)
        return slab->families != NULL ? &slab->families[judgement->slot_index] : NULL;
    uint8_t *family = judgement->large != NULL ? &judgement->large->family : &judgement->sampled->family;
    return *family != SJ_FAMILY_UNKNOWN ? family : NULL;
}

void sj__judge_mark(const struct sj_judgement *judgement, enum sj_family family)
{
    uint8_t *kept = family_of(judgement);
    if (kept != NULL)
        *kept = (uint8_t)family;
}

static bool operators_are_ours(void)
{
    return &sj__operators_are_ours == NULL || sj__operators_are_ours();
}

void sj__judge_family(const struct sj_judgement *judgement, enum sj_family family, struct sj_asker asker)
{
    static const char *const makers[] = { "malloc", "new", "new[]" };
    static const char *const givers[] = { "free", "delete", "delete[]" };
    uint8_t *made = family_of(judgement);
    if (made == NULL)
        return;
    if (*made != family && operators_are_ours()) {
        struct sj_report_facts facts = sj__judge_facts(judgement, judgement->block, asker);
        facts.made_by = makers[*made % SJ_FAMILY_UNKNOWN];
        facts.freed_by = family != SJ_FAMILY_MALLOC ? givers[family] : asker.function;
        sj__report_refusable(SJ_FAMILY_MISMATCH, &facts);
    }
    *made = SJ_FAMILY_MALLOC;
}
