/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see slab.h.
 */
#include "span/slab.h"

#include "platform/pages.h"
#include "span/scrub.h"
#include "span/site.h"

#include <string.h>

void sj__slab_forget_turns(struct sj_slab *slab)
{
    memset(slab->left_at, 0, sj_class_units(&sj__size_classes[slab->class_index]) * sizeof slab->left_at[0]);
}

static void reset_planes(struct sj_slab *slab, bool dirty)
{
    unsigned slots_left = slab->slots;
    for (unsigned w = 0; w < slab->words; w++) {
        uint64_t all = sj_low_mask(slots_left);
        slots_left -= slots_left < SJ_WORD_BITS ? slots_left : SJ_WORD_BITS;
        struct sj_word *word = &slab->planes[w];
        sj_word_write(&word->live, 0);
        sj_word_write(&word->available, 0);
        sj_word_write(&word->dirty, dirty ? all : 0);
        sj_word_write(&word->freed, 0);
    }
}

/* A record that served before a raise gets its notes now; without memory for them canaries are less exact. */
static enum sj_canary prepare_canary(const struct sj_policy *policy, struct sj_slab *slab)
{
    if (policy->canary == SJ_CANARY_OFF || slab->class_index == SJ_CLASS_ZERO)
        return SJ_CANARY_OFF;
    if (policy->canary == SJ_CANARY_EXACT && slab->notes == NULL)
        slab->notes = sj__run_record(slab->slots * sizeof *slab->notes);
    return policy->canary == SJ_CANARY_EXACT && slab->notes != NULL ? SJ_CANARY_EXACT : SJ_CANARY_SLOT;
}

/* Likewise; without memory for them nothing is said about families. All are 0, as the last object of each slot left them. */
static uint8_t *prepare_families(const struct sj_policy *policy, struct sj_slab *slab)
{
    if (!policy->types)
        return NULL;
    if (slab->families_room == NULL)
        slab->families_room = sj__run_record(slab->slots);
    return slab->families_room;
}

struct sj_slab *sj__slab_open(const struct sj_policy *policy, unsigned class_index, void *owner, uint8_t stamp)
{
    struct sj_slab *slab = sj__site_get(policy, class_index);
    if (slab == NULL)
        return NULL;
    if ((stamp & SJ_STAMP_COUNTED) != 0 && slab->accounts == NULL) {
        slab->accounts = sj__run_record(slab->slots * sizeof *slab->accounts);
        if (slab->accounts == NULL) { /* its content is as it was */
            sj__site_put(slab);
            return NULL;
        }
    }
    slab->clean_start = slab->content != SJ_RUN_DIRTY;
    slab->stamp = stamp;
    slab->until_slow = 0;
    slab->trigger = 0;
    slab->first_group = 0;
    slab->opened = 0;
    slab->cursor = 0;
    slab->released = false;
    slab->uncounted = false;
    slab->canary = (uint8_t)prepare_canary(policy, slab);
    slab->families = prepare_families(policy, slab);
    slab->plain_slots = slab->canary == SJ_CANARY_OFF ? (uint16_t)slab->slots : 0;
    reset_planes(slab, !slab->clean_start);
    sj__slab_forget_turns(slab);
    sj_store_relaxed_u32(&slab->span.kind, SJ_SPAN_SLAB);
    sj_store_release_ptr(&slab->span.owner, owner); /* pairs with the load in heap/remote.c */
    for (size_t i = 0; i < sj__size_classes[class_index].granules; i++)
        sj_window_set(slab->first_granule + i, &slab->span);
    return slab;
}

uint32_t sj__slab_live(const struct sj_slab *slab)
{
    uint32_t live = 0;
    for (unsigned w = 0; w < slab->words; w++)
        live += sj_count_bits(sj_word_read(&slab->planes[w].live));
    return live;
}

uint32_t sj__slab_handed(const struct sj_slab *slab)
{
    return sj__slab_live(slab) - slab->used_before + (uint32_t)(SJ_SLAB_UNCOUNTED - slab->until_slow);
}

bool sj__slab_is_idle(const struct sj_slab *slab)
{
    uint64_t busy = 0;
    for (unsigned w = 0; w < slab->words; w++)
        busy |= slab->planes[w].live | sj_load_acquire_u64(&slab->remote->bits[w]); /* pairs with the remote claim */
    return busy == 0;
}

void sj__slab_close(struct sj_slab *slab)
{
    uint64_t dirty = 0;
    for (unsigned w = 0; w < slab->words; w++)
        dirty |= slab->planes[w].dirty;
    size_t granules = sj__size_classes[slab->class_index].granules;
    /* Nobody pays for the bytes behind the last slot. */
    bool has_rest = (size_t)slab->slots * slab->slot_bytes < granules << SJ_GRANULE_SHIFT;
    enum sj_run_content content = dirty != 0 || (has_rest && !slab->clean_start) ? SJ_RUN_DIRTY : SJ_RUN_ZERO;
    slab->content = (uint8_t)(slab->released ? SJ_RUN_EMPTY : content);
    sj_store_relaxed_u32(&slab->span.kind, SJ_SPAN_FREED);
    sj_store_release_ptr(&slab->span.owner, NULL); /* pairs with the load in heap/remote.c */
    sj__site_put(slab);
}

/* The slots of the next group to be opened; they become available. */
static void open_group(struct sj_slab *slab, struct sj_group *group)
{
    unsigned fresh_slots = sj__size_classes[slab->class_index].fresh_slots;
    unsigned index = slab->first_group + slab->opened++;
    index -= index >= slab->groups ? slab->groups : 0;
    unsigned first_slot = index * fresh_slots;
    unsigned slots = slab->slots - first_slot < fresh_slots ? slab->slots - first_slot : fresh_slots;
    group->word_index = first_slot / SJ_WORD_BITS;
    group->first_slot = first_slot % SJ_WORD_BITS;
    group->slots = fresh_slots;
    group->fresh = true;
    group->bits = (sj_low_mask(slots) << group->first_slot) & ~slab->planes[group->word_index].live;
}

/* The first rich unit from the cursor on, else the fullest. Returns how many slots it has. */
static unsigned find_unit(struct sj_slab *slab, const struct sj_take *how, struct sj_group *group)
{
    unsigned units = (slab->slots + how->unit_slots - 1) / how->unit_slots;
    unsigned index = slab->cursor < units ? slab->cursor : 0;
    unsigned best_count = 0;
    for (unsigned looked = 0; looked < units; looked++) {
        unsigned first_slot = index * how->unit_slots;
        const struct sj_word *word = &slab->planes[first_slot / SJ_WORD_BITS];
        uint64_t bits = word->available & ~word->live & (sj_low_mask(how->unit_slots) << (first_slot % SJ_WORD_BITS));
        index = index + 1 < units ? index + 1 : 0;
        unsigned count = bits != 0 ? sj_count_bits(bits) : 0;
        if (count <= best_count)
            continue;
        best_count = count;
        *group =
            (struct sj_group){ bits, first_slot / SJ_WORD_BITS, first_slot % SJ_WORD_BITS, how->unit_slots, false };
        slab->cursor = (uint16_t)index;
        if (count >= how->rich_slots)
            break;
    }
    return best_count;
}

bool sj__slab_take(struct sj_slab *slab, const struct sj_take *how, struct sj_group *group)
{
    bool has_fresh = slab->opened < slab->groups;
    size_t opened_bytes = (size_t)slab->opened * sj__size_classes[slab->class_index].fresh_slots * slab->slot_bytes;
    unsigned count = has_fresh && opened_bytes < how->rest_bytes ? 0 : find_unit(slab, how, group);
    if (count < how->rich_slots && has_fresh) {
        open_group(slab, group);
        count = sj_count_bits(group->bits);
    } else if (count == 0 || (how->rich_only && count < how->rich_slots)) {
        return false;
    } else {
        sj_word_clear(&slab->planes[group->word_index].available, group->bits);
    }
    slab->until_slow += (int32_t)count;
    return true;
}

size_t sj__slab_pay(struct sj_slab *slab, const struct sj_group *group)
{
    struct sj_word *word = &slab->planes[group->word_index];
    uint64_t owing = word->dirty & group->bits;
    if (owing == 0)
        return 0;
    char *word_start = slab->base + (size_t)group->word_index * SJ_WORD_BITS * slab->slot_bytes;
    size_t paid_bytes = 0;
    for (uint64_t left = owing; left != 0;) {
        unsigned first = sj_lowest_bit(left);
        uint64_t from_first = ~(left >> first);
        unsigned length = from_first == 0 ? SJ_WORD_BITS : sj_lowest_bit(from_first);
        size_t bytes = (size_t)length * slab->slot_bytes;
        sj__scrub_bytes(word_start + (size_t)first * slab->slot_bytes, bytes);
        paid_bytes += bytes;
        left &= ~(sj_low_mask(length) << first);
    }
    sj_word_clear(&word->dirty, owing);
    return paid_bytes;
}

bool sj__slab_release(struct sj_slab *slab, size_t *paid_bytes)
{
    size_t owed_slots = 0;
    for (unsigned w = 0; w < slab->words; w++)
        owed_slots += sj_count_bits(slab->planes[w].dirty);
    size_t granules = sj__size_classes[slab->class_index].granules;
    if (!sj__pages_release(slab->base, granules << SJ_GRANULE_SHIFT))
        return false;
    for (unsigned w = 0; w < slab->words; w++)
        sj_word_write(&slab->planes[w].dirty, 0);
    slab->released = true;
    *paid_bytes = owed_slots * slab->slot_bytes;
    return true;
}

/* ---- The check --------------------------------------------------------------------------------------------------- */

uint64_t sj__slab_opened_of(const struct sj_slab *slab, unsigned word_index)
{
    unsigned fresh_slots = sj__size_classes[slab->class_index].fresh_slots;
    uint64_t opened = 0;
    for (unsigned first = 0; first < SJ_WORD_BITS; first += fresh_slots) {
        unsigned first_slot = word_index * SJ_WORD_BITS + first;
        if (first_slot >= slab->slots)
            break;
        unsigned index = first_slot / fresh_slots;
        unsigned turn = index + (index < slab->first_group ? slab->groups : 0u) - slab->first_group;
        unsigned slots = slab->slots - first_slot < fresh_slots ? slab->slots - first_slot : fresh_slots;
        if (turn < slab->opened)
            opened |= sj_low_mask(slots) << first;
    }
    return opened;
}

static bool has_class_measures(const struct sj_slab *slab, const struct sj_size_class *size_class)
{
    unsigned groups = (size_class->slots + size_class->fresh_slots - 1u) / size_class->fresh_slots;
    return slab->slot_bytes == size_class->slot_bytes && slab->reciprocal == size_class->reciprocal &&
           slab->slots == size_class->slots && slab->words == size_class->words && slab->groups == groups &&
           slab->first_group < groups && slab->opened <= groups && slab->cursor <= slab->slots;
}

const char *sj__slab_fault(const struct sj_slab *slab)
{
    if (slab->class_index >= SJ_CLASS_COUNT)
        return "a slab is of no size class";
    const struct sj_size_class *size_class = &sj__size_classes[slab->class_index];
    if (!has_class_measures(slab, size_class))
        return "a slab does not have the measures of its size class";
    size_t remote_bytes = sizeof(struct sj_remote) + size_class->words * sizeof(struct sj_atomic_u64);
    if (!sj__arena_holds(slab->remote, remote_bytes))
        return "a slab's remote bits lie nowhere";
    if (sj_slab_is_counted(slab) && !sj__arena_holds(slab->accounts, slab->slots * sizeof *slab->accounts))
        return "a slab's accounts lie nowhere";
    size_t limit = sj_load_acquire_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT; /* pairs with the growth */
    size_t granules = size_class->granules + (slab->guarded ? 1u : 0u);
    if (slab->first_granule >= limit || granules > limit - slab->first_granule ||
        slab->base != sj_window_address(slab->first_granule))
        return "a slab is not where its record says";
    for (size_t i = 0; i < size_class->granules; i++)
        if (sj_window_lookup(slab->first_granule + i) != &slab->span)
            return "the map has another record than the slab's for one of its granules";
    if (slab->guarded && sj_window_lookup(slab->first_granule + granules - 1) != sj__window_unused)
        return "the guard behind a slab is somebody's";
    return NULL;
}
