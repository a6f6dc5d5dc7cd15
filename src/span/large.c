/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see large.h.
 */
#include "span/large.h"

#include "base/checked.h"
#include "platform/lock.h"
#include "platform/pages.h"
#include "span/cache.h"
#include "span/run.h"
#include "span/scrub.h"

#include <string.h>

enum {
    KEEP_MIN_BYTES = 16 << 20,     /* of all kept blocks together, at least: see doc/adr/0053 */
    KEEP_WINDOW_FRACTION = 16,     /* and this part of the window, if that is more; no more than cache_max_bytes */
    AGED_CALLS = 256,              /* system calls of one pass of the clock */
    REFUSED_REST_MS = 1000,        /* until the clock tries again after the kernel refused */
    RELEASE_MIN_BYTES = 1 << 20,   /* from here on giving pages back is cheaper than writing zeros */
    GROWTH_FRACTION = 4,           /* a block that must move gets this part of its size as room to grow */
    CONTENT_LOST = SJ_RUN_CONTENTS /* of a place that is not the window's any more */
};

static struct sj_lock large_lock = SJ_LOCK_INIT(SJ_RANK_LARGE);
static struct sj_large *record_pool;

static struct sj_atomic_u64 allocated_blocks, freed_blocks, allocated_bytes, freed_bytes;
static struct sj_atomic_u64 scrubbed_bytes, reused_bytes, released_bytes, guards_refused, traps_refused, moved_bytes,
    copied_bytes;

static struct sj_large *record_get(void)
{
    sj__lock(&large_lock);
    struct sj_large *large = record_pool;
    if (large != NULL)
        record_pool = large->next;
    sj__unlock(&large_lock);
    return large != NULL ? large : sj__run_record(sizeof *large);
}

static void record_put(struct sj_large *large)
{
    sj__lock(&large_lock);
    large->next = record_pool;
    record_pool = large;
    sj__unlock(&large_lock);
}

/* ---- Contents --------------------------------------------------------------------------------------------------- */

/* Makes pages read as zero: given back to the system if there are many, else written. */
static enum sj_run_content zero_pages(char *start, size_t bytes)
{
    if (bytes >= RELEASE_MIN_BYTES && sj__pages_release(start, bytes)) {
        (void)sj_fetch_add_relaxed_u64(&released_bytes, bytes);
        return SJ_RUN_EMPTY;
    }
    sj__scrub_bytes(start, bytes);
    (void)sj_fetch_add_relaxed_u64(&scrubbed_bytes, bytes);
    return SJ_RUN_ZERO;
}

/* ---- Where a block lies in its granules ------------------------------------------------------------------------- */

static char *granules_start(const struct sj_large *large)
{
    return sj_window_address(large->first_granule);
}

static char *granules_end(const struct sj_large *large)
{
    return sj_window_address(large->first_granule + large->granules);
}

/* The block's own pages: all of its first one too. */
static char *pages_start(const struct sj_large *large)
{
    return large->start - large->shift_bytes;
}

static size_t pages_bytes(const struct sj_large *large)
{
    return large->usable_bytes + large->shift_bytes;
}

/* Sets where in its first page a new block starts. */
static void align_to_end(const struct sj_policy *policy, struct sj_large *large, size_t alignment)
{
    size_t shift_bytes = sj_large_shift(policy, large->usable_bytes, large->requested_bytes, alignment);
    large->shift_bytes = (uint32_t)shift_bytes;
    large->start += large->shift_bytes;
    large->usable_bytes -= large->shift_bytes;
}

/* A freed block is its pages. */
static void align_to_pages(struct sj_large *large)
{
    large->start = pages_start(large);
    large->usable_bytes = pages_bytes(large);
    large->shift_bytes = 0;
}

static void note_guard(bool made)
{
    if (!made)
        (void)sj_fetch_add_relaxed_u64(&guards_refused, 1);
}

static void guard_front(const struct sj_policy *policy, struct sj_large *large)
{
    if (policy->guard < SJ_GUARD_LARGE || large->guarded_front || pages_start(large) == granules_start(large))
        return;
    large->guarded_front = sj__pages_guard(pages_start(large) - sj__page_bytes(), sj__page_bytes());
    note_guard(large->guarded_front);
}

static void guard_back(const struct sj_policy *policy, struct sj_large *large)
{
    char *end = large->start + large->usable_bytes;
    if (policy->guard < SJ_GUARD_LARGE || large->guarded_back || end == granules_end(large))
        return;
    large->guarded_back = sj__pages_guard(end, sj__page_bytes());
    note_guard(large->guarded_back);
}

/* Makes a kept block inaccessible. Its pages stay, which is three times cheaper than to fault them in again; else they go. */
static void trap_kept(struct sj_large *large)
{
    if (sj__pages_trap(large->start, large->usable_bytes, SJ_TRAP_KEEPING)) {
        large->trapped = SJ_TRAP_KEEPING;
    } else if (sj__pages_trap(large->start, large->usable_bytes, SJ_TRAP_EMPTYING)) {
        (void)sj_fetch_add_relaxed_u64(&released_bytes, large->owes ? large->usable_bytes : 0);
        large->trapped = SJ_TRAP_EMPTYING;
        large->dirty = large->owes = 0;
        large->cold = 1;
    } else {
        (void)sj_fetch_add_relaxed_u64(&traps_refused, 1);
    }
}

/* Makes all of a freed block's granules inaccessible, guards or not; their pages go. */
static bool trap_place(struct sj_large *large)
{
    bool trapped = sj__pages_trap(granules_start(large), large->granules << SJ_GRANULE_SHIFT, SJ_TRAP_EMPTYING);
    large->slack_dirty &= !trapped;
    (void)sj_fetch_add_relaxed_u64(&traps_refused, !trapped);
    return trapped;
}

static bool lift_trap(struct sj_large *large)
{
    if (large->trapped != SJ_TRAP_NONE &&
        !sj__pages_untrap(large->start, large->usable_bytes, (enum sj_trap)large->trapped))
        return false;
    large->trapped = SJ_TRAP_NONE;
    return true;
}

/* False: the page may still fault. */
static bool lift_guard_back(struct sj_large *large)
{
    if (large->guarded_back && !sj__pages_unguard(large->start + large->usable_bytes, sj__page_bytes()))
        return false;
    large->guarded_back = 0;
    return true;
}

/* Makes all pages of the block's granules accessible again. False: some may still fault; their flags stay set. */
static bool lift_guards(struct sj_large *large)
{
    if (large->guarded_front)
        large->guarded_front = !sj__pages_unguard(pages_start(large) - sj__page_bytes(), sj__page_bytes());
    if (large->unusable)
        large->unusable = !sj__pages_unguard(large->start, large->usable_bytes);
    return lift_trap(large) && lift_guard_back(large) && !large->guarded_front && !large->unusable;
}

static void make_live(struct sj_large *large)
{
    sj_store_relaxed_u32(&large->span.kind, SJ_SPAN_LARGE);
    sj_store_relaxed_u32(&large->live, 1);
}

static void publish(struct sj_large *large)
{
    make_live(large);
    sj_window_set(sj_window_granule(large->start), &large->span);
}

static void withdraw(struct sj_large *large)
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

static size_t tail_bytes(const struct sj_policy *policy)
{
    return policy->guard < SJ_GUARD_LARGE ? 0 : sj__page_bytes();
}

/* Gives the granules before and behind [first, end) of a taken stretch back. */
static void trim(struct sj_large *large, size_t first, size_t end, enum sj_run_content content)
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

static size_t granules_for(size_t bytes)
{
    return sj_round_up(bytes, SJ_GRANULE_BYTES) >> SJ_GRANULE_SHIFT;
}

/* Takes granules for a block and decides where in them it starts; `old_granules` it has, and gives once it has moved. */
static bool take_place(const struct sj_policy *policy, struct sj_large *large, size_t alignment, size_t old_granules,
                       enum sj_run_content *content)
{
    size_t bytes;
    if (!sj_checked_add(large->usable_bytes, lead_bytes(policy, alignment) + tail_bytes(policy), &bytes) ||
        bytes > SJ_MAX_REQUEST_BYTES)
        return false;
    large->granules = granules_for(bytes);
    if (!sj__run_take_to_move(large->granules, old_granules, &large->first_granule, content))
        return false;
    char *base = granules_start(large);
    uintptr_t start = sj_round_up((uintptr_t)base + tail_bytes(policy), alignment);
    large->start = base + (start - (uintptr_t)base);
    size_t front = sj_window_granule(large->start - tail_bytes(policy));
    size_t back = sj_window_granule(large->start + large->usable_bytes + tail_bytes(policy) - 1) + 1;
    trim(large, front, back, *content);
    return true;
}

static void give_up_all(struct sj_large *evicted);

/* A block out of the cache, made live. */
static void *take_kept(const struct sj_policy *policy, size_t usable_bytes, size_t alignment, size_t size_bytes,
                       bool zero)
{
    const struct sj_cache_wish wish = { .usable_bytes = usable_bytes,
                                        .guarded = policy->guard >= SJ_GUARD_LARGE,
                                        .rests = policy->delay == SJ_DELAY_RUN,
                                        .scrubbed = zero || policy->scrub != SJ_SCRUB_OFF };
    struct sj_large *large = sj__cache_take(&wish);
    if (large == NULL)
        return NULL;
    if (!lift_trap(large)) { /* for the books it was handed out, and is freed again */
        (void)sj_fetch_add_relaxed_u64(&freed_blocks, 1);
        (void)sj_fetch_add_relaxed_u64(&freed_bytes, usable_bytes);
        (void)sj_fetch_add_relaxed_u64(&released_bytes, large->dirty ? 0 : usable_bytes);
        large->next = NULL;
        give_up_all(large);
        return NULL;
    }
    large->requested_bytes = size_bytes;
    if (large->dirty && wish.scrubbed) /* its pages are there: cheaper than fresh ones, whatever the size */
        sj__scrub_bytes(large->start, usable_bytes);
    align_to_end(policy, large, alignment);
    make_live(large); /* its map entry still names it */
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
    if (!take_place(policy, large, place_alignment, 0, &content) &&
        (sj__cache_is_empty() || (sj__large_drain(), !take_place(policy, large, place_alignment, 0, &content)))) {
        record_put(large);
        return NULL;
    }
    large->slack_dirty = content == SJ_RUN_DIRTY;
    large->moved = large->guarded_front = large->guarded_back = large->trapped = 0;
    if (content == SJ_RUN_DIRTY && (zero || policy->scrub != SJ_SCRUB_OFF))
        (void)zero_pages(large->start, usable_bytes);
    guard_front(policy, large);
    guard_back(policy, large);
    large->unusable = size_bytes == 0 && sj__pages_guard(large->start, usable_bytes);
    align_to_end(policy, large, alignment);
    publish(large);
    (void)sj_fetch_add_relaxed_u64(&allocated_blocks, 1);
    (void)sj_fetch_add_relaxed_u64(&allocated_bytes, large->unusable ? 0 : usable_bytes);
    return large->start;
}

/* ---- Free ------------------------------------------------------------------------------------------------------- */

/* What the block's own pages hold once it is freed: old bytes, which the policy may want gone now, later or never; or
 * CONTENT_LOST. `bytes` is what the program could use. */
static unsigned content_after_free(const struct sj_policy *policy, struct sj_large *large, size_t bytes)
{
    /* Pages that were moved here keep a mapping of their own; fresh ones join the neighbours' again. */
    if (large->moved) {
        if (!sj__window_renew(granules_start(large), large->granules << SJ_GRANULE_SHIFT))
            return CONTENT_LOST;
        (void)sj_fetch_add_relaxed_u64(&released_bytes, bytes);
        large->slack_dirty = 0;
        return SJ_RUN_EMPTY;
    }
    if (policy->scrub == SJ_SCRUB_OFF)
        return SJ_RUN_DIRTY;
    return policy->scrub == SJ_SCRUB_FREE || bytes == 0 ? zero_pages(pages_start(large), bytes) : SJ_RUN_OWING;
}

/* Gives a place to the runs whose block left `content`, which owes `owed_bytes` if it owes. Lost granules may not even be
 * mapped: they are left alone, which is better than handing out pages that fault, and nobody will read what they held. */
static void give_place(size_t first_granule, size_t granules, bool slack_dirty, unsigned content, size_t owed_bytes)
{
    if (content == CONTENT_LOST)
        (void)sj_fetch_add_relaxed_u64(&released_bytes, owed_bytes);
    else if (content == SJ_RUN_OWING)
        sj__run_give_owing(first_granule, granules, owed_bytes);
    else
        sj__run_give(first_granule, granules, slack_dirty ? SJ_RUN_DIRTY : (enum sj_run_content)content);
}

/* Lifts the guards, while they still are what their flags say. False: the block's granules are lost. */
static bool make_accessible(struct sj_large *large)
{
    if (lift_guards(large))
        return true;
    if (!sj__window_renew(granules_start(large), large->granules << SJ_GRANULE_SHIFT))
        return false;
    sj__pages_forget_guards((size_t)large->guarded_front + large->guarded_back + large->unusable);
    if (large->trapped == SJ_TRAP_KEEPING)
        sj__pages_forget_trap();
    return true;
}

/* Gives a freed block's granules back to the runs and its record to the pool. */
static void give_up(struct sj_large *large, unsigned content, size_t owed_bytes)
{
    withdraw(large);
    give_place(large->first_granule, large->granules, large->slack_dirty, content, owed_bytes);
    record_put(large);
}

/* As content_after_free, where the block's place is to be trapped. */
static unsigned trap_after_free(const struct sj_policy *policy, struct sj_large *large, size_t bytes)
{
    if (large->moved) { /* it needs a new mapping, whose pages nobody has touched */
        unsigned content = content_after_free(policy, large, bytes);
        return content != CONTENT_LOST && trap_place(large) ? SJ_RUN_TRAPPED : content;
    }
    if (!trap_place(large))
        return content_after_free(policy, large, bytes);
    (void)sj_fetch_add_relaxed_u64(&released_bytes, bytes);
    return SJ_RUN_TRAPPED;
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
            content = CONTENT_LOST;
        else if (was_trapped && trap_place(large)) {
            (void)sj_fetch_add_relaxed_u64(&released_bytes, owed_bytes);
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
        large->cold = zero_pages(large->start, large->usable_bytes) == SJ_RUN_EMPTY;
    if (policy->trap)
        trap_kept(large);
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
        (void)sj_fetch_add_relaxed_u64(&released_bytes, large->usable_bytes);
    large->dirty = large->owes = 0;
    return true;
}

/* What the kernel refused to take: if it owes, the owner of the memory wants it to stay, and we write the zeros. */
static void pay_refused(struct sj_large *large)
{
    bool was_trapped = large->trapped != SJ_TRAP_NONE;
    if (!large->owes || !lift_trap(large))
        return;
    sj__scrub_bytes(large->start, large->usable_bytes);
    (void)sj_fetch_add_relaxed_u64(&reused_bytes, large->usable_bytes);
    large->dirty = large->owes = 0;
    if (was_trapped)
        trap_kept(large);
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
    /* Pairs with itself in the other thread. If that was so much faster that the record serves another block by now, it
     * is the other block that is no longer live, but the caller's report ends the process. */
    if (sj_exchange_acq_rel_u32(&large->live, 0) == 0 || large->start != block)
        return false;
    sj_store_relaxed_u32(&large->span.kind, SJ_SPAN_FREED);
    align_to_pages(large);
    if (large->usable_bytes <= sj_load_relaxed_u64(&sj__release_limits.cache_entry_bytes) && !large->moved &&
        !large->unusable) {
        keep(policy, large); /* the cache counts it */
    } else {
        size_t bytes = sj__large_usable(large);
        (void)sj_fetch_add_relaxed_u64(&freed_blocks, 1);
        (void)sj_fetch_add_relaxed_u64(&freed_bytes, bytes);
        unsigned content = CONTENT_LOST;
        if (make_accessible(large))
            content = (policy->trap ? trap_after_free : content_after_free)(policy, large, bytes);
        give_up(large, content, bytes);
    }
    return true;
}

/* ---- Resize ----------------------------------------------------------------------------------------------------- */

static void count_resize(size_t old_bytes, size_t new_bytes)
{
    if (new_bytes > old_bytes)
        (void)sj_fetch_add_relaxed_u64(&allocated_bytes, new_bytes - old_bytes);
    else
        (void)sj_fetch_add_relaxed_u64(&freed_bytes, old_bytes - new_bytes);
}

/* Gives up the pages from `usable_bytes` on, and the granules that are not needed any more. What is given up reads as
 * zero when it is next handed out. */
static void cut(const struct sj_policy *policy, struct sj_large *large, size_t usable_bytes)
{
    char *end = large->start + usable_bytes;
    size_t cut_bytes = large->usable_bytes - usable_bytes;
    bool released = sj__pages_release(end, (size_t)(granules_end(large) - end));
    if (!released)
        memset(end, 0, cut_bytes);
    (void)sj_fetch_add_relaxed_u64(released ? &released_bytes : &scrubbed_bytes, cut_bytes);
    large->usable_bytes = usable_bytes;
    size_t kept_end = sj_window_granule(end + tail_bytes(policy) - 1) + 1;
    size_t surplus = large->first_granule + large->granules - kept_end;
    if (surplus == 0)
        return;
    /* As in content_after_free; if refused they are lost: unmapped, maybe, so neither the block's nor anybody's. */
    if (large->moved && !sj__window_renew(sj_window_address(kept_end), surplus << SJ_GRANULE_SHIFT)) {
        large->granules -= surplus;
        return;
    }
    enum sj_run_content unreleased = large->slack_dirty ? SJ_RUN_DIRTY : SJ_RUN_ZERO;
    trim(large, large->first_granule, kept_end, released ? SJ_RUN_EMPTY : unreleased);
}

/* Sets the size within the granules held; what is cut off is scrubbed or given back. False: the guard behind the block
 * could not be lifted, and nothing was changed. */
static bool set_size(const struct sj_policy *policy, struct sj_large *large, size_t usable_bytes, size_t size_bytes)
{
    size_t old_bytes = large->usable_bytes;
    if (usable_bytes != old_bytes) {
        if (!lift_guard_back(large))
            return false;
        if (usable_bytes < old_bytes)
            cut(policy, large, usable_bytes);
        else if (large->slack_dirty && policy->scrub != SJ_SCRUB_OFF)
            (void)zero_pages(large->start + old_bytes, usable_bytes - old_bytes);
        large->usable_bytes = usable_bytes;
        guard_back(policy, large);
        count_resize(old_bytes, usable_bytes);
    }
    if (size_bytes < large->requested_bytes && policy->scrub != SJ_SCRUB_OFF)
        memset(large->start + size_bytes, 0, usable_bytes - size_bytes);
    large->requested_bytes = size_bytes;
    return true;
}

/* Takes the granules behind the block until it can hold `usable_bytes` and its guard. */
static bool extend(const struct sj_policy *policy, struct sj_large *large, size_t usable_bytes)
{
    size_t need_bytes = (size_t)(large->start - granules_start(large)) + usable_bytes + tail_bytes(policy);
    size_t granules = granules_for(need_bytes);
    if (granules <= large->granules)
        return true;
    enum sj_run_content content;
    if (!sj__run_take_at(large->first_granule + large->granules, granules - large->granules, &content))
        return false;
    large->granules = granules;
    large->slack_dirty |= content == SJ_RUN_DIRTY;
    return true;
}

/* Moves the block's pages to `to`. Says what its old place holds then. */
static bool carry_pages(struct sj_large *large, char *to, unsigned *left)
{
    bool kept;
    if (!sj__window_move(pages_start(large), pages_bytes(large), to, &kept))
        return false;
    (void)sj_fetch_add_relaxed_u64(&moved_bytes, pages_bytes(large));
    /* As in content_after_free; and old bytes round the block would make all of the place dirty. */
    if (kept && (large->moved || large->slack_dirty))
        kept = sj__window_renew(granules_start(large), large->granules << SJ_GRANULE_SHIFT);
    *left = kept ? SJ_RUN_EMPTY : CONTENT_LOST;
    return true;
}

/* Copies the block to `to`, whose pages a refused move may have unmapped. In the books the old bytes are freed. */
static bool carry_bytes(const struct sj_policy *policy, struct sj_large *large, char *to, unsigned *left)
{
    size_t bytes = pages_bytes(large);
    if (!sj__window_renew(to, bytes))
        return false;
    memcpy(to, pages_start(large), bytes);
    sj__large_count_copy(bytes);
    (void)sj_fetch_add_relaxed_u64(&allocated_bytes, bytes);
    (void)sj_fetch_add_relaxed_u64(&freed_bytes, bytes);
    *left = content_after_free(policy, large, bytes);
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
    if (!take_place(policy, &place, page_bytes, large->granules, &content)) {
        place.usable_bytes = need_bytes;
        if (!take_place(policy, &place, page_bytes, large->granules, &content))
            return false;
    }
    unsigned left;
    bool lifted = lift_guards(large);
    bool pages = lifted && carry_pages(large, place.start, &left);
    if (!pages && !(lifted && carry_bytes(policy, large, place.start, &left))) {
        if (!lifted) /* else the place may be unmapped: address space lost, nothing more */
            sj__run_give(place.first_granule, place.granules, content);
        guard_front(policy, large);
        guard_back(policy, large);
        return false;
    }
    withdraw(large);
    size_t old_first = large->first_granule, old_granules = large->granules, old_bytes = pages_bytes(large);
    bool old_slack_dirty = !pages && large->slack_dirty; /* what moved with its pages left nothing behind */
    large->start = place.start + large->shift_bytes;
    large->first_granule = place.first_granule;
    large->granules = place.granules;
    large->slack_dirty = content == SJ_RUN_DIRTY;
    large->moved = pages;
    publish(large);
    guard_front(policy, large); /* the one behind is set with the size */
    give_place(old_first, old_granules, old_slack_dirty, left, pages ? 0 : old_bytes);
    return true;
}

size_t sj__large_usable(const struct sj_large *large)
{
    return large->unusable ? 0 : large->usable_bytes;
}

void *sj__large_resize(const struct sj_policy *policy, struct sj_large *large, size_t size_bytes)
{
    if (large->unusable || size_bytes > SJ_MAX_REQUEST_BYTES)
        return NULL;
    size_t usable_bytes = sj_round_up(size_bytes + large->shift_bytes, sj__page_bytes()) - large->shift_bytes;
    if (usable_bytes > SJ_MAX_REQUEST_BYTES)
        return NULL;
    if (usable_bytes > large->usable_bytes && !extend(policy, large, usable_bytes) &&
        !move(policy, large, usable_bytes))
        return NULL;
    return set_size(policy, large, usable_bytes, size_bytes) ? large->start : NULL;
}

/* ---- Lookup and counts ------------------------------------------------------------------------------------------ */

struct sj_large *sj__large_containing(const void *pointer)
{
    if (!sj_window_contains(pointer))
        return NULL;
    for (size_t granule = sj_window_granule(pointer) + 1; granule-- > 0;) {
        struct sj_span *span = sj_window_lookup(granule);
        uint32_t kind = sj_load_relaxed_u32(&span->kind);
        if (kind == SJ_SPAN_SLAB || kind == SJ_SPAN_RUN || kind == SJ_SPAN_FRESH)
            return NULL;
        if (kind != SJ_SPAN_LARGE)
            continue;
        struct sj_large *large = (struct sj_large *)(void *)span;
        size_t offset = (size_t)((const char *)pointer - large->start);
        return sj_load_relaxed_u32(&large->live) != 0 && offset < large->usable_bytes ? large : NULL;
    }
    return NULL;
}

void sj__large_count_copy(size_t bytes)
{
    (void)sj_fetch_add_relaxed_u64(&copied_bytes, bytes);
}

void sj__large_read_counts(struct sj_large_counts *out)
{
    struct sj_cache_counts kept;
    sj__cache_read_counts(&kept);
    out->allocated_blocks = sj_load_relaxed_u64(&allocated_blocks) + kept.hits;
    out->freed_blocks = sj_load_relaxed_u64(&freed_blocks) + kept.offered_blocks;
    out->allocated_bytes = sj_load_relaxed_u64(&allocated_bytes) + kept.hit_bytes;
    out->freed_bytes = sj_load_relaxed_u64(&freed_bytes) + kept.offered_bytes;
    out->scrubbed_bytes = sj_load_relaxed_u64(&scrubbed_bytes);
    out->reused_bytes = sj_load_relaxed_u64(&reused_bytes) + kept.scrubbed_bytes;
    out->released_bytes = sj_load_relaxed_u64(&released_bytes);
    out->guards_refused = sj_load_relaxed_u64(&guards_refused);
    out->traps_refused = sj_load_relaxed_u64(&traps_refused);
    out->moved_bytes = sj_load_relaxed_u64(&moved_bytes);
    out->copied_bytes = sj_load_relaxed_u64(&copied_bytes);
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
