/* SPDX-License-Identifier: MIT
 *
 * What: the fast paths of malloc and free, as templates over the policy.
 *
 * Why this way: everything here is inlined into one function a level, where the policy is a constant and its tests fold
 * away. No lock, no locked instruction, no call. What a structural check needs is what the work needs anyway: the slot's
 * number comes from a multiplication, and multiplying back shows that the pointer was exact; the live bit must be
 * read to be cleared. Instruction counts of a 48-byte pair stand in doc/performance.md; they are the reason for each
 * detail here.
 *
 * Invariants: a slot's live bit is set exactly from hand-out to free. Any check that fails leaves for front/slow.h with
 * nothing changed, and is judged again there.
 *
 * Concurrency: the planes of a slab are written by the thread whose current heap owns it. Each update is one
 * instruction, so a signal handler of the same thread finds a consistent word. One that allocates while we do is
 * noticed by what it leaves: a live bit, or another word in the bin. At worst a slot is lost.
 */
#ifndef SJ_FRONT_FAST_H
#define SJ_FRONT_FAST_H

#include "base/checked.h"
#include "front/entry.h"
#include "front/slow.h"
#include "guard/fill.h"
#include "heap/detain.h"
#include "heap/heap.h"
#include "span/family.h"
#include "span/scrub.h"
#include "span/tail.h"

#include <string.h>

/* `family` is a constant in all of these. */
SJ_ALWAYS_INLINE void *sj_fast_slow(size_t size_bytes, bool zero, enum sj_family family)
{
    if (family != SJ_FAMILY_MALLOC)
        return family == SJ_FAMILY_NEW ? sj__slow_new(size_bytes) : sj__slow_new_array(size_bytes);
    return zero ? sj__slow_calloc(size_bytes) : sj__slow_malloc(size_bytes);
}

SJ_ALWAYS_INLINE void sj_fast_slow_free(void *block, enum sj_family family)
{
    if (family == SJ_FAMILY_MALLOC)
        sj__slow_free(block);
    else if (family == SJ_FAMILY_NEW)
        sj__slow_delete(block);
    else
        sj__slow_delete_array(block);
}

SJ_ALWAYS_INLINE void sj_fast_slow_free_sized(void *block, size_t size_bytes, enum sj_family family)
{
    if (family == SJ_FAMILY_MALLOC)
        sj__slow_free_sized(block, size_bytes);
    else if (family == SJ_FAMILY_NEW)
        sj__slow_delete_sized(block, size_bytes);
    else
        sj__slow_delete_array_sized(block, size_bytes);
}

/* A size that a slot may be ready for. With canaries not 0, since such objects have none. */
SJ_ALWAYS_INLINE bool sj_fast_is_small(const struct sj_policy *policy, size_t size_bytes)
{
    return policy->canary == SJ_CANARY_OFF ? size_bytes <= SJ_SMALL_MAX_BYTES
                                           : size_bytes - 1 < SJ_SMALL_MAX_BYTES - SJ_CANARY_BYTES;
}

/* The slot is taken and live: makes it the program's. What takes a call leaves for it, so that no register is saved. */
SJ_ALWAYS_INLINE void *sj_fast_hand_out(const struct sj_policy *policy, struct sj_heap *heap, const struct sj_bin *bin,
                                        struct sj_slab *slab, char *start, size_t size_bytes, bool zero, bool dirty)
{
    size_t slot_bytes = bin->slot_bytes;
    if (policy->verify &&
        (slot_bytes > SJ_FILL_INLINE_BYTES || sj_unlikely(!sj_fill_holds_inline(start, slot_bytes, 0))))
        return sj__slow_hand_out(start, size_bytes, zero);
    if (zero && policy->canary != SJ_CANARY_OFF && sj_unlikely(dirty))
        return sj__slow_hand_out(start, size_bytes, zero);
    if (zero) {
        if (sj_unlikely(dirty))
            return memset(start, 0, slot_bytes);
        heap->calloc_avoided_bytes += slot_bytes;
    }
    if (policy->canary != SJ_CANARY_OFF && sj_unlikely(!sj_tail_set_short(policy, slab, start, size_bytes)))
        return sj__slow_hand_out(start, size_bytes, false);
    return start;
}

SJ_ALWAYS_INLINE void *sj_fast_malloc(const struct sj_policy *policy, size_t size_bytes, bool zero,
                                      enum sj_family family)
{
    if (sj_unlikely(!sj_fast_is_small(policy, size_bytes)))
        return sj_fast_slow(size_bytes, zero, family);
    struct sj_heap *heap = sj__heap_current;
    struct sj_bin *bin = sj_heap_bin_for(heap, size_bytes + sj_canary_least(policy));
    sj_hold(bin);
    struct sj_word *word = bin->word;
    uint64_t *source = sj_bin_source(policy, bin, word);
    uint64_t bits = *source;
    if (sj_unlikely(bits == 0))
        return sj_fast_slow(size_bytes, zero, family);

    uint64_t bit = sj_pick_bit(policy, heap, bin, bits);
    if (sj_unlikely(sj_word_has(&word->live, bit)))
        return sj_fast_slow(size_bytes, zero, family);
    /* A local and a remote free of this slot raced. Acquire pairs with the claim in sj__remote_free. */
    if (sj_unlikely(sj_word_has(&bin->remote->value, bit)))
        return sj_fast_slow(size_bytes, zero, family);
    sj_word_set(&word->live, bit); /* from here on a signal handler passes this slot by */
    char *start = sj_bin_slot(bin, bit);
    bool is_marked = policy->types && family != SJ_FAMILY_MALLOC;
    struct sj_slab *slab =
        policy->canary != SJ_CANARY_OFF || is_marked ? bin->slab : NULL; /* of `start`, as the next lines see to */
    sj_compiler_barrier();
    /* Before, a handler may have taken slots, this one too, or used the word up and put another in its place. Then this
     * slot is left live, nobody's, unless the handler got it. */
    if (sj_unlikely(sj_word_peek(source) != bits || bin->word != word))
        return sj_fast_slow(size_bytes, zero, family);
    sj_word_clear(source, bit); /* not a store of `bits` less one: even now a handler may take others, or refill */
    sj_bin_pay(policy, heap, word, bit, start);
    if (is_marked)
        sj_family_set(slab, sj_slot_of(slab->reciprocal, (size_t)(start - slab->base)), family);
    return sj_fast_hand_out(policy, heap, bin, slab, start, size_bytes, zero, (word->dirty & bit) != 0);
}

SJ_ALWAYS_INLINE void *sj_fast_calloc(const struct sj_policy *policy, size_t count, size_t size_bytes)
{
    size_t bytes;
    if (sj_unlikely(!sj_checked_mul(count, size_bytes, &bytes)))
        return sj__slow_calloc(SIZE_MAX); /* more than there can be: ENOMEM */
    return sj_fast_malloc(policy, bytes, true, SJ_FAMILY_MALLOC);
}

SJ_ALWAYS_INLINE void sj_fast_free(const struct sj_policy *policy, void *block, enum sj_family family)
{
    size_t window_offset = sj_window_offset(block);
    if (sj_unlikely(window_offset >= sj_peek_size(&sj__window_limit_bytes)))
        goto slow; /* NULL too */
    struct sj_slab *slab = (struct sj_slab *)(void *)sj_window_lookup(window_offset >> SJ_GRANULE_SHIFT);
    struct sj_heap *heap = sj__heap_current;
    if (sj_unlikely(sj_peek_ptr(&slab->span.owner) != heap))
        goto slow;

    size_t offset = (size_t)((char *)block - slab->base);
    size_t slot;
    if (sj_unlikely(!sj_slot_exact(slab->reciprocal, offset, &slot)))
        goto slow;
    size_t slot_bytes = slab->slot_bytes;
    size_t word_index = slot / SJ_WORD_BITS;
    struct sj_word *word = &slab->planes[word_index];
    sj_hold(word);
    uint64_t bit = (uint64_t)1 << (slot % SJ_WORD_BITS);
    if (sj_unlikely(!sj_word_has(&word->live, bit)))
        goto slow;
    /* Pairs with the claim in sj__remote_free: if its bit is missed here, the fold or the hand-out finds it. */
    if (sj_unlikely(sj_word_has(&slab->remote->bits[word_index].value, bit)))
        goto slow;

    if (policy->types && sj_unlikely(!sj_family_take(slab, slot, family)))
        goto slow;
    if (policy->canary != SJ_CANARY_OFF && sj_unlikely(!sj_tail_holds_short(policy, slab, slot, block))) {
        sj__slow_free_own(block, slab, (unsigned)slot);
        return;
    }
    struct sj_quarantine *quarantine = &heap->quarantines[slab->class_index];
    if (policy->delay == SJ_DELAY_QUARANTINE && sj_unlikely(quarantine->entries == NULL)) {
        sj__slow_free_own(block, slab, (unsigned)slot);
        return;
    }
    if (policy->scrub >= SJ_SCRUB_FREE && slot_bytes <= SJ_SCRUB_INLINE_BYTES) {
        sj_scrub_inline(block, slot_bytes);
        sj_word_set(&word->freed, bit);
    } else if (sj_scrubs_at_free(policy, slot_bytes)) {
        sj__slow_free_own(block, slab, (unsigned)slot);
        return;
    } else {
        sj_word_set(&word->dirty, bit);
    }
    if (policy->verify)
        sj_compiler_barrier(); /* a check by another thread that finds it free finds it filled, see heap/check.c */
    sj_word_clear_set(&word->live, bit);
    if (policy->delay == SJ_DELAY_QUARANTINE) { /* it waits, and another becomes available */
        uint64_t entry = sj_detain_entry(slab, slot);
        uint64_t leaving = sj_quarantine_exchange(quarantine, entry, heap->pool[heap->pool_next++]);
        if (leaving == 0)
            return;
        slab = sj_detain_slab(leaving);
        slot = sj_detain_slot(leaving);
        word = &slab->planes[slot / SJ_WORD_BITS];
        bit = (uint64_t)1 << (slot % SJ_WORD_BITS);
    }
    sj_word_set(&word->available, bit);
    if (sj_unlikely(--slab->until_slow == 0))
        sj__slow_after_free(slab);
    return;
slow:
    sj_fast_slow_free(block, family);
}

/* The size is checked here only as far as it costs two loads that the free needs anyway. */
SJ_ALWAYS_INLINE void sj_fast_free_sized(const struct sj_policy *policy, void *block, size_t size_bytes,
                                         enum sj_family family)
{
    if (!policy->sized) {
        sj_fast_free(policy, block, family);
        return;
    }
    struct sj_span *span = sj__window_find(block);
    bool by_class = policy->canary != SJ_CANARY_EXACT; /* else it is in the slot's note */
    if (sj_likely(by_class && size_bytes - 1 < SJ_SMALL_MAX_BYTES - sj_canary_least(policy) &&
                  sj_load_relaxed_ptr(&span->owner) == sj__heap_current &&
                  ((struct sj_slab *)(void *)span)->class_index == sj_class_of(size_bytes + sj_canary_least(policy))))
        sj_fast_free(policy, block, family);
    else
        sj_fast_slow_free_sized(block, size_bytes, family);
}

/* The slab of a live slot, whoever owns it, and the slot's number; NULL for anything else, which is then judged on the slow path: also
 * for an arena's with canaries where the policy has none. */
SJ_ALWAYS_INLINE struct sj_slab *sj_fast_live_slab(const struct sj_policy *policy, const void *block, size_t *slot)
{
    if (!sj_window_contains(block))
        return NULL;
    struct sj_slab *slab = (struct sj_slab *)(void *)sj_window_lookup(sj_window_granule(block));
    if (sj_load_relaxed_u32(&slab->span.kind) != SJ_SPAN_SLAB)
        return NULL;
    size_t offset = (size_t)((const char *)block - slab->base);
    bool exact = sj_slot_exact(slab->reciprocal, offset, slot);
    uint64_t bit = (uint64_t)1 << (*slot % SJ_WORD_BITS);
    size_t word_index = *slot / SJ_WORD_BITS;
    size_t slots = policy->canary != SJ_CANARY_OFF ? slab->slots : slab->plain_slots;
    if (!exact || *slot >= slots || !sj_word_has(&slab->planes[word_index].live, bit) ||
        sj_word_has(&slab->remote->bits[word_index].value, bit))
        return NULL;
    return slab;
}

/* How many bytes of a live slot are the program's. */
SJ_ALWAYS_INLINE size_t sj_fast_usable(const struct sj_policy *policy, const struct sj_slab *slab, size_t slot)
{
    return policy->canary != SJ_CANARY_OFF ? sj_tail_usable(slab, slot)
                                           : sj__size_classes[slab->class_index].usable_bytes;
}

SJ_ALWAYS_INLINE void *sj_fast_realloc(const struct sj_policy *policy, void *block, size_t size_bytes)
{
    if (block == NULL)
        return sj_fast_malloc(policy, size_bytes, false, SJ_FAMILY_MALLOC);
    size_t slot = 0; /* for gcc -Og, which does not see that it is set */
    struct sj_slab *slab = sj_fast_live_slab(policy, block, &slot);
    if (sj_unlikely(slab == NULL || size_bytes == 0))
        return sj__slow_realloc(block, size_bytes);
    if (policy->types && sj_unlikely(!sj_family_take(slab, slot, SJ_FAMILY_MALLOC)))
        return sj__slow_realloc(block, size_bytes);
    if (policy->canary != SJ_CANARY_OFF && sj_unlikely(slab->canary == SJ_CANARY_EXACT || /* to be renewed */
                                                       !sj_tail_holds_short(policy, slab, slot, block)))
        return sj__slow_realloc(block, size_bytes);
    if (sj_fast_is_small(policy, size_bytes) && sj_class_of(size_bytes + sj_canary_least(policy)) == slab->class_index)
        return block;
    return sj__slow_move(block, sj_fast_usable(policy, slab, slot), size_bytes);
}

SJ_ALWAYS_INLINE size_t sj_fast_usable_size(const struct sj_policy *policy, void *block)
{
    size_t slot = 0; /* for gcc -Og, which does not see that it is set */
    struct sj_slab *slab = sj_fast_live_slab(policy, block, &slot);
    return sj_likely(slab != NULL) ? sj_fast_usable(policy, slab, slot) : sj__slow_usable_size(block);
}

/* Defines the functions of one family in a variant. */
#define SJ_DEFINE_FAMILY(policy_of, make, give, give_sized, family)      \
    static void *make(size_t size_bytes)                                 \
    {                                                                    \
        return sj_fast_malloc((policy_of), size_bytes, false, (family)); \
    }                                                                    \
    static void give(void *block)                                        \
    {                                                                    \
        sj_fast_free((policy_of), block, (family));                      \
    }                                                                    \
    static void give_sized(void *block, size_t size_bytes)               \
    {                                                                    \
        sj_fast_free_sized((policy_of), block, size_bytes, (family));    \
    }

/* Defines the functions of one variant and its table. `policy_of` is a constant struct, or the settings in force. */
#define SJ_DEFINE_VARIANT(table, policy_of)                                                          \
    SJ_DEFINE_FAMILY(policy_of, variant_malloc, variant_free, variant_free_sized, SJ_FAMILY_MALLOC)  \
    SJ_DEFINE_FAMILY(policy_of, variant_new, variant_delete, variant_delete_sized, SJ_FAMILY_NEW)    \
    SJ_DEFINE_FAMILY(policy_of, variant_new_array, variant_delete_array, variant_delete_array_sized, \
                     SJ_FAMILY_NEW_ARRAY)                                                            \
    static void *variant_calloc(size_t count, size_t size_bytes)                                     \
    {                                                                                                \
        return sj_fast_calloc((policy_of), count, size_bytes);                                       \
    }                                                                                                \
    static void *variant_realloc(void *block, size_t size_bytes)                                     \
    {                                                                                                \
        return sj_fast_realloc((policy_of), block, size_bytes);                                      \
    }                                                                                                \
    static size_t variant_usable_size(void *block)                                                   \
    {                                                                                                \
        return sj_fast_usable_size((policy_of), block);                                              \
    }                                                                                                \
    const struct sj_dispatch table = {                                                               \
        .malloc = variant_malloc,                                                                    \
        .free = variant_free,                                                                        \
        .calloc = variant_calloc,                                                                    \
        .free_sized = variant_free_sized,                                                            \
        .realloc = variant_realloc,                                                                  \
        .aligned = sj__slow_aligned,                                                                 \
        .free_aligned_sized = sj__slow_free_aligned_sized,                                           \
        .usable_size = variant_usable_size,                                                          \
        .new_object = variant_new,                                                                   \
        .new_array = variant_new_array,                                                              \
        .delete_object = variant_delete,                                                             \
        .delete_array = variant_delete_array,                                                        \
        .delete_object_sized = variant_delete_sized,                                                 \
        .delete_array_sized = variant_delete_array_sized,                                            \
    }

#endif
