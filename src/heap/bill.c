/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see bill.h.
 */
#include "heap/bill.h"

#include "heap/adopt.h"
#include "span/place.h"
#include "span/sampled.h"
#include "span/tail.h"

#include <string.h>

/* The two lists of the same lines agree. */
enum { /* as policy/bill.def counts */
#define SJ_BILL_LINE(NAME, name, meaning) LINE_##NAME,
#define SJ_RESERVE_LINE(NAME, name, meaning)
#include "policy/bill.def"
#undef SJ_BILL_LINE
#undef SJ_RESERVE_LINE
       LINES
};
enum {
#define SJ_BILL_LINE(NAME, name, meaning)
#define SJ_RESERVE_LINE(NAME, name, meaning) RESERVE_##NAME,
#include "policy/bill.def"
#undef SJ_BILL_LINE
#undef SJ_RESERVE_LINE
    RESERVES
};
#define SJ_BILL_LINE(NAME, name, meaning) \
    _Static_assert((int)LINE_##NAME == (int)SJ_BILL_##NAME, "policy/bill.def has the order of scrubjay.h");
#define SJ_RESERVE_LINE(NAME, name, meaning) \
    _Static_assert((int)RESERVE_##NAME == (int)SJ_RESERVE_##NAME, "policy/bill.def has the order of scrubjay.h");
#include "policy/bill.def"
#undef SJ_BILL_LINE
#undef SJ_RESERVE_LINE
_Static_assert((int)LINES == (int)SJ_BILL_LINES && (int)RESERVES == (int)SJ_RESERVE_LINES, "and all of them");

enum { PATIENCE_MS = 20 /* for locks, in all */ };

struct making {
    struct sj_bill *bill;
    struct sj_bill_row *rows;
    unsigned count;
    struct sj_bill_row *row; /* of the arena that is being looked at; NULL: of none of those */
};

static void add(struct making *making, enum sj_bill_line line, uint64_t bytes)
{
    making->bill->line[line] += bytes;
    if (making->row != NULL)
        making->row->line[line] += bytes;
}

static void look_at(struct making *making, const struct sj_named *named)
{
    making->row = NULL;
    for (unsigned i = 0; i < making->count && named != NULL; i++)
        if (making->rows[i].named == named)
            making->row = &making->rows[i];
}

/* The arena whose heap this is. */
static const struct sj_named *named_by(const struct sj_heap *heap)
{
    return heap != NULL && heap->own_policy != NULL ? (const struct sj_named *)(const void *)heap : NULL;
}
_Static_assert(offsetof(struct sj_named, heap) == 0, "an arena begins with its heap");

/* ---- Heaps ------------------------------------------------------------------------------------------------------- */

/* A store that is just being made anew may not be what its masks say. */
static uint64_t count_detained(const struct sj_quarantine *quarantine)
{
    size_t length = sj_quarantine_length(quarantine);
    uint64_t count = 0;
    if (length == 0 || !sj__arena_holds(quarantine->entries, length * sizeof quarantine->entries[0]))
        return 0;
    for (size_t i = 0; i < length; i++)
        count += __atomic_load_n(&quarantine->entries[i], __ATOMIC_RELAXED) != 0;
    return count;
}

/* What a heap has of its slabs' slots. Its lock keeps its slow paths out; without it they stand still, or nearly. */
static void add_heap(struct making *making, struct sj_heap *heap, unsigned *patience_ms)
{
    bool is_locked = sj__lock_in_time(&heap->lock, patience_ms);
    look_at(making, named_by(heap));
    for (unsigned c = SJ_CLASS_ZERO + 1; c < SJ_CLASS_COUNT; c++) {
        uint64_t taken = sj_word_read(&heap->bins[c].bits) | heap->lists[c].held_bits;
        add(making, SJ_BILL_CACHED_SLOTS, (uint64_t)sj_count_bits(taken) * sj__size_classes[c].slot_bytes);
        add(making, SJ_BILL_QUARANTINE, count_detained(&heap->quarantines[c]) * sj__size_classes[c].slot_bytes);
    }
    if (is_locked)
        sj__unlock(&heap->lock);
}

/* ---- Slabs ------------------------------------------------------------------------------------------------------- */

static uint64_t canary_bytes(const struct sj_slab *slab, unsigned word_index, uint64_t live)
{
    uint64_t bytes = 0;
    if (slab->canary != SJ_CANARY_EXACT)
        return slab->canary == SJ_CANARY_OFF ? 0 : (uint64_t)sj_count_bits(live) * SJ_CANARY_BYTES;
    for (; live != 0; live &= live - 1)
        bytes += sj_tail_note(slab, (size_t)word_index * SJ_WORD_BITS + sj_lowest_bit(live));
    return bytes;
}

static void add_word(struct making *making, const struct sj_slab *slab, unsigned word_index)
{
    const struct sj_word *word = &slab->planes[word_index];
    unsigned left = slab->slots - word_index * SJ_WORD_BITS;
    uint64_t slots = sj_low_mask(left < SJ_WORD_BITS ? left : SJ_WORD_BITS);
    uint64_t remote = sj_load_acquire_u64(&slab->remote->bits[word_index]); /* pairs with the claim */
    uint64_t live = sj_word_read(&word->live), dirty = sj_word_read(&word->dirty);
    uint64_t available = sj_word_read(&word->available) & ~live;
    uint64_t slot_bytes = slab->slot_bytes, tails = canary_bytes(slab, word_index, live & ~remote);
    add(making, SJ_BILL_LIVE, sj_count_bits(live & ~remote) * slot_bytes - tails);
    add(making, SJ_BILL_CANARIES, tails);
    add(making, SJ_BILL_REMOTE, sj_count_bits(live & remote) * slot_bytes);
    add(making, SJ_BILL_FREE_DIRTY, sj_count_bits(available & dirty) * slot_bytes);
    add(making, SJ_BILL_FREE_CLEAN, sj_count_bits(available & ~dirty) * slot_bytes);
    add(making, SJ_BILL_UNOPENED, sj_count_bits(slots & ~sj__slab_opened_of(slab, word_index)) * slot_bytes);
}

/* An open slab, all but the slots that its heap has; or a closed one whose place is kept. */
static void add_slab(struct making *making, const struct sj_slab *slab, bool is_open)
{
    uint64_t bytes = (uint64_t)sj__size_classes[slab->class_index].granules << SJ_GRANULE_SHIFT;
    if (!is_open) {
        add(making, SJ_BILL_KEPT_PLACES, slab->stays && slab->use != SJ_USE_BARE ? bytes : 0);
        return;
    }
    if (slab->class_index == SJ_CLASS_ZERO) {
        add(making, SJ_BILL_GUARDS, bytes);
        return;
    }
    add(making, SJ_BILL_SLACK, bytes - (uint64_t)slab->slots * slab->slot_bytes);
    for (unsigned w = 0; w < slab->words; w++)
        add_word(making, slab, w);
}

/* ---- Large and sampled blocks ------------------------------------------------------------------------------------ */

/* A copy of the record that belongs together, unless its owner keeps changing it or stands still within a change. */
static struct sj_large read_large(const struct sj_large *large)
{
    struct sj_large seen;
    uint32_t changes;
    unsigned tries = 0;
    do {
        changes = sj_load_acquire_u32(&large->changes); /* pairs with sj__place_note_change */
        seen = *large;
        sj_compiler_barrier();
    } while ((changes % 2 != 0 || sj_load_acquire_u32(&large->changes) != changes) && ++tries < 3);
    return seen;
}

static void add_large(struct making *making, const struct sj_large *named)
{
    const struct sj_large large = read_large(named);
    look_at(making, sj__named_of(sj_load_relaxed_u32(&large.account)));
    uint64_t guard_bytes = (large.guarded_front + large.guarded_back) * (uint64_t)sj__page_bytes();
    uint64_t pages_bytes = sj_place_pages_bytes(&large), rest_bytes = pages_bytes - large.requested_bytes;
    add(making, SJ_BILL_GUARDS, guard_bytes);
    add(making, SJ_BILL_ROOM, ((uint64_t)large.granules << SJ_GRANULE_SHIFT) - pages_bytes - guard_bytes);
    if (sj_load_relaxed_u32(&large.live) == 0) {
        add(making, large.cold ? SJ_BILL_CACHED_COLD : SJ_BILL_CACHED_LARGE, pages_bytes);
    } else if (large.unusable) {
        add(making, SJ_BILL_GUARDS, pages_bytes);
    } else {
        add(making, SJ_BILL_LIVE, large.requested_bytes);
        add(making, SJ_BILL_SLACK, large.canary ? large.shift_bytes : rest_bytes);
        add(making, SJ_BILL_CANARIES, large.canary ? rest_bytes - large.shift_bytes : 0);
    }
}

/* The granules of the pool: a live block's page is its own and what surrounds it, all else faults. */
static void add_sampled(struct making *making, uint64_t granules)
{
    struct sj_sampled_counts counts;
    sj__sampled_read_counts(&counts);
    uint64_t live_bytes = counts.allocated_bytes - counts.freed_bytes;
    uint64_t pages_bytes = (counts.allocated_blocks - counts.freed_blocks) * sj__page_bytes();
    if (granules == 0)
        return;
    add(making, SJ_BILL_LIVE, live_bytes);
    add(making, SJ_BILL_CANARIES, pages_bytes - live_bytes);
    add(making, SJ_BILL_GUARDS, (granules << SJ_GRANULE_SHIFT) - pages_bytes);
}

/* ---- The walk ---------------------------------------------------------------------------------------------------- */

static void add_granule(struct making *making, size_t granule, uint64_t *sampled_granules)
{
    const struct sj_span *span = sj_window_lookup(granule);
    uint32_t kind = sj_load_acquire_u32(&span->kind); /* pairs with the stores when a record changes its state */
    const struct sj_slab *slab = (const struct sj_slab *)(const void *)span;
    *sampled_granules += span == sj__sampled_span();
    if (kind != SJ_SPAN_FREED && kind != SJ_SPAN_SLAB && kind != SJ_SPAN_LARGE)
        return;
    if (span->record_of == SJ_SPAN_LARGE)
        add_large(making, (const struct sj_large *)(const void *)span);
    else if (span->record_of == SJ_SPAN_SLAB && slab->first_granule == granule) {
        look_at(making, named_by(sj_load_acquire_ptr(&span->owner))); /* pairs with the store in sj__slab_open */
        add_slab(making, slab, kind == SJ_SPAN_SLAB);
    }
}

static void add_books(struct sj_bill *bill, unsigned *patience_ms)
{
    struct sj_run_bytes runs;
    size_t records_bytes, mapped_bytes;
    sj__run_peek_bytes(&runs, patience_ms);
    sj__arena_bytes(&records_bytes, &mapped_bytes);
    uint64_t map_bytes = runs.window >> SJ_GRANULE_SHIFT << 3;
    bill->committed_bytes = runs.taken + runs.set_aside + sj_run_held_bytes(&runs) + records_bytes + map_bytes;
    uint64_t peak_bytes = runs.peak + map_bytes; /* records come without the runs' knowledge */
    bill->peak_bytes = peak_bytes > bill->committed_bytes ? peak_bytes : bill->committed_bytes;
    bill->line[SJ_BILL_RUNS_DIRTY] = runs.held[SJ_RUN_DIRTY] + runs.held[SJ_RUN_OWING];
    bill->line[SJ_BILL_RUNS_CLEAN] = runs.held[SJ_RUN_ZERO];
    bill->line[SJ_BILL_RECORDS] = records_bytes;
    bill->line[SJ_BILL_MAP] = map_bytes;
    bill->reserve[SJ_RESERVE_EMPTY] = runs.held[SJ_RUN_EMPTY];
    bill->reserve[SJ_RESERVE_UNTOUCHED] = runs.held[SJ_RUN_UNTOUCHED];
    bill->reserve[SJ_RESERVE_TRAPPED] = runs.held[SJ_RUN_TRAPPED];
    bill->reserve[SJ_RESERVE_UNMAPPED] = runs.held[SJ_RUN_UNMAPPED];
    bill->reserve[SJ_RESERVE_BARE] = runs.bare;
    bill->reserve[SJ_RESERVE_LOST] = runs.lost;
    bill->reserve[SJ_RESERVE_RECORDS] = mapped_bytes - records_bytes;
}

void sj__bill_make(struct sj_bill *bill, struct sj_bill_row *rows, unsigned count)
{
    struct making making = { .bill = bill, .rows = rows, .count = count };
    unsigned patience_ms = PATIENCE_MS;
    uint64_t sampled_granules = 0, sum_bytes = 0;
    memset(bill, 0, sizeof *bill);
    bill->version = SJ_BILL_VERSION;
    bill->bytes = sizeof *bill;
    size_t granules = sj_load_acquire_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT; /* pairs with the growth */
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all)
        add_heap(&making, heap, &patience_ms);
    for (size_t granule = 0; granule < granules; granule++)
        add_granule(&making, granule, &sampled_granules);
    making.row = NULL;
    add_sampled(&making, sampled_granules);
    add_books(bill, &patience_ms);
    for (unsigned line = 0; line < SJ_BILL_LINES; line++)
        sum_bytes += bill->line[line];
    bill->in_flight_bytes = (int64_t)(bill->committed_bytes - sum_bytes);
}
