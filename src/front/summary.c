/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see summary.h.
 */
#include "front/summary.h"

#include "front/entry.h"
#include "heap/pass.h"
#include "heap/stats.h"
#include "meta/arena.h"
#include "platform/entropy.h"
#include "platform/pages.h"
#include "span/cache.h"
#include "span/large.h"
#include "span/run.h"
#include "span/sampled.h"
#include "span/site.h"

#include <string.h>

_Static_assert(sizeof((struct sj_stats *)0)->run_gap_bytes == sizeof((struct sj_hold_books *)0)->gap_bytes,
               "scrubjay.h");

static void fill_small(const struct sj_policy *policy, struct sj_stats *stats)
{
    struct sj_heap_sums sums;
    sj__heap_sum(policy, &sums);
    stats->allocations = sums.allocated_slots;
    stats->frees = sums.allocated_slots - sums.live_slots;
    stats->live_bytes = sums.live_bytes;
    stats->freed_bytes = sums.allocated_bytes - sums.live_bytes;
    stats->scrubbed_at_free = sums.freed_bytes_hot;
    stats->scrubbed_at_reuse = sums.paid_reuse_bytes;
    stats->scrubbed_by_kernel = sums.paid_kernel_bytes;
    stats->owed_bytes = sums.owed_bytes;
    stats->calloc_avoided_bytes = sums.calloc_avoided_bytes;
    stats->remote_frees = sums.remote_freed_slots;
    stats->slabs = sums.slabs;
    stats->slab_bytes = sums.slab_bytes;
    stats->heaps = sums.heaps;
    stats->forgone_bytes = sums.forgone_bytes;
    stats->turns = sums.turns;
    stats->shortest_rest = sums.shortest_rest;
    if (sums.picks_sampled > 0)
        stats->pick_millibits = sums.picks_entropy * 1000 / SJ_PICKS_UNITS_A_BIT / sums.picks_sampled;
}

static void add_large(struct sj_stats *stats)
{
    struct sj_large_counts counts;
    sj__large_read_counts(&counts);
    stats->large_live_blocks = counts.allocated_blocks - counts.freed_blocks;
    stats->large_live_bytes = counts.allocated_bytes - counts.freed_bytes;
    stats->allocations += counts.allocated_blocks;
    stats->frees += counts.freed_blocks;
    stats->live_bytes += stats->large_live_bytes;
    stats->freed_bytes += counts.freed_bytes;
    stats->scrubbed_at_free += counts.scrubbed_bytes;
    stats->scrubbed_at_reuse += counts.reused_bytes;
    stats->scrubbed_by_kernel += counts.released_bytes;
    stats->forgone_bytes += counts.forgone_bytes;
    stats->guards_refused += counts.guards_refused;
    stats->traps_refused = counts.traps_refused;
    stats->traps_skipped = counts.traps_skipped;
    stats->realloc_moved_bytes = counts.moved_bytes;
    stats->realloc_copied_bytes = counts.copied_bytes;
}

static void add_places(struct sj_stats *stats)
{
    struct sj_site_counts counts;
    sj__site_read_counts(&counts);
    stats->slab_guards = counts.guards;
    stats->guards_refused += counts.guards_refused;
    stats->places_not_isolated = counts.not_isolated;
}

static void add_sampled(struct sj_stats *stats)
{
    struct sj_sampled_counts counts;
    sj__sampled_read_counts(&counts);
    stats->sampled = counts.allocated_blocks;
    stats->samples_skipped = counts.skipped;
    stats->allocations += counts.allocated_blocks;
    stats->frees += counts.freed_blocks;
    stats->live_bytes += counts.allocated_bytes - counts.freed_bytes;
    stats->freed_bytes += counts.freed_bytes;
    stats->scrubbed_at_free += counts.freed_bytes;
    stats->guards_refused += counts.guards_refused;
}

static void add_kept(struct sj_stats *stats)
{
    struct sj_cache_counts kept;
    sj__cache_read_counts(&kept);
    stats->owed_bytes += kept.owed_bytes;
    stats->cache_hits = kept.hits;
    stats->cache_cold_hits = kept.cold_hits;
    stats->cache_misses = kept.misses;
    stats->cache_evictions = kept.evictions;
    stats->cache_kept_blocks = kept.kept_blocks;
    stats->cache_kept_bytes = kept.warm_bytes;
    stats->cache_held_byte_ms = kept.books.held_byte_ms;
    stats->released_by_age = kept.books.aged_bytes;
    stats->calls_avoided = kept.calls_avoided;
    stats->calls_caused = kept.books.aged_calls;
    stats->faults_caused = kept.cold_hit_bytes / sj__page_bytes();
    memcpy(stats->cache_gap_count, kept.books.gap_count, sizeof stats->cache_gap_count);
    memcpy(stats->cache_gap_bytes, kept.books.gap_bytes, sizeof stats->cache_gap_bytes);
    uint64_t hit_bytes = 0;
    for (unsigned i = 0; i < SJ_GAP_BUCKETS; i++)
        hit_bytes += kept.books.gap_bytes[i];
    stats->faults_avoided = (hit_bytes - kept.cold_hit_bytes) / sj__page_bytes();
}

/* After add_kept. */
static void add_runs(struct sj_stats *stats, const struct sj_run_bytes *runs)
{
    struct sj_pass_counts pass;
    sj__pass_read_counts(&pass);
    stats->free_held_bytes = sj_run_held_bytes(runs) + runs->set_aside + stats->cache_kept_bytes;
    stats->owed_bytes += runs->owed;
    stats->scrubbed_at_reuse += runs->paid_reuse;
    stats->scrubbed_by_kernel += runs->paid_kernel;
    stats->window_bytes = runs->window;
    stats->run_held_byte_ms = runs->books.held_byte_ms;
    stats->release_passes = pass.passes;
    stats->released_by_age += runs->books.aged_bytes + pass.slab_bytes;
    stats->calls_caused += runs->books.aged_calls;
    stats->faults_caused += runs->refaulted / sj__page_bytes();
    memcpy(stats->run_gap_bytes, runs->books.gap_bytes, sizeof stats->run_gap_bytes);
    for (unsigned i = 0; i < SJ_GAP_BUCKETS; i++)
        stats->faults_avoided += runs->books.gap_bytes[i] / sj__page_bytes();
}

static void add_pages(struct sj_stats *stats)
{
    struct sj_run_bytes runs;
    struct sj_pages_counters pages;
    size_t used_bytes, mapped_bytes;
    sj__run_read_bytes(&runs);
    sj__pages_read_counters(&pages);
    sj__arena_bytes(&used_bytes, &mapped_bytes);
    add_runs(stats, &runs);
    stats->metadata_bytes = used_bytes;
    stats->system_calls_refused = pages.refused;
    stats->weak_seeds = sj__entropy_weak_count();
}

/* What was freed under scrub=off, before a raise, and handed out again unscrubbed; and whether there was a raise. */
static struct sj_atomic_u64 forgone_bytes;
static struct sj_atomic_u32 was_raised;

static uint64_t ledger_rest(const struct sj_stats *stats)
{
    uint64_t booked = stats->scrubbed_at_reuse + stats->scrubbed_by_kernel + stats->owed_bytes;
    return stats->freed_bytes > booked ? stats->freed_bytes - booked : 0;
}

/* After a raise the policy in force does not tell what was scrubbed at free: it is what the other books leave. Slots that were
 * live at a raise that brought scrub may owe from before, and be paid twice: then it is too little by these. */
static void settle_ledger(struct sj_stats *stats)
{
    stats->forgone_bytes += sj_load_relaxed_u64(&forgone_bytes);
    if (sj_load_relaxed_u32(&was_raised) == 0)
        return;
    uint64_t rest = ledger_rest(stats);
    stats->scrubbed_at_free = rest > stats->forgone_bytes ? rest - stats->forgone_bytes : 0;
}

/* With scrub=off nothing is promised, and what is overwritten by and by is not booked: all that was freed stays owed. */
static void forgo_ledger(struct sj_stats *stats)
{
    stats->scrubbed_at_free = stats->scrubbed_at_reuse = stats->scrubbed_by_kernel = 0;
    stats->owed_bytes = stats->freed_bytes;
}

static void fill(const struct sj_policy *policy, struct sj_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->version = SJ_STATS_VERSION;
    fill_small(policy, stats);
    add_places(stats);
    add_large(stats);
    add_sampled(stats);
    add_kept(stats);
    add_pages(stats);
}

void sj__summary_fill(struct sj_stats *stats)
{
    const struct sj_settings *settings = sj__sealed.in_force;
    fill(&settings->policy, stats);
    stats->level = settings->level;
    if (settings->policy.scrub == SJ_SCRUB_OFF)
        forgo_ledger(stats);
    else
        settle_ledger(stats);
}

void sj__summary_note_raise(const struct sj_policy *from, const struct sj_policy *to)
{
    struct sj_stats stats;
    if (from->scrub == SJ_SCRUB_OFF && to->scrub != SJ_SCRUB_OFF) {
        fill(from, &stats);
        sj_store_relaxed_u64(&forgone_bytes, ledger_rest(&stats));
    }
    if (to->scrub != SJ_SCRUB_OFF)
        sj_store_relaxed_u32(&was_raised, 1);
}
