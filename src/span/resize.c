/* SPDX-License-Identifier: MIT
 *
 * What: large blocks that grow and shrink: in place, by moving their pages, or by copying.
 *
 * Why this way: see large.h. First the granules behind, then the pages to a place with room to grow again, then the bytes.
 *
 * Invariants: a block that could not be resized is as it was.
 *
 * Concurrency: the block is the caller's.
 */
#include "base/checked.h"
#include "platform/pages.h"
#include "platform/tags.h"
#include "span/place.h"

#include <string.h>

enum { GROWTH_FRACTION = 4 /* a block that must move gets this part of its size as room to grow */ };

static void count_resize(size_t old_bytes, size_t new_bytes)
{
    if (new_bytes > old_bytes)
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.allocated_bytes, new_bytes - old_bytes);
    else
        (void)sj_fetch_add_relaxed_u64(&sj__place_counts.freed_bytes, old_bytes - new_bytes);
}

/* Gives up the pages from `usable_bytes` on, and the granules that are not needed any more. What is given up reads as
 * zero when it is next handed out. */
static void cut(const struct sj_policy *policy, struct sj_large *large, size_t usable_bytes)
{
    char *end = large->start + usable_bytes;
    size_t cut_bytes = large->usable_bytes - usable_bytes;
    bool released = sj__pages_release(end, (size_t)(sj_place_granules_end(large) - end));
    if (!released)
        memset(end, 0, cut_bytes);
    (void)sj_fetch_add_relaxed_u64(released ? &sj__place_counts.released_bytes : &sj__place_counts.scrubbed_bytes,
                                   cut_bytes);
    large->usable_bytes = usable_bytes;
    size_t kept_end = sj_window_granule(end + sj__place_tail_bytes(policy) - 1) + 1;
    size_t surplus = large->first_granule + large->granules - kept_end;
    if (surplus == 0)
        return;
    /* As in content_after_free; if refused they are lost: unmapped, maybe, so neither the block's nor anybody's. */
    if (large->moved && !sj__window_renew(sj_window_address(kept_end), surplus << SJ_GRANULE_SHIFT)) {
        large->granules -= surplus;
        (void)sj__run_change_use(surplus, SJ_USE_TAKEN, SJ_USE_LOST);
        return;
    }
    enum sj_run_content content = released ? SJ_RUN_EMPTY : large->slack_dirty ? SJ_RUN_DIRTY : SJ_RUN_ZERO;
    if (policy->trap != SJ_TRAP_OFF && sj__place_trap_granules(kept_end, surplus))
        content = SJ_RUN_TRAPPED;
    sj__place_trim(large, large->first_granule, kept_end, content);
}

/* Sets the size within the granules held; what is cut off is scrubbed or given back. False: the guard behind the block
 * could not be lifted, and nothing was changed. */
static bool set_size(const struct sj_policy *policy, struct sj_large *large, size_t usable_bytes, size_t size_bytes)
{
    size_t old_bytes = large->usable_bytes;
    if (usable_bytes != old_bytes && !sj__place_lift_guard_back(large))
        return false;
    if (large->canary) /* a block that grows finds zeros there */
        memset(large->start + large->requested_bytes, 0, old_bytes - large->requested_bytes);
    if (usable_bytes != old_bytes) {
        if (usable_bytes < old_bytes)
            cut(policy, large, usable_bytes);
        else if (large->slack_dirty && policy->scrub != SJ_SCRUB_OFF)
            (void)sj__place_zero_pages(large->start + old_bytes, usable_bytes - old_bytes);
        large->usable_bytes = usable_bytes;
        sj__place_guard_back(policy, large);
        count_resize(old_bytes, usable_bytes);
    }
    if (size_bytes < large->requested_bytes && policy->scrub != SJ_SCRUB_OFF)
        memset(large->start + size_bytes, 0, usable_bytes - size_bytes);
    large->requested_bytes = size_bytes;
    sj__place_set_canary(policy, large);
    return true;
}

/* Takes the granules behind the block until it can hold `usable_bytes` and its guard. */
static bool extend(const struct sj_policy *policy, struct sj_large *large, size_t usable_bytes)
{
    size_t need_bytes =
        (size_t)(large->start - sj_place_granules_start(large)) + usable_bytes + sj__place_tail_bytes(policy);
    size_t granules = sj_place_granules_for(need_bytes);
    if (granules <= large->granules)
        return true;
    enum sj_run_content content;
    if (!sj__run_take_at(large->first_granule + large->granules, granules - large->granules, &content))
        return false;
    large->granules = granules;
    large->slack_dirty |= content == SJ_RUN_DIRTY;
    return true;
}

void sj__large_count_copy(size_t bytes)
{
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.copied_bytes, bytes);
}

/* Moves the block's pages to `to`. Says what its old place holds then. */
static bool carry_pages(const struct sj_policy *policy, struct sj_large *large, char *to, unsigned *left)
{
    bool kept;
    if (!sj__window_move(sj_place_pages_start(large), sj_place_pages_bytes(large), to, &kept))
        return false;
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.moved_bytes, sj_place_pages_bytes(large));
    /* As in content_after_free; and old bytes round the block would make all of the place dirty. */
    if (kept && (large->moved || large->slack_dirty))
        kept = sj__window_renew(sj_place_granules_start(large), large->granules << SJ_GRANULE_SHIFT);
    *left = !kept                                                  ? SJ_PLACE_LOST
            : policy->trap != SJ_TRAP_OFF && sj__place_trap(large) ? SJ_RUN_TRAPPED
                                                                   : SJ_RUN_EMPTY;
    return true;
}

/* Copies the block to `to`, whose pages a refused move may have unmapped. In the books the old bytes are freed. */
static bool carry_bytes(const struct sj_policy *policy, struct sj_large *large, char *to, unsigned *left)
{
    size_t bytes = sj_place_pages_bytes(large);
    if (!sj__window_renew(to, bytes))
        return false;
    memcpy(to, sj_place_pages_start(large), bytes);
    sj__large_count_copy(bytes);
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.allocated_bytes, bytes);
    (void)sj_fetch_add_relaxed_u64(&sj__place_counts.freed_bytes, bytes);
    *left = sj__place_content_after_free(policy, large, bytes);
    return true;
}

/* Brings the block to a larger place. */
static bool move(const struct sj_policy *policy, struct sj_large *large, size_t usable_bytes)
{
    size_t need_bytes = usable_bytes + large->shift_bytes;
    size_t room_bytes = need_bytes / GROWTH_FRACTION / SJ_GRANULE_BYTES * SJ_GRANULE_BYTES;
    struct sj_large place = { .usable_bytes = need_bytes + room_bytes };
    enum sj_run_content content;
    size_t page_bytes = sj__page_bytes();
    if (!sj__place_take(policy, &place, page_bytes, large->granules, &content)) {
        place.usable_bytes = need_bytes;
        if (!sj__place_take(policy, &place, page_bytes, large->granules, &content))
            return false;
    }
    unsigned left;
    bool lifted = sj__place_lift_guards(large);
    bool pages = lifted && carry_pages(policy, large, place.start, &left);
    if (!pages && !(lifted && carry_bytes(policy, large, place.start, &left))) {
        if (!lifted)
            sj__run_give(place.first_granule, place.granules, content);
        else /* it may be unmapped: address space lost, nothing more */
            (void)sj__run_change_use(place.granules, SJ_USE_TAKEN, SJ_USE_LOST);
        sj__place_guard_front(policy, large);
        sj__place_guard_back(policy, large);
        return false;
    }
    sj__place_withdraw(large);
    struct sj_large old = *large;
    old.slack_dirty &= !pages; /* what moved with its pages left nothing behind */
    large->start = place.start + large->shift_bytes;
    large->first_granule = place.first_granule;
    large->granules = place.granules;
    large->slack_dirty = content == SJ_RUN_DIRTY;
    large->moved = pages;
    sj__place_publish(large);
    sj__place_guard_front(policy, large); /* the one behind is set with the size */
    sj__place_give(&old, left, pages ? 0 : sj_place_pages_bytes(&old));
    return true;
}

void *sj__large_resize(const struct sj_policy *policy, struct sj_large *large, size_t size_bytes)
{
    if (large->unusable || size_bytes > SJ_MAX_REQUEST_BYTES)
        return NULL;
    size_t usable_bytes = sj_round_up(size_bytes + large->shift_bytes, sj__page_bytes()) - large->shift_bytes;
    if (usable_bytes > SJ_MAX_REQUEST_BYTES)
        return NULL;
    sj__place_note_change(large, 1);
    /* With tags a block that must move is another one, with another tag, and the old one is freed: the caller sees to that. */
    bool resized = (usable_bytes <= large->usable_bytes || extend(policy, large, usable_bytes) ||
                    (!sj_tags_are_on() && move(policy, large, usable_bytes))) &&
                   set_size(policy, large, usable_bytes, size_bytes);
    sj__place_note_change(large, 1);
    return resized ? large->start : NULL;
}
