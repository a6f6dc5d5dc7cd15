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
 * instruction, so a signal handler of the same thread finds a consistent word. If one allocates between our reading
 * `bits` and writing it back, the same slot may be in a word twice; the live check at hand-out then drops it.
 */
#ifndef SJ_FRONT_FAST_H
#define SJ_FRONT_FAST_H

#include "base/checked.h"
#include "front/entry.h"
#include "front/slow.h"
#include "heap/heap.h"
#include "span/scrub.h"

#include <string.h>

/* The return address in the program: the entry points only jump. */
#define SJ_ASKER(name) ((struct sj_asker){ .function = (name), .caller = __builtin_return_address(0) })

SJ_ALWAYS_INLINE void *sj_fast_malloc(const struct sj_policy *policy, size_t size_bytes, bool zero,
                                      struct sj_asker asker)
{
    if (sj_unlikely(size_bytes > SJ_SMALL_MAX_BYTES))
        return sj__slow_malloc(policy, size_bytes, zero, asker);
    struct sj_heap *heap = sj__heap_current;
    struct sj_bin *bin = &heap->bins[sj_class_of(size_bytes)];
    uint64_t bits = bin->bits;
    if (sj_unlikely(bits == 0))
        return sj__slow_malloc(policy, size_bytes, zero, asker);

    unsigned slot = sj_pick_slot(policy, heap, bin, bits);
    uint64_t bit = (uint64_t)1 << slot;
    struct sj_word *word = bin->word;
    /* Remote: a local and a remote free of this slot raced. Acquire pairs with the claim in sj__remote_free. */
    if (sj_unlikely(((sj_word_read(&word->live) | sj_load_acquire_u64(bin->remote)) & bit) != 0))
        return sj__slow_malloc(policy, size_bytes, zero, asker);
    bin->bits = bits ^ bit;
    sj_word_set(&word->live, bit);
    char *start = bin->word_start + (size_t)slot * bin->slot_bytes;
    if (zero) {
        if (sj_unlikely((word->dirty & bit) != 0))
            memset(start, 0, bin->slot_bytes);
        else
            heap->calloc_avoided_bytes += bin->slot_bytes;
    }
    return start;
}

SJ_ALWAYS_INLINE void *sj_fast_calloc(const struct sj_policy *policy, size_t count, size_t size_bytes,
                                      struct sj_asker asker)
{
    size_t bytes;
    if (sj_unlikely(!sj_checked_mul(count, size_bytes, &bytes)))
        bytes = SIZE_MAX; /* more than there can be: the slow path answers ENOMEM */
    return sj_fast_malloc(policy, bytes, true, asker);
}

/* Puts a slot that has just stopped being live where the policy wants it. Returns true if it went straight back to the
 * bin it came from, where it still counts as used. */
SJ_ALWAYS_INLINE bool sj_fast_reuse_at_once(const struct sj_policy *policy, struct sj_heap *heap,
                                            const struct sj_slab *slab, struct sj_word *word, uint64_t bit)
{
    if (policy->delay != SJ_DELAY_LIFO)
        return false;
    struct sj_bin *bin = &heap->bins[slab->class_index];
    if (bin->word != word) /* its slots are of other words, or it has none */
        return false;
    bin->bits |= bit;
    bin->reused++;
    return true;
}

SJ_ALWAYS_INLINE void sj_fast_free(const struct sj_policy *policy, void *block, struct sj_asker asker)
{
    size_t window_offset = sj_window_offset(block);
    if (sj_unlikely(window_offset >= sj_load_relaxed_size(&sj__window.limit_bytes)))
        goto slow; /* NULL too */
    struct sj_slab *slab = (struct sj_slab *)(void *)sj_window_lookup(window_offset >> SJ_GRANULE_SHIFT);
    struct sj_heap *heap = sj__heap_current;
    if (sj_unlikely(sj_load_relaxed_ptr(&slab->span.owner) != heap))
        goto slow;

    size_t offset = (size_t)((char *)block - slab->base);
    unsigned slot = sj_slot_of(slab->reciprocal, offset);
    if (sj_unlikely((size_t)slot * slab->slot_bytes != offset))
        goto slow;
    struct sj_word *word = &slab->planes[slot / SJ_WORD_BITS];
    uint64_t bit = (uint64_t)1 << (slot % SJ_WORD_BITS);
    if (sj_unlikely((sj_word_read(&word->live) & bit) == 0))
        goto slow;
    /* Acquire pairs with the claim in sj__remote_free. */
    if (sj_unlikely((sj_load_acquire_u64(&slab->remote->bits[slot / SJ_WORD_BITS]) & bit) != 0))
        goto slow;

    if (sj_scrubs_at_free(policy, slab->slot_bytes)) {
        sj_scrub_slot(block, slab->slot_bytes);
        sj_word_set(&word->freed, bit);
    } else {
        sj_word_set(&word->dirty, bit);
    }
    sj_word_clear(&word->live, bit);
    if (sj_fast_reuse_at_once(policy, heap, slab, word, bit))
        return;
    sj_word_set(&word->available, bit);
    if (sj_unlikely(--slab->used <= slab->trigger))
        sj__slow_after_free(policy, slab, asker);
    return;
slow:
    sj__slow_free(policy, block, asker);
}

SJ_ALWAYS_INLINE void sj_fast_free_sized(const struct sj_policy *policy, void *block, size_t size_bytes,
                                         struct sj_asker asker)
{
    if (!policy->sized) {
        sj_fast_free(policy, block, asker);
        return;
    }
    struct sj_span *span = sj__window_find(block);
    unsigned class_index = size_bytes <= SJ_SMALL_MAX_BYTES ? sj_class_of(size_bytes) : 0;
    if (class_index != 0 && sj_load_relaxed_ptr(&span->owner) == sj__heap_current &&
        ((struct sj_slab *)(void *)span)->class_index == class_index)
        sj_fast_free(policy, block, asker);
    else
        sj__slow_free_sized(policy, block, size_bytes, 1, asker);
}

/* Defines the functions of one variant and its table. `policy_of` is a constant struct, or the settings in force. */
#define SJ_DEFINE_VARIANT(table, policy_of)                                                                          \
    static void *variant_malloc(size_t size_bytes)                                                                   \
    {                                                                                                                \
        return sj_fast_malloc((policy_of), size_bytes, false, SJ_ASKER("malloc"));                                   \
    }                                                                                                                \
    static void variant_free(void *block)                                                                            \
    {                                                                                                                \
        sj_fast_free((policy_of), block, SJ_ASKER("free"));                                                       \
    }                                                                                                                \
    static void *variant_calloc(size_t count, size_t size_bytes)                                                     \
    {                                                                                                                \
        return sj_fast_calloc((policy_of), count, size_bytes, SJ_ASKER("calloc"));                                   \
    }                                                                                                                \
    static void variant_free_sized(void *block, size_t size_bytes)                                                   \
    {                                                                                                                \
        sj_fast_free_sized((policy_of), block, size_bytes, SJ_ASKER("free_sized"));                                  \
    }                                                                                                                \
    static void *variant_realloc(void *block, size_t size_bytes)                                                     \
    {                                                                                                                \
        return sj__slow_realloc((policy_of), block, size_bytes, SJ_ASKER("realloc"));                                \
    }                                                                                                                \
    static void *variant_aligned(size_t alignment, size_t size_bytes)                                                \
    {                                                                                                                \
        return sj__slow_aligned((policy_of), alignment, size_bytes, SJ_ASKER("aligned_alloc"));                      \
    }                                                                                                                \
    static void variant_free_aligned_sized(void *block, size_t alignment, size_t size_bytes)                         \
    {                                                                                                                \
        sj__slow_free_sized((policy_of), block, size_bytes, alignment, SJ_ASKER("free_aligned_sized"));              \
    }                                                                                                                \
    static size_t variant_usable_size(void *block)                                                                   \
    {                                                                                                                \
        return sj__slow_usable_size(block, SJ_ASKER("malloc_usable_size"));                                          \
    }                                                                                                                \
    const struct sj_dispatch table = {                                                                               \
        .malloc = variant_malloc,                                                                                    \
        .free = variant_free,                                                                                        \
        .calloc = variant_calloc,                                                                                    \
        .free_sized = variant_free_sized,                                                                            \
        .realloc = variant_realloc,                                                                                  \
        .aligned = variant_aligned,                                                                                  \
        .free_aligned_sized = variant_free_aligned_sized,                                                            \
        .usable_size = variant_usable_size,                                                                          \
    }

#endif
