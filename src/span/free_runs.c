/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see free_runs.h.
 */
#include "span/free_runs.h"

#include "base/bits.h"

enum {
    BINS_A_DOUBLING_SHIFT = 2,
    BIN_COUNT = 128, /* four a doubling, to 2^32 granules */
    BIN_WORDS = BIN_COUNT / 64,
    SEARCH_LIMIT = 8 /* runs looked at in the bin that may hold smaller ones */
};

struct bins {
    uint64_t full[BIN_WORDS]; /* which bins have a run */
    struct run *head[BIN_COUNT];
};

struct sj_lock sj__free_runs_lock = SJ_LOCK_INIT(SJ_RANK_RUNS);
struct sj_run_bytes sj__run_bytes;
struct sj_atomic_size sj__run_counted_bytes;
static struct bins bins_of[SJ_RUN_CONTENTS];
static struct run *record_pool;
static struct run *oldest, *newest;

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

static void age_link(struct run *run, uint64_t now_ms)
{
    run->freed_ms = now_ms;
    if (!sj_free_run_holds_pages(run->content))
        return;
    run->newer = NULL;
    run->older = newest;
    *(newest != NULL ? &newest->newer : &oldest) = run;
    newest = run;
}

static void age_unlink(struct run *run)
{
    if (!sj_free_run_holds_pages(run->content))
        return;
    *(run->older != NULL ? &run->older->newer : &oldest) = run->newer;
    *(run->newer != NULL ? &run->newer->older : &newest) = run->older;
}

struct run *sj__free_runs_oldest(void)
{
    return oldest;
}

void sj__free_runs_rejuvenate(struct run *run)
{
    age_unlink(run);
    age_link(run, sj__clock_ms());
}

void sj__free_runs_drop(struct run *run)
{
    age_unlink(run);
    record_recycle(run);
}

void sj__free_runs_bin(struct run *run)
{
    struct bins *bins = &bins_of[run->content];
    unsigned bin = bin_of(run->granules);
    run->previous = NULL;
    run->next = bins->head[bin];
    if (run->next != NULL)
        run->next->previous = run;
    bins->head[bin] = run;
    bins->full[bin / 64] |= (uint64_t)1 << (bin % 64);
    sj__run_bytes.held[run->content] += run->granules << SJ_GRANULE_SHIFT;
    sj_store_relaxed_u32(&run->span.kind, run->fresh ? SJ_SPAN_FRESH : SJ_SPAN_RUN);
    sj_window_set(run->first_granule, &run->span);
    sj_window_set(run->first_granule + run->granules - 1, &run->span);
}

void sj__free_runs_unbin(struct run *run)
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
    sj__run_bytes.held[run->content] -= run->granules << SJ_GRANULE_SHIFT;
    struct sj_span *standing = run->fresh ? sj__window_unused : sj__window_freed;
    sj_window_set(run->first_granule, standing);
    sj_window_set(run->first_granule + run->granules - 1, standing);
}

struct run *sj__free_runs_neighbour(size_t granule, bool forward, enum sj_run_content content)
{
    if (granule >= sj__run_bytes.window >> SJ_GRANULE_SHIFT)
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
        sj__free_runs_unbin(dropped);
        sj__free_runs_drop(dropped);
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
    sj__free_runs_unbin(kept);
    if (granules > kept->granules)
        sj__free_runs_rejuvenate(kept);
    return kept;
}

struct run *sj__free_runs_insert(size_t first_granule, size_t granules, enum sj_run_content content, bool fresh,
                                 size_t owed_bytes)
{
    struct run *after = sj__free_runs_neighbour(first_granule + granules, true, content);
    struct run *before = first_granule > 0 ? sj__free_runs_neighbour(first_granule - 1, false, content) : NULL;
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
    sj__free_runs_bin(run);
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

struct run *sj__free_runs_find(enum sj_run_content content, size_t granules)
{
    const struct bins *bins = &bins_of[content];
    unsigned bin = bin_of(granules);
    unsigned looked = 0;
    for (struct run *run = bins->head[bin]; run != NULL && looked < SEARCH_LIMIT; run = run->next, looked++)
        if (run->granules >= granules)
            return run;
    return first_above(bins, bin);
}

size_t sj__free_runs_carve(struct run *run, size_t granules)
{
    size_t owed_bytes = granules < run->granules ? run->owed_bytes / run->granules * granules : run->owed_bytes;
    sj__free_runs_unbin(run);
    if (run->granules > granules) {
        run->owed_bytes -= owed_bytes;
        run->first_granule += granules;
        run->granules -= granules;
        sj__free_runs_bin(run);
    } else {
        sj__free_runs_drop(run);
    }
    return owed_bytes;
}
