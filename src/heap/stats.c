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

static void sum_heaps(struct class_sums *classes, struct sj_heap_sums *sums)
{
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all) {
        sj__lock(&heap->lock);
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
        sj__unlock(&heap->lock);
    }
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

static void sum_slabs(const struct sj_policy *policy, struct class_sums *classes)
{
    size_t granules = sj_load_acquire_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT; /* pairs with the growth */
    for (size_t granule = 0; granule < granules; granule++) {
        const struct sj_span *span = sj_window_lookup(granule);
        if (sj_load_relaxed_u32(&span->kind) != SJ_SPAN_SLAB)
            continue;
        const struct sj_slab *slab = (const struct sj_slab *)(const void *)span;
        if (slab->first_granule == granule)
            sum_slab(policy, slab, classes);
    }
}

void sj__heap_sum(const struct sj_policy *policy, struct sj_heap_sums *sums)
{
    struct class_sums classes[SJ_CLASS_COUNT];
    memset(classes, 0, sizeof classes);
    memset(sums, 0, sizeof *sums);
    sums->shortest_rest = UINT64_MAX;
    sum_heaps(classes, sums);
    sum_slabs(policy, classes);
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
