/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see stats.h.
 */
#include "heap/stats.h"

#include "heap/adopt.h"

#include <string.h>

struct class_sums {
    uint64_t taken_slots;
    uint64_t held_slots; /* taken and not handed out */
    uint64_t live_slots;
    uint64_t owed_slots;
};

static void sum_heap(const struct sj_heap *heap, struct class_sums *classes, struct sj_heap_sums *sums)
{
    for (unsigned c = 0; c < SJ_CLASS_COUNT; c++) {
        const struct sj_bin *bin = &heap->bins[c];
        classes[c].taken_slots += heap->lists[c].taken_slots;
        if (bin->slab != NULL && bin->slab->uncounted)
            classes[c].taken_slots += sj__slab_handed(bin->slab);
        classes[c].held_slots += sj_count_bits(sj_word_read(&bin->bits)) + sj_count_bits(heap->lists[c].held_bits);
        sums->slabs += heap->lists[c].slabs;
        sums->slab_bytes += (uint64_t)heap->lists[c].slabs * sj__size_classes[c].granules << SJ_GRANULE_SHIFT;
    }
    sums->paid_reuse_bytes += heap->paid_reuse_bytes;
    sums->paid_kernel_bytes += heap->paid_kernel_bytes;
    sums->calloc_avoided_bytes += heap->calloc_avoided_bytes;
    sums->remote_freed_slots += heap->remote_freed_slots;
    sums->turns += heap->turns;
    if (heap->turns > 0 && heap->shortest_rest < sums->shortest_rest)
        sums->shortest_rest = heap->shortest_rest;
    sums->picks_sampled += heap->picks.sampled;
    sums->picks_entropy += heap->picks.entropy;
    sums->heaps++;
}

/* A remote free that is not folded yet has happened: its slot is not live, and owes if nobody scrubbed it. */
static void sum_slab(const struct sj_policy *policy, const struct sj_slab *slab, struct class_sums *classes)
{
    struct class_sums *sums = &classes[slab->class_index];
    bool scrubbed = sj_heap_remote_is_scrubbed(policy, slab, sj__adopt_level());
    for (unsigned w = 0; w < slab->words; w++) {
        const struct sj_word *word = &slab->planes[w];
        uint64_t remote = sj_load_acquire_u64(&slab->remote->bits[w]); /* pairs with the claim */
        uint64_t live = sj_word_read(&word->live);
        sums->live_slots += sj_count_bits(live & ~remote);
        sums->owed_slots += sj_count_bits((sj_word_read(&word->dirty) & ~live) | (scrubbed ? 0 : live & remote));
    }
}

/* All but those of arenas, whose policy is another. */
static void sum_slabs(const struct sj_policy *policy, struct class_sums *classes)
{
    size_t granules = sj_load_acquire_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT; /* pairs with the growth */
    for (size_t granule = 0; granule < granules; granule++) {
        const struct sj_span *span = sj_window_lookup(granule);
        if (sj_load_relaxed_u32(&span->kind) != SJ_SPAN_SLAB)
            continue;
        const struct sj_slab *slab = (const struct sj_slab *)(const void *)span;
        if (slab->first_granule == granule && (slab->stamp & SJ_STAMP_OWN) != SJ_STAMP_OWN)
            sum_slab(policy, slab, classes);
    }
}

static void add_classes(const struct sj_policy *policy, const struct class_sums *classes, struct sj_heap_sums *sums)
{
    for (unsigned c = 0; c < SJ_CLASS_COUNT; c++) {
        uint64_t allocated_slots = classes[c].taken_slots - classes[c].held_slots;
        uint64_t slot_bytes = sj__size_classes[c].usable_bytes;
        sums->allocated_slots += allocated_slots;
        sums->live_slots += classes[c].live_slots;
        sums->allocated_bytes += allocated_slots * slot_bytes;
        sums->live_bytes += classes[c].live_slots * slot_bytes;
        sums->owed_bytes += classes[c].owed_slots * slot_bytes;
        if (sj_scrubs_at_free(policy, slot_bytes))
            sums->freed_bytes_hot += (allocated_slots - classes[c].live_slots) * slot_bytes;
    }
}

/* What a heap of a policy of its own has come to since it has it. What was freed and is neither paid nor owed was given up. */
static void sum_own(const struct sj_heap *heap, struct sj_heap_sums *own)
{
    struct class_sums classes[SJ_CLASS_COUNT];
    memset(classes, 0, sizeof classes);
    memset(own, 0, sizeof *own);
    own->shortest_rest = UINT64_MAX;
    sum_heap(heap, classes, own);
    for (const struct sj_slab *slab = heap->slabs; slab != NULL; slab = slab->next_of_heap)
        sum_slab(heap->own_policy, slab, classes);
    add_classes(heap->own_policy, classes, own);
    uint64_t freed_bytes = own->allocated_bytes - own->live_bytes;
    uint64_t booked_bytes = own->freed_bytes_hot + own->owed_bytes + own->paid_reuse_bytes + own->paid_kernel_bytes -
                            heap->retired.paid_bytes;
    own->forgone_bytes = freed_bytes > booked_bytes ? freed_bytes - booked_bytes : 0;
}

void sj__heap_retire_sums(struct sj_heap *heap)
{
    struct sj_heap_sums own;
    sum_own(heap, &own);
    heap->retired.slots += own.allocated_slots;
    heap->retired.bytes += own.allocated_bytes;
    heap->retired.hot_bytes += own.freed_bytes_hot;
    heap->retired.forgone_bytes += own.forgone_bytes;
    heap->retired.paid_bytes = own.paid_reuse_bytes + own.paid_kernel_bytes;
    for (unsigned c = 0; c < SJ_CLASS_COUNT; c++)
        heap->lists[c].taken_slots = 0;
}

static void add_own(const struct sj_heap *heap, struct sj_heap_sums *sums)
{
    struct sj_heap_sums own;
    sum_own(heap, &own);
    sums->allocated_slots += own.allocated_slots + heap->retired.slots;
    sums->live_slots += own.live_slots;
    sums->live_bytes += own.live_bytes;
    sums->allocated_bytes += own.allocated_bytes + heap->retired.bytes;
    sums->owed_bytes += own.owed_bytes;
    sums->freed_bytes_hot += own.freed_bytes_hot + heap->retired.hot_bytes;
    sums->paid_reuse_bytes += own.paid_reuse_bytes;
    sums->paid_kernel_bytes += own.paid_kernel_bytes;
    sums->calloc_avoided_bytes += own.calloc_avoided_bytes;
    sums->remote_freed_slots += own.remote_freed_slots;
    sums->slabs += own.slabs;
    sums->slab_bytes += own.slab_bytes;
    sums->forgone_bytes += own.forgone_bytes + heap->retired.forgone_bytes;
    sums->heaps++;
}

void sj__heap_sum(const struct sj_policy *policy, struct sj_heap_sums *sums)
{
    struct class_sums classes[SJ_CLASS_COUNT];
    memset(classes, 0, sizeof classes);
    memset(sums, 0, sizeof *sums);
    sums->shortest_rest = UINT64_MAX;
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all) {
        sj__lock(&heap->lock);
        if (heap->own_policy != NULL)
            add_own(heap, sums);
        else
            sum_heap(heap, classes, sums);
        sj__unlock(&heap->lock);
    }
    sum_slabs(policy, classes);
    add_classes(policy, classes, sums);
}
