/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see site.h.
 */
#include "span/site.h"

#include "platform/clock.h"
#include "platform/lock.h"
#include "platform/pages.h"

enum {
    SLABS_A_GUARD = 8, /* guard=eighth */
    AGED_CALLS = 256   /* system calls of one pass of the clock */
};

/* The closed slabs of a class. */
struct closed {
    struct sj_slab *records; /* without a place */
    struct sj_slab
        *bare; /* whose places hold no pages; or hold them and may not, where the kernel refuses to take them */
    struct sj_slab *newest; /* whose places hold pages: `next` is older */
    struct sj_slab *oldest;
};

/* What a pass may do, and what it has come to. */
struct pass {
    uint64_t before_ms;
    size_t budget_bytes;
    size_t calls;
    uint64_t oldest_ms;
    size_t given_bytes;
};

static struct sj_lock places_lock = SJ_LOCK_INIT(SJ_RANK_LARGE);
static struct closed closed_of[SJ_CLASS_COUNT];
static struct sj_atomic_u64 places_made, guards_made, guards_lifted, guards_refused, not_isolated;

/* ---- Records ---------------------------------------------------------------------------------------------------- */

static struct sj_slab *record_new(unsigned class_index)
{
    const struct sj_size_class *size_class = &sj__size_classes[class_index];
    size_t planes_bytes = size_class->words * sizeof(struct sj_word);
    size_t remote_offset = sj_round_up(sizeof(struct sj_slab) + planes_bytes, SJ_CACHE_LINE_BYTES);
    size_t remote_bytes = sizeof(struct sj_remote) + size_class->words * sizeof(struct sj_atomic_u64);
    size_t turns_bytes = sj_class_units(size_class) * sizeof(uint32_t);
    char *record = sj__run_record(remote_offset + remote_bytes + turns_bytes);
    if (record == NULL)
        return NULL;
    struct sj_slab *slab = (struct sj_slab *)(void *)record;
    slab->span.record_of = SJ_SPAN_SLAB;
    slab->remote = (struct sj_remote *)(void *)(record + remote_offset);
    slab->left_at = (uint32_t *)(void *)(record + remote_offset + remote_bytes);
    slab->class_index = (uint8_t)class_index;
    slab->slot_bytes = size_class->slot_bytes;
    slab->reciprocal = size_class->reciprocal;
    slab->slots = size_class->slots;
    slab->words = size_class->words;
    slab->groups = (uint16_t)((size_class->slots + size_class->fresh_slots - 1u) / size_class->fresh_slots);
    return slab;
}

static struct sj_slab *record_get(unsigned class_index)
{
    sj__lock(&places_lock);
    struct sj_slab *slab = closed_of[class_index].records;
    if (slab != NULL)
        closed_of[class_index].records = slab->next;
    sj__unlock(&places_lock);
    return slab != NULL ? slab : record_new(class_index);
}

static void record_put(struct sj_slab *slab)
{
    sj__lock(&places_lock);
    slab->next = closed_of[slab->class_index].records;
    closed_of[slab->class_index].records = slab;
    sj__unlock(&places_lock);
}

/* ---- Kept places ------------------------------------------------------------------------------------------------ */

static size_t granules_of(const struct sj_slab *slab)
{
    return sj__size_classes[slab->class_index].granules;
}

static size_t bytes_of(const struct sj_slab *slab)
{
    return granules_of(slab) << SJ_GRANULE_SHIFT;
}

static void link_kept(struct sj_slab *slab)
{
    struct closed *closed = &closed_of[slab->class_index];
    sj__lock(&places_lock);
    if (slab->use == SJ_USE_SET_ASIDE) {
        slab->previous = NULL;
        slab->next = closed->newest;
        *(closed->newest != NULL ? &closed->newest->previous : &closed->oldest) = slab;
        closed->newest = slab;
    } else {
        slab->next = closed->bare;
        closed->bare = slab;
    }
    sj__unlock(&places_lock);
}

static void unlink_held(struct closed *closed, struct sj_slab *slab)
{
    *(slab->previous != NULL ? &slab->previous->next : &closed->newest) = slab->next;
    *(slab->next != NULL ? &slab->next->previous : &closed->oldest) = slab->previous;
}

/* The place left last, one that holds pages rather than another. NULL if there is none. */
static struct sj_slab *unlink_any(unsigned class_index)
{
    struct closed *closed = &closed_of[class_index];
    sj__lock(&places_lock);
    struct sj_slab *slab = closed->newest;
    if (slab != NULL) {
        unlink_held(closed, slab);
    } else if (closed->bare != NULL) {
        slab = closed->bare;
        closed->bare = slab->next;
    }
    sj__unlock(&places_lock);
    return slab;
}

/* The place that has held pages longest, if the pass may give more back; else it notes since when that has been. */
static struct sj_slab *unlink_aged(unsigned class_index, struct pass *pass)
{
    struct closed *closed = &closed_of[class_index];
    sj__lock(&places_lock);
    struct sj_slab *slab = closed->oldest;
    if (slab != NULL && slab->idle_ms <= pass->before_ms && pass->budget_bytes > 0 && pass->calls > 0) {
        unlink_held(closed, slab);
    } else if (slab != NULL) {
        pass->oldest_ms = slab->idle_ms < pass->oldest_ms ? slab->idle_ms : pass->oldest_ms;
        slab = NULL;
    }
    sj__unlock(&places_lock);
    return slab;
}

/* Sees to it that the place holds no pages. False: the system refused to take them. */
static bool empty_place(struct sj_slab *slab)
{
    if (slab->content != SJ_RUN_EMPTY && !sj__pages_release(slab->base, bytes_of(slab)))
        return false;
    slab->content = SJ_RUN_EMPTY;
    (void)sj__run_change_use(granules_of(slab), (enum sj_run_use)slab->use, SJ_USE_BARE);
    slab->use = SJ_USE_BARE;
    return true;
}

static void hold(struct sj_slab *slab)
{
    slab->use = SJ_USE_SET_ASIDE;
    slab->idle_ms = sj__clock_ms();
    link_kept(slab);
    sj_release_note_held(slab->idle_ms);
}

static void keep(struct sj_slab *slab)
{
    slab->use = SJ_USE_TAKEN;
    if (slab->content != SJ_RUN_EMPTY && sj__run_change_use(granules_of(slab), SJ_USE_TAKEN, SJ_USE_SET_ASIDE)) {
        hold(slab);
        return;
    }
    (void)empty_place(slab); /* refused: it counts as in use, since it holds pages that it may not */
    link_kept(slab);
}

static struct sj_slab *take_kept(unsigned class_index, bool *forbidden)
{
    struct sj_slab *slab = unlink_any(class_index);
    *forbidden = slab != NULL && slab->use != SJ_USE_TAKEN &&
                 !sj__run_change_use(granules_of(slab), (enum sj_run_use)slab->use, SJ_USE_TAKEN);
    if (!*forbidden)
        return slab;
    link_kept(slab);
    return NULL;
}

/* ---- New places ------------------------------------------------------------------------------------------------- */

/* Whether the next place is to have a guard behind it. What can't be made takes no address space. */
static bool wants_guard(const struct sj_policy *policy, unsigned class_index)
{
    if (policy->guard < SJ_GUARD_EIGHTH || class_index == SJ_CLASS_ZERO)
        return false;
    uint64_t number = sj_fetch_add_relaxed_u64(&places_made, 1);
    if (policy->guard == SJ_GUARD_EIGHTH && number % SLABS_A_GUARD != 0)
        return false;
    if (sj__pages_can_guard_many())
        return true;
    (void)sj_fetch_add_relaxed_u64(&guards_refused, 1);
    return false;
}

/* The last granule of those taken becomes the guard. */
static bool make_guard(size_t granule, enum sj_run_content content)
{
    if (!sj__pages_guard_many(sj_window_address(granule), SJ_GRANULE_BYTES)) {
        (void)sj_fetch_add_relaxed_u64(&guards_refused, 1);
        sj__run_give(granule, 1, content);
        return false;
    }
    sj_window_set(granule, sj__window_unused);
    (void)sj__run_change_use(1, SJ_USE_TAKEN, SJ_USE_BARE);
    (void)sj_fetch_add_relaxed_u64(&guards_made, 1);
    return true;
}

/* Granules that nobody ever had. Their pages are new, so as many bytes of what free runs hold go back to the system, oldest
 * first: others reuse what this class does not. Once a place, so it costs a fault a page of all there ever are. */
static bool take_apart(size_t granules, size_t *first_granule)
{
    if (!sj__run_take_untouched(granules, first_granule))
        return false;
    sj__run_release_oldest(granules << SJ_GRANULE_SHIFT);
    return true;
}

/* Granules for a place: apart if the policy wants that and it can be had. */
static bool take_granules(const struct sj_policy *policy, size_t granules, struct sj_slab *slab, bool *apart)
{
    enum sj_run_content content = SJ_RUN_EMPTY;
    *apart = policy->isolate && take_apart(granules, &slab->first_granule);
    if (!*apart && !sj__run_take(granules, &slab->first_granule, &content))
        return false;
    slab->content = (uint8_t)content;
    return true;
}

static bool place_new(const struct sj_policy *policy, struct sj_slab *slab)
{
    size_t granules = granules_of(slab);
    bool apart, guard = wants_guard(policy, slab->class_index);
    if (!take_granules(policy, granules + (guard ? 1 : 0), slab, &apart)) {
        if (!guard || !take_granules(policy, granules, slab, &apart))
            return false;
        (void)sj_fetch_add_relaxed_u64(&guards_refused, 1); /* rather a place without than none */
        guard = false;
    }
    (void)sj_fetch_add_relaxed_u64(&not_isolated, policy->isolate && !apart ? 1 : 0);
    slab->base = sj_window_address(slab->first_granule);
    slab->guarded = guard && make_guard(slab->first_granule + granules, (enum sj_run_content)slab->content);
    slab->stays = apart || slab->guarded;
    if (slab->class_index == SJ_CLASS_ZERO) /* refused: the objects stay distinct, if not unusable */
        (void)sj__pages_guard(slab->base, bytes_of(slab));
    return true;
}

struct sj_slab *sj__site_get(const struct sj_policy *policy, unsigned class_index)
{
    bool forbidden;
    struct sj_slab *slab = take_kept(class_index, &forbidden);
    if (slab != NULL || forbidden)
        return slab;
    slab = record_get(class_index);
    if (slab == NULL || place_new(policy, slab))
        return slab;
    record_put(slab);
    return NULL;
}

/* ---- Leaving ---------------------------------------------------------------------------------------------------- */

/* Gives the granules to the runs. What still faults is lost: better than handing out pages that fault. */
static void leave(struct sj_slab *slab)
{
    if (slab->guarded && sj__pages_unguard(slab->base + bytes_of(slab), SJ_GRANULE_BYTES)) {
        (void)sj_fetch_add_relaxed_u64(&guards_lifted, 1);
        (void)sj__run_change_use(1, SJ_USE_BARE, SJ_USE_GIVEN);
        sj__run_give(slab->first_granule + granules_of(slab), 1, SJ_RUN_EMPTY);
    }
    if (slab->class_index != SJ_CLASS_ZERO || sj__pages_unguard(slab->base, bytes_of(slab)))
        sj__run_give(slab->first_granule, granules_of(slab), (enum sj_run_content)slab->content);
    else
        (void)sj__run_change_use(granules_of(slab), SJ_USE_TAKEN, SJ_USE_LOST);
    record_put(slab);
}

void sj__site_put(struct sj_slab *slab)
{
    if (slab->class_index == SJ_CLASS_ZERO)
        slab->content = SJ_RUN_EMPTY;
    if (slab->stays)
        keep(slab);
    else
        leave(slab);
}

size_t sj__site_give_up(void)
{
    size_t given_bytes = 0;
    struct sj_slab *slab;
    for (unsigned class_index = 0; class_index < SJ_CLASS_COUNT; class_index++) {
        while ((slab = unlink_any(class_index)) != NULL) {
            (void)sj__run_change_use(granules_of(slab), (enum sj_run_use)slab->use, SJ_USE_GIVEN);
            (void)sj_fetch_add_relaxed_u64(&not_isolated, 1);
            given_bytes += bytes_of(slab);
            leave(slab);
        }
    }
    return given_bytes;
}

static void release_class(unsigned class_index, struct pass *pass)
{
    struct sj_slab *slab;
    size_t bytes = (size_t)sj__size_classes[class_index].granules << SJ_GRANULE_SHIFT;
    while ((slab = unlink_aged(class_index, pass)) != NULL) {
        pass->calls--;
        if (!empty_place(slab)) { /* as if left just now: others have their turn first */
            hold(slab);
            pass->calls = 0;
            continue;
        }
        pass->budget_bytes -= bytes < pass->budget_bytes ? bytes : pass->budget_bytes;
        pass->given_bytes += bytes;
        link_kept(slab);
    }
}

static void release_all(struct pass *pass)
{
    for (unsigned class_index = 0; class_index < SJ_CLASS_COUNT; class_index++)
        release_class(class_index, pass);
}

uint64_t sj__site_release_aged(uint64_t before_ms, size_t *budget_bytes, size_t *given_bytes)
{
    struct pass pass = { before_ms, *budget_bytes, AGED_CALLS, SJ_NEVER_MS, 0 };
    release_all(&pass);
    *budget_bytes = pass.budget_bytes;
    *given_bytes += pass.given_bytes;
    return pass.oldest_ms;
}

size_t sj__site_purge(void)
{
    struct pass pass = { SJ_NEVER_MS, SIZE_MAX, SIZE_MAX, SJ_NEVER_MS, 0 };
    release_all(&pass);
    return pass.given_bytes;
}

void sj__site_read_counts(struct sj_site_counts *out)
{
    out->guards = sj_load_relaxed_u64(&guards_made) - sj_load_relaxed_u64(&guards_lifted);
    out->guards_refused = sj_load_relaxed_u64(&guards_refused);
    out->not_isolated = sj_load_relaxed_u64(&not_isolated);
}

void sj__site_lock_for_fork(void)
{
    sj__lock(&places_lock);
}

void sj__site_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&places_lock);
    else
        sj__unlock(&places_lock);
}
