/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see run.h.
 */
#include "span/run.h"

#include "base/bits.h"
#include "platform/lock.h"
#include "platform/pages.h"
#include "span/run_record.h"
#include "span/scrub.h"

enum {
    BINS_A_DOUBLING_SHIFT = 2,
    BIN_COUNT = 128, /* four a doubling, to 2^32 granules */
    BIN_WORDS = BIN_COUNT / 64,
    SEARCH_LIMIT = 8,          /* runs looked at in the bin that may hold smaller ones */
    HELD_MIN_BYTES = 32 << 20, /* free pages always kept for reuse */
    HELD_WINDOW_FRACTION = 8,  /* and this part of the window, if that is more; no more than hold_max_bytes, since a
                                * window that was large once stays large */
    PAY_BY_KERNEL_BYTES = HELD_MIN_BYTES, /* what owes is written up to here, see doc/adr/0062 */
    AGED_CALLS = 256                      /* system calls of one pass of the clock */
};

struct bins {
    uint64_t full[BIN_WORDS]; /* which bins have a run */
    struct run *head[BIN_COUNT];
};

static struct sj_lock runs_lock = SJ_LOCK_INIT(SJ_RANK_RUNS);
static struct bins bins_of[SJ_RUN_CONTENTS];
static struct run *record_pool;
static struct sj_run_bytes bytes_of;
static struct run *oldest, *newest;
static struct sj_atomic_size counted_bytes; /* of bytes_of, as limits count; written under the lock, read without it */
static enum sj_run_content grown_content = SJ_RUN_EMPTY; /* what the window grows by */

/* The bin whose runs have at least the size that `granules` rounds down to. */
static unsigned bin_of(size_t granules)
{
    unsigned top = sj_highest_bit(granules);
    if (top < BINS_A_DOUBLING_SHIFT)
        return (unsigned)granules - 1;
    unsigned quarter = (unsigned)(granules >> (top - BINS_A_DOUBLING_SHIFT)) & 3u;
    unsigned bin = ((top - BINS_A_DOUBLING_SHIFT) << BINS_A_DOUBLING_SHIFT) + quarter + 3;
    return bin < BIN_COUNT ? bin : BIN_COUNT - 1;
}

static struct run *record_new(void)
{
    struct run *run = record_pool;
    if (run != NULL) {
        record_pool = run->next;
        return run;
    }
    return sj__arena_alloc(sizeof(struct run));
}

static void record_recycle(struct run *run)
{
    sj_store_relaxed_u32(&run->span.kind, SJ_SPAN_FREED);
    run->next = record_pool;
    record_pool = run;
}

static bool holds_pages(uint32_t content)
{
    return content <= SJ_RUN_OWING;
}

static size_t held_locked(void)
{
    return sj_run_held_bytes(&bytes_of);
}

/* What counts under limits, but for records: runs handed out and pages held. */
static size_t counted_locked(void)
{
    return bytes_of.taken + bytes_of.set_aside + held_locked();
}

static void unlock_runs(void)
{
    sj_store_relaxed_size(&counted_bytes, counted_locked());
    sj__unlock(&runs_lock);
}

static void age_link(struct run *run, uint64_t now_ms)
{
    run->freed_ms = now_ms;
    if (!holds_pages(run->content))
        return;
    run->newer = NULL;
    run->older = newest;
    *(newest != NULL ? &newest->newer : &oldest) = run;
    newest = run;
}

static void age_unlink(struct run *run)
{
    if (!holds_pages(run->content))
        return;
    *(run->older != NULL ? &run->older->newer : &oldest) = run->newer;
    *(run->newer != NULL ? &run->newer->older : &newest) = run->older;
}

static void bin_insert(struct run *run)
{
    struct bins *bins = &bins_of[run->content];
    unsigned bin = bin_of(run->granules);
    run->previous = NULL;
    run->next = bins->head[bin];
    if (run->next != NULL)
        run->next->previous = run;
    bins->head[bin] = run;
    bins->full[bin / 64] |= (uint64_t)1 << (bin % 64);
    bytes_of.held[run->content] += run->granules << SJ_GRANULE_SHIFT;
    sj_store_relaxed_u32(&run->span.kind, run->fresh ? SJ_SPAN_FRESH : SJ_SPAN_RUN);
    sj_window_set(run->first_granule, &run->span);
    sj_window_set(run->first_granule + run->granules - 1, &run->span);
}

static void bin_remove(struct run *run)
{
    struct bins *bins = &bins_of[run->content];
    unsigned bin = bin_of(run->granules);
    if (run->previous != NULL)
        run->previous->next = run->next;
    else
        bins->head[bin] = run->next;
    if (run->next != NULL)
        run->next->previous = run->previous;
    if (bins->head[bin] == NULL)
        bins->full[bin / 64] &= ~((uint64_t)1 << (bin % 64));
    bytes_of.held[run->content] -= run->granules << SJ_GRANULE_SHIFT;
    struct sj_span *standing = run->fresh ? sj__window_unused : sj__window_freed;
    sj_window_set(run->first_granule, standing);
    sj_window_set(run->first_granule + run->granules - 1, standing);
}

/* The free run that has `granule` as its first (`forward`) or last granule, if there is one with this content. */
static struct run *neighbour(size_t granule, bool forward, enum sj_run_content content)
{
    if (granule >= bytes_of.window >> SJ_GRANULE_SHIFT)
        return NULL;
    struct sj_span *span = sj_window_lookup(granule);
    uint32_t kind = sj_load_relaxed_u32(&span->kind);
    if (kind != SJ_SPAN_RUN && kind != SJ_SPAN_FRESH)
        return NULL;
    struct run *run = (struct run *)(void *)span;
    size_t edge = forward ? run->first_granule : run->first_granule + run->granules - 1;
    return edge == granule && run->content == content ? run : NULL;
}

/* The record that a stretch of `granules` joined with its neighbours has, out of its bin: that of the larger neighbour,
 * with its age unless the stretch is larger still; a new one if there is no neighbour. NULL: none can be had. */
static struct run *joined_record(struct run *before, struct run *after, size_t granules, uint32_t content)
{
    struct run *kept = before, *dropped = after;
    if (before == NULL || (after != NULL && after->granules > before->granules)) {
        kept = after;
        dropped = before;
    }
    if (dropped != NULL) {
        bin_remove(dropped);
        age_unlink(dropped);
        record_recycle(dropped);
    }
    if (kept == NULL) {
        kept = record_new();
        if (kept == NULL)
            return NULL;
        kept->content = content;
        kept->owed_bytes = 0;
        age_link(kept, sj__clock_ms());
        return kept;
    }
    bin_remove(kept);
    if (granules > kept->granules) {
        age_unlink(kept);
        age_link(kept, sj__clock_ms());
    }
    return kept;
}

/* Puts a free stretch into its bin, joined with neighbours of the same content. If no record can be had the stretch
 * is lost to the allocator: a leak of address space under a kernel that refuses everything, not an error. */
static struct run *insert_joined(size_t first_granule, size_t granules, enum sj_run_content content, bool fresh,
                                 size_t owed_bytes)
{
    struct run *after = neighbour(first_granule + granules, true, content);
    struct run *before = first_granule > 0 ? neighbour(first_granule - 1, false, content) : NULL;
    size_t first = before != NULL ? before->first_granule : first_granule;
    size_t end = after != NULL ? after->first_granule + after->granules : first_granule + granules;
    fresh &= (before == NULL || before->fresh) && (after == NULL || after->fresh);
    owed_bytes += (before != NULL ? before->owed_bytes : 0) + (after != NULL ? after->owed_bytes : 0);
    struct run *run = joined_record(before, after, granules, (uint32_t)content);
    if (run == NULL)
        return NULL;
    run->owed_bytes = owed_bytes;
    run->first_granule = first;
    run->granules = end - first;
    run->fresh = fresh;
    bin_insert(run);
    return run;
}

/* The first run of a bin above `bin`, all of whose runs are large enough. */
static struct run *first_above(const struct bins *bins, unsigned bin)
{
    for (unsigned from = bin + 1; from < BIN_COUNT; from = (from / 64 + 1) * 64) {
        uint64_t full = bins->full[from / 64] >> (from % 64);
        if (full != 0)
            return bins->head[from + sj_lowest_bit(full)];
    }
    return NULL;
}

static struct run *find_fit(enum sj_run_content content, size_t granules)
{
    const struct bins *bins = &bins_of[content];
    unsigned bin = bin_of(granules);
    unsigned looked = 0;
    for (struct run *run = bins->head[bin]; run != NULL && looked < SEARCH_LIMIT; run = run->next, looked++)
        if (run->granules >= granules)
            return run;
    return first_above(bins, bin);
}

/* Takes the first `granules` of a free run; the rest stays free. Returns their part of what the run owes. */
static size_t carve(struct run *run, size_t granules)
{
    size_t owed_bytes = granules < run->granules ? run->owed_bytes / run->granules * granules : run->owed_bytes;
    bin_remove(run);
    if (run->granules > granules) {
        run->owed_bytes -= owed_bytes;
        run->first_granule += granules;
        run->granules -= granules;
        bin_insert(run);
    } else {
        age_unlink(run);
        record_recycle(run);
    }
    return owed_bytes;
}

/* Notes that the first part of a free run is about to be handed out; `anew`: with fresh pages. */
static void note_taken(const struct run *run, size_t granules, bool anew)
{
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    if (holds_pages(run->content) && !anew) {
        uint64_t now_ms = sj__clock_ms();
        sj_books_sum(&bytes_of.books, held_locked(), now_ms);
        sj_books_note_reuse(&bytes_of.books, run->freed_ms, now_ms, bytes);
    } else if (!run->fresh) {
        bytes_of.refaulted += bytes;
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
        (void)insert_joined(first_granule, granules, *content, false, 0);
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
    taken->owed_bytes = carve(run, taken->granules);
    return make_accessible(taken->first_granule, taken->granules, &taken->content);
}

static bool take_any(struct taken *taken)
{
    for (unsigned kind = 0; kind < SJ_RUN_CONTENTS; kind++) {
        struct run *run = find_fit((enum sj_run_content)kind, taken->granules);
        if (run != NULL)
            return take_first(run, taken);
    }
    return false;
}

static bool grow(size_t granules)
{
    size_t first, grown;
    const struct run *last = neighbour((bytes_of.window >> SJ_GRANULE_SHIFT) - 1, false, grown_content);
    size_t adjoining = last != NULL && last->granules < granules ? last->granules : 0;
    if (!sj__window_grow(granules, adjoining, &first, &grown))
        return false;
    bytes_of.window = (first + grown) << SJ_GRANULE_SHIFT;
    (void)insert_joined(first, grown, grown_content, true, 0);
    return true;
}

/* Gives a stretch's pages back, or unmaps it. False: the kernel refused. */
static bool empty_pages(size_t first_granule, size_t granules, enum sj_run_content becomes)
{
    char *start = sj_window_address(first_granule);
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    return becomes == SJ_RUN_EMPTY ? sj__pages_release(start, bytes) : sj__pages_unmap(start, bytes);
}

/* Books a payment of what was owed. */
static void note_paid(size_t owed_bytes, uint64_t *paid)
{
    bytes_of.owed -= owed_bytes;
    *paid += owed_bytes;
}

/* Turns all free runs of one content into another. Returns the bytes of them. */
static size_t turn(enum sj_run_content content, enum sj_run_content becomes)
{
    size_t turned_bytes = 0;
    struct run *refused = NULL;
    sj_books_sum(&bytes_of.books, held_locked(), sj__clock_ms());
    for (struct run *run; (run = first_above(&bins_of[content], (unsigned)-1)) != NULL;) {
        bin_remove(run);
        if (empty_pages(run->first_granule, run->granules, becomes)) {
            struct run turned = *run;
            age_unlink(run);
            turned_bytes += turned.granules << SJ_GRANULE_SHIFT;
            record_recycle(run); /* first: when memory is short there is no other record */
            (void)insert_joined(turned.first_granule, turned.granules, becomes, turned.fresh, 0);
            note_paid(turned.owed_bytes, &bytes_of.paid_kernel);
        } else {
            run->next = refused;
            refused = run;
        }
    }
    while (refused != NULL) {
        struct run *run = refused;
        refused = run->next;
        bin_insert(run);
    }
    if (holds_pages(content))
        bytes_of.released += turned_bytes;
    return turned_bytes;
}

/* Empties all free runs that hold pages. */
static size_t purge_locked(void)
{
    return turn(SJ_RUN_DIRTY, SJ_RUN_EMPTY) + turn(SJ_RUN_ZERO, SJ_RUN_EMPTY) + turn(SJ_RUN_OWING, SJ_RUN_EMPTY);
}

/* Unmaps all free runs: their address space, and what of it is locked in memory, can be had again elsewhere. */
static size_t unmap_locked(void)
{
    size_t unmapped_bytes = 0;
    for (unsigned content = SJ_RUN_DIRTY; content < SJ_RUN_UNMAPPED; content++)
        unmapped_bytes += turn((enum sj_run_content)content, SJ_RUN_UNMAPPED);
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
    return exceeds(limit, counted_locked() + more_bytes);
}

/* True if as many granules can be handed out under the limit. Pages held are given back first if that or the system's
 * allowance demands it. */
static bool make_allowed(size_t granules)
{
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    if (held_locked() > 0 && exceeds_locked(&sj__release_limits.pressure_bytes, bytes))
        (void)purge_locked();
    if (bytes_of.set_aside > 0 && exceeds_locked(&sj__release_limits.pressure_bytes, bytes))
        sj__release_lower_due(SJ_DUE_BY_LIMITS); /* what others hold goes back before this slow path is over */
    if (held_locked() > 0 && exceeds_locked(&sj__release_limits.limit_bytes, bytes))
        (void)unmap_locked(); /* locked memory is not given back otherwise */
    return !exceeds_locked(&sj__release_limits.limit_bytes, bytes);
}

/* Before a growth that is as large as what free runs hold, those give their pages back: they join, and may do. */
static bool purge_instead(size_t granules)
{
    size_t held_bytes = held_locked();
    return held_bytes > 0 && granules >= held_bytes >> SJ_GRANULE_SHIFT && purge_locked() > 0;
}

/* Scrubs what granules owe that were taken: they are ours alone, so not under the lock. */
static void pay(struct taken *taken)
{
    char *start = sj_window_address(taken->first_granule);
    size_t bytes = taken->granules << SJ_GRANULE_SHIFT;
    bool by_kernel = taken->by_kernel && sj__pages_release(start, bytes);
    if (!by_kernel)
        sj__scrub_bytes(start, bytes);
    taken->content = by_kernel ? SJ_RUN_EMPTY : SJ_RUN_ZERO;
    sj__lock(&runs_lock);
    bytes_of.released += by_kernel ? bytes : 0;
    note_paid(taken->owed_bytes, by_kernel ? &bytes_of.paid_kernel : &bytes_of.paid_reuse);
    unlock_runs();
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
    sj__lock(&runs_lock);
    bool is_taken = make_allowed(granules > old_granules ? granules - old_granules : 0) &&
                    (take_any(&taken) || (purge_instead(granules) && take_any(&taken)) ||
                     (grow(granules) && take_any(&taken)) || (purge_locked() > 0 && take_any(&taken)) ||
                     (unmap_locked() > 0 && (take_any(&taken) || (grow(granules) && take_any(&taken)))));
    bytes_of.taken += is_taken ? granules << SJ_GRANULE_SHIFT : 0;
    unlock_runs();
    return hand_over(is_taken, &taken, first_granule, content);
}

bool sj__run_take(size_t granules, size_t *first_granule, enum sj_run_content *content)
{
    return sj__run_take_to_move(granules, 0, first_granule, content);
}

static bool take_exactly(size_t first_granule, struct taken *taken)
{
    for (unsigned kind = 0; kind < SJ_RUN_CONTENTS; kind++) {
        struct run *run = neighbour(first_granule, true, (enum sj_run_content)kind);
        if (run != NULL && run->granules >= taken->granules)
            return take_first(run, taken);
    }
    return false;
}

/* True if nothing but granules like those the window grows by lie between `granule` and the window's end. */
static bool is_at_end(size_t granule)
{
    size_t end = bytes_of.window >> SJ_GRANULE_SHIFT;
    const struct run *run = neighbour(granule, true, grown_content);
    return granule == end || (run != NULL && granule + run->granules == end);
}

bool sj__run_take_at(size_t first_granule, size_t granules, enum sj_run_content *content)
{
    struct taken taken = { .granules = granules };
    sj__lock(&runs_lock);
    bool is_taken =
        make_allowed(granules) && (take_exactly(first_granule, &taken) ||
                                   (is_at_end(first_granule) && grow(granules) && take_exactly(first_granule, &taken)));
    bytes_of.taken += is_taken ? granules << SJ_GRANULE_SHIFT : 0;
    unlock_runs();
    return hand_over(is_taken, &taken, &first_granule, content);
}

void sj__run_keep_apart(void)
{
    sj__lock(&runs_lock);
    grown_content = SJ_RUN_UNTOUCHED;
    unlock_runs();
}

bool sj__run_take_untouched(size_t granules, size_t *first_granule)
{
    struct taken taken = { .granules = granules };
    sj__lock(&runs_lock);
    struct run *run = NULL;
    if (grown_content == SJ_RUN_UNTOUCHED && make_allowed(granules)) {
        run = find_fit(SJ_RUN_UNTOUCHED, granules);
        if (run == NULL && grow(granules))
            run = find_fit(SJ_RUN_UNTOUCHED, granules);
    }
    bool is_taken = run != NULL && take_first(run, &taken);
    bytes_of.taken += is_taken ? granules << SJ_GRANULE_SHIFT : 0;
    unlock_runs();
    *first_granule = taken.first_granule;
    return is_taken;
}

static bool may_hold_locked(size_t more_bytes)
{
    size_t fraction_bytes = bytes_of.window / HELD_WINDOW_FRACTION;
    size_t allowed_bytes = fraction_bytes > HELD_MIN_BYTES ? fraction_bytes : HELD_MIN_BYTES;
    uint64_t limit_bytes = sj_load_relaxed_u64(&sj__release_limits.hold_bytes);
    return held_locked() + bytes_of.set_aside + more_bytes <=
               (allowed_bytes < limit_bytes ? allowed_bytes : limit_bytes) &&
           !exceeds_locked(&sj__release_limits.pressure_bytes, more_bytes);
}

static size_t *bytes_in_use(enum sj_run_use use)
{
    size_t *const bytes[] = { &bytes_of.taken, &bytes_of.set_aside, &bytes_of.bare, &bytes_of.taken };
    return bytes[use];
}

bool sj__run_change_use(size_t granules, enum sj_run_use from, enum sj_run_use to)
{
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    sj__lock(&runs_lock);
    *bytes_in_use(from) -= bytes;
    bool allowed = true;
    if (to == SJ_USE_SET_ASIDE)
        allowed = may_hold_locked(bytes);
    else if (to == SJ_USE_TAKEN && from == SJ_USE_BARE)
        allowed = make_allowed(granules);
    *bytes_in_use(allowed ? to : from) += bytes;
    unlock_runs();
    return allowed;
}

static void give(size_t first_granule, size_t granules, enum sj_run_content content, size_t owed_bytes)
{
    size_t bytes = granules << SJ_GRANULE_SHIFT;
    for (size_t i = 0; i < granules; i++)
        sj_window_set(first_granule + i, sj__window_freed);
    sj__lock(&runs_lock);
    uint64_t now_ms = sj__clock_ms();
    sj_books_sum(&bytes_of.books, held_locked(), now_ms);
    bytes_of.taken -= bytes;
    bytes_of.owed += owed_bytes;
    if (holds_pages(content) && !may_hold_locked(bytes)) {
        unlock_runs(); /* the granules are nobody's meanwhile */
        bool emptied = empty_pages(first_granule, granules, SJ_RUN_EMPTY);
        sj__lock(&runs_lock);
        if (emptied) {
            bytes_of.released += bytes;
            note_paid(owed_bytes, &bytes_of.paid_kernel);
            content = SJ_RUN_EMPTY;
            owed_bytes = 0;
        }
    }
    (void)insert_joined(first_granule, granules, content, false, owed_bytes);
    unlock_runs();
    if (holds_pages(content))
        sj_release_note_held(now_ms);
}

void sj__run_give(size_t first_granule, size_t granules, enum sj_run_content content)
{
    sj_assert(content != SJ_RUN_OWING);
    give(first_granule, granules, content, 0);
}

void sj__run_give_owing(size_t first_granule, size_t granules, size_t owed_bytes)
{
    give(first_granule, granules, SJ_RUN_OWING, owed_bytes);
}

/* Takes the first part, of at most `bytes`, of the oldest run that holds pages, if it is old enough. */
static bool take_aged_locked(uint64_t before_ms, size_t bytes, struct run *taken)
{
    if (oldest == NULL || oldest->freed_ms > before_ms || bytes < SJ_GRANULE_BYTES)
        return false;
    sj_books_sum(&bytes_of.books, held_locked(), sj__clock_ms());
    *taken = *oldest;
    if (taken->granules > bytes >> SJ_GRANULE_SHIFT)
        taken->granules = bytes >> SJ_GRANULE_SHIFT;
    taken->owed_bytes = carve(oldest, taken->granules);
    return true;
}

/* Ends what take_aged_locked began. What the kernel refused to take and owes is scrubbed by us, without the lock: whoever has
 * locked the memory wants it to stay, not its contents. Then it is as if freed just now: others have their turn first. */
static void put_aged_locked(struct run *run, bool released)
{
    uint32_t content = released ? SJ_RUN_EMPTY : run->content;
    if (content == SJ_RUN_OWING) {
        unlock_runs();
        sj__scrub_bytes(sj_window_address(run->first_granule), run->granules << SJ_GRANULE_SHIFT);
        sj__lock(&runs_lock);
        content = SJ_RUN_ZERO;
    }
    struct run *put = insert_joined(run->first_granule, run->granules, (enum sj_run_content)content, run->fresh, 0);
    note_paid(run->owed_bytes, released ? &bytes_of.paid_kernel : &bytes_of.paid_reuse);
    if (!released && put != NULL) {
        age_unlink(put);
        age_link(put, sj__clock_ms());
    }
}

static uint64_t release(uint64_t before_ms, size_t *budget_bytes, bool by_age)
{
    struct run run;
    bool refused = false;
    sj__lock(&runs_lock);
    for (unsigned calls = 0; calls < AGED_CALLS && take_aged_locked(before_ms, *budget_bytes, &run); calls++) {
        size_t bytes = run.granules << SJ_GRANULE_SHIFT;
        unlock_runs();
        refused = !empty_pages(run.first_granule, run.granules, SJ_RUN_EMPTY);
        sj__lock(&runs_lock);
        put_aged_locked(&run, !refused);
        *budget_bytes -= bytes;
        if (refused)
            break;
        bytes_of.released += bytes;
        bytes_of.books.aged_bytes += by_age ? bytes : 0;
        bytes_of.books.aged_calls += by_age;
    }
    uint64_t oldest_ms = oldest != NULL ? oldest->freed_ms : SJ_NEVER_MS;
    unlock_runs();
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
    sj__lock(&runs_lock);
    bool could = bytes <= bytes_of.window - bytes_of.taken && !exceeds_locked(&sj__release_limits.limit_bytes, bytes);
    unlock_runs();
    return could;
}

bool sj__run_is_pressed(void)
{
    return exceeds(&sj__release_limits.pressure_bytes, sj_load_relaxed_size(&counted_bytes));
}

size_t sj__run_purge(void)
{
    sj__lock(&runs_lock);
    size_t given_bytes = purge_locked();
    unlock_runs();
    return given_bytes;
}

void *sj__run_record(size_t bytes)
{
    void *record = sj__arena_alloc(bytes);
    if (record != NULL)
        return record;
    sj__lock(&runs_lock);
    bool room = unmap_locked() > 0;
    unlock_runs();
    return room ? sj__arena_alloc(bytes) : NULL;
}

void sj__run_read_bytes(struct sj_run_bytes *out)
{
    sj__lock(&runs_lock);
    sj_books_sum(&bytes_of.books, held_locked(), sj__clock_ms());
    *out = bytes_of;
    unlock_runs();
}

void sj__run_lock_for_fork(void)
{
    sj__lock(&runs_lock);
}

void sj__run_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&runs_lock);
    else
        sj__unlock(&runs_lock);
}
