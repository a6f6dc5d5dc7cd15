/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see place.h.
 */
#include "span/place.h"

#include "base/checked.h"
#include "guard/canary.h"
#include "platform/clock.h"
#include "platform/pages.h"
#include "span/scrub.h"
#include "span/toll.h"

enum { RELEASE_MIN_BYTES = 1 << 20 /* from here on giving pages back is cheaper than writing zeros */ };

struct sj_place_counts sj__place_counts;

/* ---- Contents --------------------------------------------------------------------------------------------------- */

enum sj_run_content sj__place_zero_pages(char *start, size_t bytes)
{
    if (bytes >= RELEASE_MIN_BYTES && sj__pages_release(start, bytes)) {
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.released_bytes, bytes);
        return SJ_RUN_EMPTY;
    }
    sj__scrub_bytes(start, bytes);
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.scrubbed_bytes, bytes);
    return SJ_RUN_ZERO;
}

/* ---- Where a block lies in its granules ------------------------------------------------------------------------- */

void sj__place_align_to_end(const struct sj_policy *policy, struct sj_large *large, size_t alignment)
{
    size_t shift_bytes = sj_large_shift(policy, large->usable_bytes, large->requested_bytes, alignment);
    large->shift_bytes = (uint32_t)shift_bytes;
    large->start += large->shift_bytes;
    large->usable_bytes -= large->shift_bytes;
}

void sj__place_set_canary(const struct sj_policy *policy, struct sj_large *large)
{
    large->canary = policy->canary != SJ_CANARY_OFF && !large->unusable;
    if (large->canary)
        sj__canary_set(large->start + large->requested_bytes, large->usable_bytes - large->requested_bytes,
                       large->start);
}

void sj__place_align_to_pages(struct sj_large *large)
{
    large->start = sj_place_pages_start(large);
    large->usable_bytes = sj_place_pages_bytes(large);
    large->shift_bytes = 0;
    large->canary = 0;
}

static void note_guard(bool made)
{
    if (!made)
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.guards_refused, 1);
}

void sj__place_guard_front(const struct sj_policy *policy, struct sj_large *large)
{
    if (policy->guard < SJ_GUARD_LARGE || large->guarded_front ||
        sj_place_pages_start(large) == sj_place_granules_start(large))
        return;
    large->guarded_front = sj__pages_guard(sj_place_pages_start(large) - sj__page_bytes(), sj__page_bytes());
    note_guard(large->guarded_front);
}

void sj__place_guard_back(const struct sj_policy *policy, struct sj_large *large)
{
    char *end = large->start + large->usable_bytes;
    if (policy->guard < SJ_GUARD_LARGE || large->guarded_back || end == sj_place_granules_end(large))
        return;
    large->guarded_back = sj__pages_guard(end, sj__page_bytes());
    note_guard(large->guarded_back);
}

void sj__place_trap_kept(const struct sj_policy *policy, struct sj_large *large)
{
    if (policy->trap == SJ_TRAP_ON || sj__toll_admits())
        sj__place_trap_again(large);
    else
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.traps_skipped, 1);
}

void sj__place_trap_again(struct sj_large *large)
{
    uint64_t start_ns = sj__clock_ns();
    bool kept = sj__pages_trap(large->start, large->usable_bytes, SJ_TRAP_KEEPING);
    sj__toll_charge(sj__clock_ns() - start_ns);
    if (kept) {
        large->trapped = SJ_TRAP_KEEPING;
    } else if (sj__pages_trap(large->start, large->usable_bytes, SJ_TRAP_EMPTYING)) {
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.released_bytes, large->owes ? large->usable_bytes : 0);
        large->trapped = SJ_TRAP_EMPTYING;
        large->dirty = large->owes = 0;
        large->cold = 1;
    } else {
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.traps_refused, 1);
    }
}

bool sj__place_trap_granules(size_t first, size_t granules)
{
    bool trapped = sj__pages_trap(sj_window_address(first), granules << SJ_GRANULE_SHIFT, SJ_TRAP_EMPTYING);
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.traps_refused, !trapped);
    return trapped;
}

bool sj__place_trap(struct sj_large *large)
{
    bool trapped = sj__place_trap_granules(large->first_granule, large->granules);
    large->slack_dirty &= !trapped;
    return trapped;
}

bool sj__place_lift_trap(struct sj_large *large)
{
    if (large->trapped == SJ_TRAP_NONE)
        return true;
    uint64_t start_ns = sj__clock_ns();
    bool lifted = sj__pages_untrap(large->start, large->usable_bytes, (enum sj_trap)large->trapped);
    sj__toll_charge(sj__clock_ns() - start_ns);
    large->trapped = lifted ? SJ_TRAP_NONE : large->trapped;
    return lifted;
}

bool sj__place_lift_guard_back(struct sj_large *large)
{
    if (large->guarded_back && !sj__pages_unguard(large->start + large->usable_bytes, sj__page_bytes()))
        return false;
    large->guarded_back = 0;
    return true;
}

bool sj__place_lift_guards(struct sj_large *large)
{
    if (large->guarded_front)
        large->guarded_front = !sj__pages_unguard(sj_place_pages_start(large) - sj__page_bytes(), sj__page_bytes());
    if (large->unusable)
        large->unusable = !sj__pages_unguard(large->start, large->usable_bytes);
    return sj__place_lift_trap(large) && sj__place_lift_guard_back(large) && !large->guarded_front && !large->unusable;
}

void sj__place_note_change(struct sj_large *large, uint32_t step)
{
    sj_store_release_u32(&large->changes, sj_load_relaxed_u32(&large->changes) + step); /* pairs with sj__place_fault */
    sj_compiler_barrier();
}

void sj__place_make_live(struct sj_large *large)
{
    sj__place_note_change(large,
                          2); /* even stays even, and odd odd: a block that moves is published while it is changed */
    sj_store_relaxed_u32(&large->span.kind, SJ_SPAN_LARGE);
    sj_store_relaxed_u32(&large->live, 1);
}

void sj__place_publish(struct sj_large *large)
{
    sj__place_make_live(large);
    sj_window_set(sj_window_granule(large->start), &large->span);
}

void sj__place_withdraw(struct sj_large *large)
{
    sj_window_set(sj_window_granule(large->start), sj__window_freed);
}

/* Room needed before and behind a block, in bytes, besides the block itself. Granules are aligned to their size. */
static size_t lead_bytes(const struct sj_policy *policy, size_t alignment)
{
    if (policy->guard < SJ_GUARD_LARGE)
        return alignment > SJ_GRANULE_BYTES ? alignment - SJ_GRANULE_BYTES : 0;
    return alignment > sj__page_bytes() ? alignment : sj__page_bytes();
}

size_t sj__place_tail_bytes(const struct sj_policy *policy)
{
    return policy->guard < SJ_GUARD_LARGE ? 0 : sj__page_bytes();
}

void sj__place_trim(struct sj_large *large, size_t first, size_t end, enum sj_run_content content)
{
    size_t old_first = large->first_granule;
    size_t old_end = old_first + large->granules;
    large->first_granule = first;
    large->granules = end - first;
    if (first > old_first)
        sj__run_give(old_first, first - old_first, content);
    if (end < old_end)
        sj__run_give(end, old_end - end, content);
}

bool sj__place_take(const struct sj_policy *policy, struct sj_large *large, size_t alignment, size_t old_granules,
                    enum sj_run_content *content)
{
    size_t bytes;
    if (!sj_checked_add(large->usable_bytes, lead_bytes(policy, alignment) + sj__place_tail_bytes(policy), &bytes) ||
        bytes > SJ_MAX_REQUEST_BYTES)
        return false;
    large->granules = sj_place_granules_for(bytes);
    if (!sj__run_take_to_move(large->granules, old_granules, &large->first_granule, content))
        return false;
    char *base = sj_place_granules_start(large);
    uintptr_t start = sj_round_up((uintptr_t)base + sj__place_tail_bytes(policy), alignment);
    large->start = base + (start - (uintptr_t)base);
    size_t front = sj_window_granule(large->start - sj__place_tail_bytes(policy));
    size_t back = sj_window_granule(large->start + large->usable_bytes + sj__place_tail_bytes(policy) - 1) + 1;
    sj__place_trim(large, front, back, *content);
    return true;
}

static unsigned content_untrapped(const struct sj_policy *policy, struct sj_large *large, size_t bytes)
{
    /* Pages that were moved here keep a mapping of their own; fresh ones join the neighbours' again. */
    if (large->moved) {
        if (!sj__window_renew(sj_place_granules_start(large), large->granules << SJ_GRANULE_SHIFT))
            return SJ_PLACE_LOST;
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.released_bytes, bytes);
        large->slack_dirty = 0;
        return SJ_RUN_EMPTY;
    }
    if (policy->scrub == SJ_SCRUB_OFF)
        return SJ_RUN_DIRTY;
    return policy->scrub == SJ_SCRUB_FREE || bytes == 0 ? sj__place_zero_pages(sj_place_pages_start(large), bytes)
                                                        : SJ_RUN_OWING;
}

unsigned sj__place_content_after_free(const struct sj_policy *policy, struct sj_large *large, size_t bytes)
{
    if (policy->trap == SJ_TRAP_OFF)
        return content_untrapped(policy, large, bytes);
    if (large->moved) { /* it needs a new mapping, whose pages nobody has touched */
        unsigned content = content_untrapped(policy, large, bytes);
        return content != SJ_PLACE_LOST && sj__place_trap(large) ? SJ_RUN_TRAPPED : content;
    }
    if (!sj__place_trap(large))
        return content_untrapped(policy, large, bytes);
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.released_bytes, bytes);
    return SJ_RUN_TRAPPED;
}

void sj__place_give(const struct sj_large *place, unsigned content, size_t owed_bytes)
{
    size_t first_granule = place->first_granule, granules = place->granules;
    if (content == SJ_PLACE_LOST) {
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.released_bytes, owed_bytes);
        (void)sj__run_change_use(granules, SJ_USE_TAKEN, SJ_USE_LOST);
    } else if (content == SJ_RUN_OWING) {
        sj__run_give_owing(first_granule, granules,
                           place->slack_dirty ? sj_place_granules_start(place) : sj_place_pages_start(place),
                           place->slack_dirty ? granules << SJ_GRANULE_SHIFT : sj_place_pages_bytes(place), owed_bytes);
    } else {
        sj__run_give(first_granule, granules, place->slack_dirty ? SJ_RUN_DIRTY : (enum sj_run_content)content);
    }
}

/* ---- The check --------------------------------------------------------------------------------------------------- */

static const char *record_fault(const struct sj_large *large, size_t granule)
{
    size_t limit = sj_load_acquire_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT; /* pairs with the growth */
    size_t page_bytes = sj__page_bytes(), first = large->first_granule;
    if (large->granules == 0 || large->granules > limit || first > limit - large->granules)
        return "the granules of a large block lie outside of the window";
    if (sj_window_granule(large->start) != granule || granule < first || granule > first + 1 ||
        granule >= first + large->granules)
        return "a large block is not where the map has it";
    const char *pages = sj_place_pages_start(large);
    size_t bytes = sj_place_pages_bytes(large);
    if (large->shift_bytes >= page_bytes || bytes == 0 || (((uintptr_t)pages | bytes) & (page_bytes - 1)) != 0)
        return "a large block is not made of pages";
    size_t front_bytes = large->guarded_front ? page_bytes : 0, back_bytes = large->guarded_back ? page_bytes : 0;
    size_t before_bytes = (size_t)(pages - sj_place_granules_start(large));
    size_t behind_bytes = (size_t)(sj_place_granules_end(large) - pages);
    if (before_bytes < front_bytes || behind_bytes < back_bytes || bytes > behind_bytes - back_bytes)
        return "a large block, with its guards, reaches out of its granules";
    return large->requested_bytes > large->usable_bytes ? "a large block is smaller than what was asked for" : NULL;
}

static bool others_name_nothing(const struct sj_large *large, size_t named)
{
    for (size_t granule = large->first_granule; granule < large->first_granule + large->granules; granule++) {
        const struct sj_span *span = sj_window_lookup(granule);
        if (granule != named && span != sj__window_unused && span != sj__window_freed)
            return false;
    }
    return true;
}

const char *sj__place_fault(const struct sj_large *large, size_t granule)
{
    uint32_t changes = sj_load_acquire_u32(&large->changes); /* pairs with sj__place_note_change */
    if (!SJ_STORES_STAY_IN_ORDER || changes % 2 != 0 || sj_load_acquire_u32(&large->live) == 0)
        return NULL;
    const struct sj_large seen = *large;
    const char *fault = record_fault(&seen, granule);
    if (fault == NULL && !others_name_nothing(&seen, granule))
        fault = "two records claim a granule: a large block's, and another";
    sj_compiler_barrier();
    bool is_whole = sj_load_acquire_u32(&large->live) != 0 && sj_load_acquire_u32(&large->changes) == changes &&
                    sj_load_relaxed_u32(&large->span.kind) == SJ_SPAN_LARGE &&
                    sj_window_lookup(granule) == &large->span;
    return is_whole ? fault : NULL;
}
