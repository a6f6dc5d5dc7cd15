/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see run.h.
 */
#include "span/run.h"

#include "base/bits.h"
#include "platform/pages.h"
#include "span/debts.h"
#include "span/run_pages.h"

enum { PAY_BY_KERNEL_BYTES = SJ_RUN_HELD_MIN_BYTES /* what owes is written up to here, see doc/adr/0062 */ };

static enum sj_run_content grown_content = SJ_RUN_EMPTY; /* what the window grows by */

/* Notes that the first part of a free run is about to be handed out; `anew`: with fresh pages. */
static void note_taken(const struct run *run, size_t granules, bool anew)
{
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    if (sj_free_run_holds_pages(run->content) && !anew) {
        uint64_t now_ms = sj__clock_ms();
        sj_books_sum(&sj__run_bytes.books, sj_free_runs_held(), now_ms);
        sj_books_note_reuse(&sj__run_bytes.books, run->freed_ms, now_ms, bytes);
    } else if (!run->fresh) {
        sj__run_bytes.refaulted += bytes;
    }
}

/* Makes a taken stretch accessible if it was trapped or unmapped. False: the kernel refused, and it is free as before. */
static bool make_accessible(size_t first_granule, size_t granules, enum sj_run_content *content)
{
    char *start = sj_window_address(first_granule);
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    if (*content < SJ_RUN_TRAPPED)
        return true;
    if (*content == SJ_RUN_TRAPPED ? !sj__pages_untrap(start, bytes, SJ_TRAP_EMPTYING)
                                   : !sj__window_remap(start, bytes)) {
        (void)sj__free_runs_insert(first_granule, granules, *content, false, 0);
        return false;
    }
    *content = SJ_RUN_EMPTY;
    return true;
}

/* Granules on their way out. */
struct taken {
    size_t first_granule;
    size_t granules;
    enum sj_run_content content;
    size_t owed_bytes;
    bool pages_go;  /* a block is moved there with its pages */
    bool by_kernel; /* what is owed is paid by giving the pages back */
};

static bool take_first(struct run *run, struct taken *taken)
{
    taken->first_granule = run->first_granule;
    taken->content = (enum sj_run_content)run->content;
    taken->by_kernel = taken->content == SJ_RUN_OWING &&
                       (taken->pages_go || taken->granules << SJ_GRANULE_SHIFT >= PAY_BY_KERNEL_BYTES);
    note_taken(run, taken->granules, taken->by_kernel);
    taken->owed_bytes = sj__free_runs_carve(run, taken->granules);
    return make_accessible(taken->first_granule, taken->granules, &taken->content);
}

static bool take_any(struct taken *taken)
{
    for (unsigned kind = 0; kind < SJ_RUN_CONTENTS; kind++) {
        struct run *run = sj__free_runs_find((enum sj_run_content)kind, taken->granules);
        if (run != NULL)
            return take_first(run, taken);
    }
    return false;
}

static bool grow(size_t granules)
{
    size_t first, grown;
    const struct run *last =
        sj__free_runs_neighbour((sj__run_bytes.window >> SJ_GRANULE_SHIFT) - 1, false, grown_content);
    size_t adjoining = last != NULL && last->granules < granules ? last->granules : 0;
    if (!sj__window_grow(granules, adjoining, &first, &grown))
        return false;
    sj__run_bytes.window = (first + grown) << SJ_GRANULE_SHIFT;
    (void)sj__free_runs_insert(first, grown, grown_content, true, 0);
    return true;
}

/* Before a growth that is as large as what free runs hold, those give their pages back: they join, and may do. */
static bool purge_instead(size_t granules)
{
    size_t held_bytes = sj_free_runs_held();
    return held_bytes > 0 && granules >= held_bytes >> SJ_GRANULE_SHIFT && sj__run_pages_purge() > 0;
}

/* Scrubs what granules owe that were taken: they are ours alone, so not under the lock. */
static void pay(struct taken *taken)
{
    char *start = sj_window_address(taken->first_granule);
    size_t bytes = taken->granules << SJ_GRANULE_SHIFT;
    bool by_kernel = taken->by_kernel && sj__pages_release(start, bytes);
    if (!by_kernel)
        sj__debts_scrub(taken->first_granule, taken->granules);
    taken->content = by_kernel ? SJ_RUN_EMPTY : SJ_RUN_ZERO;
    sj_free_runs_lock();
    sj__run_bytes.released += by_kernel ? bytes : 0;
    sj__run_pages_note_paid(taken->owed_bytes, by_kernel ? &sj__run_bytes.paid_kernel : &sj__run_bytes.paid_reuse);
    sj_free_runs_unlock();
}

/* Brings a take to its end: without the lock, which was held for it. */
static bool hand_over(bool is_taken, struct taken *taken, size_t *first_granule, enum sj_run_content *content)
{
    if (!is_taken)
        return false;
    if (taken->content == SJ_RUN_OWING)
        pay(taken);
    *first_granule = taken->first_granule;
    *content = taken->content == SJ_RUN_UNTOUCHED ? SJ_RUN_EMPTY : taken->content;
    return true;
}

bool sj__run_take_to_move(size_t granules, size_t old_granules, size_t *first_granule, enum sj_run_content *content)
{
    struct taken taken = { .granules = granules, .pages_go = old_granules > 0 };
    sj_assert(granules > 0);
    sj_free_runs_lock();
    bool is_taken = sj__run_pages_allow(granules > old_granules ? granules - old_granules : 0) &&
                    (take_any(&taken) || (purge_instead(granules) && take_any(&taken)) ||
                     (grow(granules) && take_any(&taken)) || (sj__run_pages_purge() > 0 && take_any(&taken)) ||
                     (sj__run_pages_unmap() > 0 && (take_any(&taken) || (grow(granules) && take_any(&taken)))));
    sj__run_bytes.taken += is_taken ? granules << SJ_GRANULE_SHIFT : 0;
    sj_free_runs_unlock();
    return hand_over(is_taken, &taken, first_granule, content);
}

bool sj__run_take(size_t granules, size_t *first_granule, enum sj_run_content *content)
{
    return sj__run_take_to_move(granules, 0, first_granule, content);
}

static bool take_exactly(size_t first_granule, struct taken *taken)
{
    for (unsigned kind = 0; kind < SJ_RUN_CONTENTS; kind++) {
        struct run *run = sj__free_runs_neighbour(first_granule, true, (enum sj_run_content)kind);
        if (run != NULL && run->granules >= taken->granules)
            return take_first(run, taken);
    }
    return false;
}

/* True if nothing but granules like those the window grows by lie between `granule` and the window's end. */
static bool is_at_end(size_t granule)
{
    size_t end = sj__run_bytes.window >> SJ_GRANULE_SHIFT;
    const struct run *run = sj__free_runs_neighbour(granule, true, grown_content);
    return granule == end || (run != NULL && granule + run->granules == end);
}

bool sj__run_take_at(size_t first_granule, size_t granules, enum sj_run_content *content)
{
    struct taken taken = { .granules = granules };
    sj_free_runs_lock();
    bool is_taken = sj__run_pages_allow(granules) &&
                    (take_exactly(first_granule, &taken) ||
                     (is_at_end(first_granule) && grow(granules) && take_exactly(first_granule, &taken)));
    sj__run_bytes.taken += is_taken ? granules << SJ_GRANULE_SHIFT : 0;
    sj_free_runs_unlock();
    return hand_over(is_taken, &taken, &first_granule, content);
}

void sj__run_keep_apart(void)
{
    sj_free_runs_lock();
    grown_content = SJ_RUN_UNTOUCHED;
    sj_free_runs_unlock();
}

bool sj__run_take_untouched(size_t granules, size_t *first_granule)
{
    struct taken taken = { .granules = granules };
    sj_free_runs_lock();
    struct run *run = NULL;
    if (grown_content == SJ_RUN_UNTOUCHED && sj__run_pages_allow(granules)) {
        run = sj__free_runs_find(SJ_RUN_UNTOUCHED, granules);
        if (run == NULL && grow(granules))
            run = sj__free_runs_find(SJ_RUN_UNTOUCHED, granules);
    }
    bool is_taken = run != NULL && take_first(run, &taken);
    sj__run_bytes.taken += is_taken ? granules << SJ_GRANULE_SHIFT : 0;
    sj_free_runs_unlock();
    *first_granule = taken.first_granule;
    return is_taken;
}

static size_t *bytes_in_use(enum sj_run_use use)
{
    size_t *const bytes[] = { &sj__run_bytes.taken, &sj__run_bytes.set_aside, &sj__run_bytes.bare, &sj__run_bytes.taken,
                              &sj__run_bytes.lost };
    return bytes[use];
}

bool sj__run_change_use(size_t granules, enum sj_run_use from, enum sj_run_use to)
{
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    sj_free_runs_lock();
    *bytes_in_use(from) -= bytes;
    bool allowed = true;
    if (to == SJ_USE_SET_ASIDE)
        allowed = sj__run_pages_may_hold(bytes);
    else if (to == SJ_USE_TAKEN && from == SJ_USE_BARE)
        allowed = sj__run_pages_allow(granules);
    *bytes_in_use(allowed ? to : from) += bytes;
    sj_free_runs_unlock();
    return allowed;
}

/* What given granules are to become before anybody has them: the same, unless more is held than may be, or their addresses
 * are given back too. */
static enum sj_run_content content_wanted(enum sj_run_content content, size_t granules)
{
    if (sj_free_run_holds_pages(content))
        return sj__run_pages_may_hold(granules << SJ_GRANULE_SHIFT) ? content : SJ_RUN_EMPTY;
    return sj__run_pages_unmaps(granules) ? SJ_RUN_UNMAPPED : content;
}

static void give(size_t first_granule, size_t granules, enum sj_run_content content, size_t owed_bytes)
{
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    for (size_t i = 0; i < granules; i++)
        sj_window_set(first_granule + i, sj__window_freed);
    sj_free_runs_lock();
    uint64_t now_ms = sj__clock_ms();
    sj_books_sum(&sj__run_bytes.books, sj_free_runs_held(), now_ms);
    sj__run_bytes.taken -= bytes;
    sj__run_bytes.owed += owed_bytes;
    enum sj_run_content wanted = content_wanted(content, granules);
    if (wanted != content) {
        sj_free_runs_unlock(); /* the granules are nobody's meanwhile */
        bool emptied = sj__run_pages_empty(first_granule, granules, &wanted);
        sj_free_runs_lock();
        if (emptied) {
            sj__run_bytes.released += sj_free_run_holds_pages(content) ? bytes : 0;
            sj__run_pages_note_paid(owed_bytes, &sj__run_bytes.paid_kernel);
            content = wanted;
            owed_bytes = 0;
        }
    }
    (void)sj__free_runs_insert(first_granule, granules, content, false, owed_bytes);
    sj_free_runs_unlock();
    if (sj_free_run_holds_pages(content))
        sj_release_note_held(now_ms);
}

void sj__run_give(size_t first_granule, size_t granules, enum sj_run_content content)
{
    sj_assert(content != SJ_RUN_OWING);
    give(first_granule, granules, content, 0);
}

void sj__run_give_owing(size_t first_granule, size_t granules, const char *start, size_t bytes, size_t owed_bytes)
{
    sj__debts_note(first_granule, granules, start, bytes);
    give(first_granule, granules, SJ_RUN_OWING, owed_bytes);
}

void sj__run_peek_bytes(struct sj_run_bytes *out, unsigned *patience_ms)
{
    bool is_locked = sj__lock_in_time(&sj__free_runs_lock, patience_ms);
    *out = sj__run_bytes;
    if (is_locked)
        sj__unlock(&sj__free_runs_lock);
}

void sj__run_read_bytes(struct sj_run_bytes *out)
{
    sj_free_runs_lock();
    sj_books_sum(&sj__run_bytes.books, sj_free_runs_held(), sj__clock_ms());
    *out = sj__run_bytes;
    sj_free_runs_unlock();
}

void sj__run_lock_for_fork(void)
{
    sj_free_runs_lock();
}

void sj__run_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&sj__free_runs_lock);
    else
        sj__unlock(&sj__free_runs_lock);
}
