/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see large.h.
 */
#include "span/large.h"

#include "base/checked.h"
#include "guard/canary.h"
#include "guard/fill.h"
#include "platform/lock.h"
#include "platform/pages.h"
#include "report/report.h"
#include "span/cache.h"
#include "span/family.h"
#include "span/place.h"
#include "span/scrub.h"

enum {
    KEEP_MIN_BYTES = 8 << 20,  /* of all kept blocks together, at least: see doc/adr/0053 */
    KEEP_WINDOW_FRACTION = 16, /* and this part of the window, if that is more; no more than cache_max_bytes */
    AGED_CALLS = 256,          /* system calls of one pass of the clock */
    REFUSED_REST_MS = 1000     /* until the clock tries again after the kernel refused */
};

static struct sj_lock large_lock = SJ_LOCK_INIT(SJ_RANK_LARGE);
static struct sj_large *record_pool;

static struct sj_large *record_get(void)
{
    sj__lock(&large_lock);
    struct sj_large *large = record_pool;
    if (large != NULL)
        record_pool = large->next;
    sj__unlock(&large_lock);
    if (large == NULL && (large = sj__run_record(sizeof *large)) != NULL)
        large->span.record_of = SJ_SPAN_LARGE;
    return large;
}

static void record_put(struct sj_large *large)
{
    sj__lock(&large_lock);
    large->next = record_pool;
    record_pool = large;
    sj__unlock(&large_lock);
}

/* ---- Malloc ----------------------------------------------------------------------------------------------------- */

static void give_up_all(struct sj_large *evicted);

/* verify: free pages that owe nothing and were accessible must still read as zero. */
static void verify_pages(const char *start, size_t bytes)
{
    if (sj_likely(sj__fill_holds(start, bytes, 0)))
        return;
    size_t offset = sj__fill_first_changed(start, bytes, 0);
    sj__report_misuse(SJ_WRITE_AFTER_FREE,
                      &(struct sj_report_facts){
                          .pointer = start + offset,
                          .block = start,
                          .function = "malloc",
                          .offset_bytes = offset,
                          .size_bytes = bytes,
                          .note = "found when the pages of a large block were about to be handed out",
                          .has_byte = true,
                          .byte_is = (uint8_t)start[offset < bytes ? offset : 0],
                      });
}

/* A block out of the cache, made live. */
static void *take_kept(const struct sj_policy *policy, size_t usable_bytes, size_t alignment, size_t size_bytes,
                       bool zero)
{
    const struct sj_cache_wish wish = { .usable_bytes = usable_bytes,
                                        .guarded = policy->guard >= SJ_GUARD_LARGE,
                                        .rests = policy->delay >= SJ_DELAY_RUN,
                                        .scrubbed = zero || policy->scrub != SJ_SCRUB_OFF };
    struct sj_large *large = sj__cache_take(&wish);
    if (large == NULL)
        return NULL;
    bool was_accessible = large->trapped == SJ_TRAP_NONE;
    if (!sj__place_lift_trap(large)) { /* for the books it was handed out, and is freed again */
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.freed_blocks, 1);
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.freed_bytes, usable_bytes);
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.released_bytes, large->dirty ? 0 : usable_bytes);
        large->next = NULL;
        give_up_all(large);
        return NULL;
    }
    large->requested_bytes = size_bytes;
    if (policy->verify && was_accessible && !large->dirty)
        verify_pages(large->start, usable_bytes);
    if (large->dirty && wish.scrubbed) /* its pages are there: cheaper than fresh ones, whatever the size */
        sj__scrub_bytes(large->start, usable_bytes);
    sj__place_align_to_end(policy, large, alignment);
    sj__place_set_canary(policy, large);
    large->family = sj_family_at_first(policy);
    sj__place_make_live(large); /* its map entry still names it */
    return large->start;
}

void *sj__large_malloc(const struct sj_policy *policy, size_t size_bytes, size_t alignment, bool zero)
{
    size_t page_bytes = sj__page_bytes();
    size_t usable_bytes = 0; /* for gcc -Og, which does not see that it is set */
    if (!sj_checked_round_up(size_bytes != 0 ? size_bytes : 1, page_bytes, &usable_bytes) ||
        usable_bytes > SJ_MAX_REQUEST_BYTES)
        return NULL;
    if (size_bytes != 0 && alignment <= page_bytes) {
        void *kept = take_kept(policy, usable_bytes, alignment, size_bytes, zero);
        if (kept != NULL)
            return kept;
    }
    struct sj_large *large = record_get();
    if (large == NULL)
        return NULL;
    large->usable_bytes = usable_bytes;
    large->requested_bytes = size_bytes;
    enum sj_run_content content;
    size_t place_alignment = alignment > page_bytes ? alignment : page_bytes;
    large->shift_bytes = 0;
    if (!sj__place_take(policy, large, place_alignment, 0, &content) &&
        (sj__cache_is_empty() || (sj__large_drain(), !sj__place_take(policy, large, place_alignment, 0, &content)))) {
        record_put(large);
        return NULL;
    }
    large->slack_dirty = content == SJ_RUN_DIRTY;
    large->moved = large->guarded_front = large->guarded_back = large->trapped = 0;
    if (content == SJ_RUN_DIRTY && (zero || policy->scrub != SJ_SCRUB_OFF))
        (void)sj__place_zero_pages(large->start, usable_bytes);
    else if (policy->verify && content == SJ_RUN_ZERO)
        verify_pages(large->start, usable_bytes);
    sj__place_guard_front(policy, large);
    sj__place_guard_back(policy, large);
    large->unusable = size_bytes == 0 && sj__pages_guard(large->start, usable_bytes);
    sj__place_align_to_end(policy, large, alignment);
    sj__place_set_canary(policy, large);
    large->family = sj_family_at_first(policy);
    sj__place_publish(large);
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.allocated_blocks, 1);
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.allocated_bytes, large->unusable ? 0 : usable_bytes);
    return large->start;
}

/* ---- Free ------------------------------------------------------------------------------------------------------- */

/* Lifts the guards, while they still are what their flags say. False: the block's granules are lost. */
static bool make_accessible(struct sj_large *large)
{
    if (sj__place_lift_guards(large))
        return true;
    if (!sj__window_renew(sj_place_granules_start(large), large->granules << SJ_GRANULE_SHIFT))
        return false;
    sj__pages_forget_guards((size_t)large->guarded_front + large->guarded_back + large->unusable);
    if (large->trapped == SJ_TRAP_KEEPING)
        sj__pages_forget_trap();
    return true;
}

/* Gives a freed block's granules back to the runs and its record to the pool. */
static void give_up(struct sj_large *large, unsigned content, size_t owed_bytes)
{
    sj__place_withdraw(large);
    sj__place_give(large, content, owed_bytes);
    record_put(large);
}

/* Gives up blocks that come out of the cache. */
static void give_up_all(struct sj_large *evicted)
{
    while (evicted != NULL) {
        struct sj_large *large = evicted;
        unsigned content = large->cold    ? SJ_RUN_EMPTY
                           : large->owes  ? SJ_RUN_OWING
                           : large->dirty ? SJ_RUN_DIRTY
                                          : SJ_RUN_ZERO;
        size_t owed_bytes = large->owes ? large->usable_bytes : 0;
        bool was_trapped = large->trapped != SJ_TRAP_NONE;
        evicted = large->next;
        if (!make_accessible(large))
            content = SJ_PLACE_LOST;
        else if (was_trapped && sj__place_trap(large)) {
            (void)sj_fetch_add_relaxed_u64(&sj__place_counts.released_bytes, owed_bytes);
            content = SJ_RUN_TRAPPED;
        }
        give_up(large, content, owed_bytes);
    }
}

/* Keeps a freed block whole for the next request of its size. Unless the policy wants the bytes gone now they stay, owing:
 * the block may go back to the system, which pays, or its next owner may never come. */
static void keep(const struct sj_policy *policy, struct sj_large *large)
{
    large->cold = 0;
    large->dirty = policy->scrub != SJ_SCRUB_FREE;
    large->owes = large->dirty && policy->scrub != SJ_SCRUB_OFF;
    if (policy->scrub == SJ_SCRUB_FREE)
        large->cold = sj__place_zero_pages(large->start, large->usable_bytes) == SJ_RUN_EMPTY;
    if (policy->trap != SJ_TRAP_OFF)
        sj__place_trap_kept(policy, large);
    size_t fraction_bytes = sj_load_relaxed_size(&sj__window_limit_bytes) / KEEP_WINDOW_FRACTION;
    size_t allowed_bytes = fraction_bytes > KEEP_MIN_BYTES ? fraction_bytes : KEEP_MIN_BYTES;
    uint64_t limit_bytes = sj__run_is_pressed() ? 0 : sj_load_relaxed_u64(&sj__release_limits.cache_bytes);
    give_up_all(sj__cache_put(large, allowed_bytes < limit_bytes ? allowed_bytes : limit_bytes));
}

/* Gives a kept block's pages back. False: the kernel refused, and the block is as it was. */
static bool release_kept(struct sj_large *large)
{
    if (!sj__pages_release(large->start, large->usable_bytes))
        return false;
    if (large->owes)
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.released_bytes, large->usable_bytes);
    large->dirty = large->owes = 0;
    return true;
}

/* What the kernel refused to take: if it owes, the owner of the memory wants it to stay, and we write the zeros. */
static void pay_refused(struct sj_large *large)
{
    bool was_trapped = large->trapped != SJ_TRAP_NONE;
    if (!large->owes || !sj__place_lift_trap(large))
        return;
    sj__scrub_bytes(large->start, large->usable_bytes);
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.reused_bytes, large->usable_bytes);
    large->dirty = large->owes = 0;
    if (was_trapped)
        sj__place_trap_again(large);
}

size_t sj__large_drain(void)
{
    size_t given_bytes = 0;
    struct sj_large *drained = sj__cache_drain();
    for (struct sj_large *large = drained; large != NULL; large = large->next) {
        if (large->cold)
            continue;
        if (release_kept(large)) {
            given_bytes += large->usable_bytes;
            large->cold = 1;
        } else {
            pay_refused(large);
        }
    }
    give_up_all(drained);
    return given_bytes;
}

uint64_t sj__large_release_aged(uint64_t before_ms, size_t *budget_bytes)
{
    for (unsigned calls = 0; calls<AGED_CALLS && * budget_bytes> 0; calls++) {
        struct sj_large *large = sj__cache_take_aged(before_ms);
        if (large == NULL)
            break;
        *budget_bytes -= large->usable_bytes < *budget_bytes ? large->usable_bytes : *budget_bytes;
        bool released = release_kept(large);
        if (!released)
            pay_refused(large);
        sj__cache_put_back(large, released);
        if (!released)
            return sj_release_age_due_in(REFUSED_REST_MS);
    }
    return sj__cache_oldest_ms();
}

bool sj__large_free(const struct sj_policy *policy, struct sj_large *large, const void *block)
{
    /* Pairs with itself in the other thread. That may have been so much faster that the record serves another block by now. */
    if (sj_exchange_acq_rel_u32(&large->live, 0) == 0)
        return false;
    if (large->start != block) { /* the report may be refused, and the other block lives on */
        sj_store_relaxed_u32(&large->live, 1);
        return false;
    }
    sj_store_relaxed_u32(&large->span.kind, SJ_SPAN_FREED);
    sj__place_align_to_pages(large);
    if (large->usable_bytes <= sj_load_relaxed_u64(&sj__release_limits.cache_entry_bytes) && !large->moved &&
        !large->unusable) {
        keep(policy, large); /* the cache counts it */
    } else {
        size_t bytes = large->unusable ? 0 : large->usable_bytes;
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.freed_blocks, 1);
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.freed_bytes, bytes);
        unsigned content = SJ_PLACE_LOST;
        if (make_accessible(large))
            content = sj__place_content_after_free(policy, large, bytes);
        give_up(large, content, bytes);
    }
    return true;
}

/* ---- Lookup and counts ------------------------------------------------------------------------------------------ */

size_t sj__large_usable(const struct sj_large *large)
{
    if (large->unusable)
        return 0;
    return large->canary ? large->requested_bytes : large->usable_bytes;
}

const char *sj__large_changed(const struct sj_large *large)
{
    if (!large->canary)
        return NULL;
    const char *tail = large->start + large->requested_bytes;
    size_t bytes = large->usable_bytes - large->requested_bytes;
    size_t offset = sj__canary_first_changed(tail, bytes, large->start);
    return offset < bytes ? tail + offset : NULL;
}

struct sj_large *sj__large_containing(const void *pointer)
{
    if (!sj_window_contains(pointer))
        return NULL;
    for (size_t granule = sj_window_granule(pointer) + 1; granule-- > 0;) {
        struct sj_span *span = sj_window_lookup(granule);
        uint32_t kind = sj_load_relaxed_u32(&span->kind);
        if (kind == SJ_SPAN_SLAB || kind == SJ_SPAN_RUN || kind == SJ_SPAN_FRESH || kind == SJ_SPAN_SAMPLED)
            return NULL;
        if (kind != SJ_SPAN_LARGE)
            continue;
        struct sj_large *large = (struct sj_large *)(void *)span;
        size_t offset = (size_t)((const char *)pointer - large->start);
        return sj_load_relaxed_u32(&large->live) != 0 && offset < large->usable_bytes ? large : NULL;
    }
    return NULL;
}

void sj__large_read_counts(struct sj_large_counts *out)
{
    struct sj_cache_counts kept;
    sj__cache_read_counts(&kept);
    out->allocated_blocks = sj_load_relaxed_u64(&sj__place_counts.allocated_blocks) + kept.hits;
    out->freed_blocks = sj_load_relaxed_u64(&sj__place_counts.freed_blocks) + kept.offered_blocks;
    out->allocated_bytes = sj_load_relaxed_u64(&sj__place_counts.allocated_bytes) + kept.hit_bytes;
    out->freed_bytes = sj_load_relaxed_u64(&sj__place_counts.freed_bytes) + kept.offered_bytes;
    out->scrubbed_bytes = sj_load_relaxed_u64(&sj__place_counts.scrubbed_bytes);
    out->reused_bytes = sj_load_relaxed_u64(&sj__place_counts.reused_bytes) + kept.scrubbed_bytes;
    out->released_bytes = sj_load_relaxed_u64(&sj__place_counts.released_bytes);
    out->forgone_bytes = kept.forgone_bytes;
    out->guards_refused = sj_load_relaxed_u64(&sj__place_counts.guards_refused);
    out->traps_refused = sj_load_relaxed_u64(&sj__place_counts.traps_refused);
    out->traps_skipped = sj_load_relaxed_u64(&sj__place_counts.traps_skipped);
    out->moved_bytes = sj_load_relaxed_u64(&sj__place_counts.moved_bytes);
    out->copied_bytes = sj_load_relaxed_u64(&sj__place_counts.copied_bytes);
}

void sj__large_lock_for_fork(void)
{
    sj__cache_lock_for_fork();
    sj__lock(&large_lock);
}

void sj__large_unlock_after_fork(bool in_child)
{
    sj__cache_unlock_after_fork(in_child);
    if (in_child)
        sj__lock_reset(&large_lock);
    else
        sj__unlock(&large_lock);
}
