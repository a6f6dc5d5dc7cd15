/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see run_pages.h.
 */
#include "span/run_pages.h"

#include "platform/pages.h"
#include "span/debts.h"

enum {
    HELD_WINDOW_FRACTION = 8, /* may be held; no more than hold_max_bytes: a window that was large stays so */
    AGED_CALLS = 256,         /* system calls of one pass of the clock */
    UNMAP_GRANULES = 16       /* less is not worth a hole in the window: a process may have 65,530 mappings */
};

static bool gives_addresses;

void sj__run_give_addresses(bool on)
{
    sj_free_runs_lock();
    gives_addresses = on;
    sj_free_runs_unlock();
}

bool sj__run_pages_unmaps(size_t granules)
{
    return gives_addresses && granules >= UNMAP_GRANULES;
}

bool sj__run_pages_empty(size_t first_granule, size_t granules, enum sj_run_content *becomes)
{
    char *start = sj_window_address(first_granule);
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    if (*becomes == SJ_RUN_EMPTY && !sj__run_pages_unmaps(granules))
        return sj__pages_release(start, bytes);
    if (sj__pages_unmap(start, bytes)) {
        *becomes = SJ_RUN_UNMAPPED;
        return true;
    }
    return *becomes == SJ_RUN_EMPTY && sj__pages_release(start, bytes);
}

void sj__run_pages_note_paid(size_t owed_bytes, uint64_t *paid)
{
    sj__run_bytes.owed -= owed_bytes;
    *paid += owed_bytes;
}

/* Turns all free runs of one content, and of so many granules, into another. Returns the bytes of them. */
static size_t turn(enum sj_run_content content, size_t granules, enum sj_run_content wanted)
{
    size_t turned_bytes = 0;
    struct run *refused = NULL;
    sj_books_sum(&sj__run_bytes.books, sj_free_runs_held(), sj__clock_ms());
    for (struct run *run; (run = sj__free_runs_find(content, granules)) != NULL;) {
        enum sj_run_content becomes = wanted;
        sj__free_runs_unbin(run);
        if (sj__run_pages_empty(run->first_granule, run->granules, &becomes)) {
            struct run turned = *run;
            turned_bytes += turned.granules << SJ_GRANULE_SHIFT;
            sj__free_runs_drop(run); /* first: when memory is short there is no other record */
            (void)sj__free_runs_insert(turned.first_granule, turned.granules, becomes, turned.fresh, 0);
            sj__run_pages_note_paid(turned.owed_bytes, &sj__run_bytes.paid_kernel);
        } else {
            run->next = refused;
            refused = run;
        }
    }
    while (refused != NULL) {
        struct run *run = refused;
        refused = run->next;
        sj__free_runs_bin(run);
    }
    if (sj_free_run_holds_pages(content))
        sj__run_bytes.released += turned_bytes;
    return turned_bytes;
}

size_t sj__run_pages_purge(void)
{
    size_t emptied_bytes =
        turn(SJ_RUN_DIRTY, 1, SJ_RUN_EMPTY) + turn(SJ_RUN_ZERO, 1, SJ_RUN_EMPTY) + turn(SJ_RUN_OWING, 1, SJ_RUN_EMPTY);
    if (gives_addresses) /* small ones that have joined meanwhile */
        (void)turn(SJ_RUN_EMPTY, UNMAP_GRANULES, SJ_RUN_UNMAPPED);
    return emptied_bytes;
}

size_t sj__run_pages_unmap(void)
{
    size_t unmapped_bytes = 0;
    for (unsigned content = SJ_RUN_DIRTY; content < SJ_RUN_UNMAPPED; content++)
        unmapped_bytes += turn((enum sj_run_content)content, 1, SJ_RUN_UNMAPPED);
    return unmapped_bytes;
}

/* True if that, with records, is more than a limit. */
static bool exceeds(const struct sj_atomic_u64 *limit, size_t bytes)
{
    uint64_t limit_bytes = sj_load_relaxed_u64(limit);
    return limit_bytes != UINT64_MAX && bytes + sj__arena_used_bytes() > limit_bytes;
}

static bool exceeds_locked(const struct sj_atomic_u64 *limit, size_t more_bytes)
{
    return exceeds(limit, sj_free_runs_counted() + more_bytes);
}

bool sj__run_pages_allow(size_t granules)
{
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    if (sj_free_runs_held() > 0 && exceeds_locked(&sj__release_limits.pressure_bytes, bytes))
        (void)sj__run_pages_purge();
    if (sj__run_bytes.set_aside > 0 && exceeds_locked(&sj__release_limits.pressure_bytes, bytes))
        sj__release_lower_due(SJ_DUE_BY_LIMITS); /* what others hold goes back before this slow path is over */
    if (sj_free_runs_held() > 0 && exceeds_locked(&sj__release_limits.limit_bytes, bytes))
        (void)sj__run_pages_unmap(); /* locked memory is not given back otherwise */
    return !exceeds_locked(&sj__release_limits.limit_bytes, bytes);
}

bool sj__run_pages_may_hold(size_t more_bytes)
{
    size_t fraction_bytes = sj__run_bytes.window / HELD_WINDOW_FRACTION;
    size_t allowed_bytes = fraction_bytes > SJ_RUN_HELD_MIN_BYTES ? fraction_bytes : SJ_RUN_HELD_MIN_BYTES;
    uint64_t limit_bytes = sj_load_relaxed_u64(&sj__release_limits.hold_bytes);
    return sj_free_runs_held() + sj__run_bytes.set_aside + more_bytes <=
               (allowed_bytes < limit_bytes ? allowed_bytes : limit_bytes) &&
           !exceeds_locked(&sj__release_limits.pressure_bytes, more_bytes);
}

/* Takes the first part, of at most `bytes`, of the oldest run that holds pages, if it is old enough. */
static bool take_aged_locked(uint64_t before_ms, size_t bytes, struct run *taken)
{
    struct run *oldest = sj__free_runs_oldest();
    if (oldest == NULL || oldest->freed_ms > before_ms || bytes < SJ_GRANULE_BYTES)
        return false;
    sj_books_sum(&sj__run_bytes.books, sj_free_runs_held(), sj__clock_ms());
    *taken = *oldest;
    if (taken->granules > bytes >> SJ_GRANULE_SHIFT)
        taken->granules = bytes >> SJ_GRANULE_SHIFT;
    taken->owed_bytes = sj__free_runs_carve(oldest, taken->granules);
    return true;
}

/* Ends what take_aged_locked began. What the kernel refused to take and owes is scrubbed by us, without the lock: whoever has
 * locked the memory wants it to stay, not its contents. Then it is as if freed just now: others have their turn first. */
static void put_aged_locked(struct run *run, bool released, enum sj_run_content becomes)
{
    uint32_t content = released ? becomes : run->content;
    if (content == SJ_RUN_OWING) {
        sj_free_runs_unlock();
        sj__debts_scrub(run->first_granule, run->granules);
        sj_free_runs_lock();
        content = SJ_RUN_ZERO;
    }
    struct run *put =
        sj__free_runs_insert(run->first_granule, run->granules, (enum sj_run_content)content, run->fresh, 0);
    sj__run_pages_note_paid(run->owed_bytes, released ? &sj__run_bytes.paid_kernel : &sj__run_bytes.paid_reuse);
    if (!released && put != NULL)
        sj__free_runs_rejuvenate(put);
}

static uint64_t release(uint64_t before_ms, size_t *budget_bytes, bool by_age)
{
    struct run run;
    bool refused = false;
    sj_free_runs_lock();
    for (unsigned calls = 0; calls < AGED_CALLS && take_aged_locked(before_ms, *budget_bytes, &run); calls++) {
        size_t bytes = run.granules << SJ_GRANULE_SHIFT;
        enum sj_run_content becomes = SJ_RUN_EMPTY;
        sj_free_runs_unlock();
        refused = !sj__run_pages_empty(run.first_granule, run.granules, &becomes);
        sj_free_runs_lock();
        put_aged_locked(&run, !refused, becomes);
        *budget_bytes -= bytes;
        if (refused)
            break;
        sj__run_bytes.released += bytes;
        sj__run_bytes.books.aged_bytes += by_age ? bytes : 0;
        sj__run_bytes.books.aged_calls += by_age;
    }
    const struct run *oldest = sj__free_runs_oldest();
    uint64_t oldest_ms = oldest != NULL ? oldest->freed_ms : SJ_NEVER_MS;
    sj_free_runs_unlock();
    return oldest_ms;
}

uint64_t sj__run_release_aged(uint64_t before_ms, size_t *budget_bytes)
{
    return release(before_ms, budget_bytes, true);
}

void sj__run_release_oldest(size_t bytes)
{
    (void)release(SJ_NEVER_MS, &bytes, false);
}

bool sj__run_could_take(size_t bytes)
{
    sj_free_runs_lock();
    bool could =
        bytes <= sj__run_bytes.window - sj__run_bytes.taken && !exceeds_locked(&sj__release_limits.limit_bytes, bytes);
    sj_free_runs_unlock();
    return could;
}

bool sj__run_is_pressed(void)
{
    return exceeds(&sj__release_limits.pressure_bytes, sj_load_relaxed_size(&sj__run_counted_bytes));
}

size_t sj__run_purge(void)
{
    sj_free_runs_lock();
    size_t given_bytes = sj__run_pages_purge();
    sj_free_runs_unlock();
    return given_bytes;
}

void *sj__run_record(size_t bytes)
{
    void *record = sj__arena_alloc(bytes);
    if (record != NULL)
        return record;
    sj_free_runs_lock();
    bool room = sj__run_pages_unmap() > 0;
    sj_free_runs_unlock();
    return room ? sj__arena_alloc(bytes) : NULL;
}
