/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see summary.h.
 */
#include "front/summary.h"

#include "base/format.h"
#include "front/entry.h"
#include "heap/stats.h"
#include "meta/arena.h"
#include "platform/descriptor.h"
#include "platform/entropy.h"
#include "platform/pages.h"
#include "platform/process.h"
#include "report/report.h"
#include "span/cache.h"
#include "span/large.h"
#include "span/run.h"

#include <string.h>
#include <unistd.h>

enum { SUMMARY_BYTES = 2048 };

static void fill_small(struct sj_stats *stats)
{
    struct sj_heap_sums sums;
    sj__heap_sum(&sj__sealed.settings.policy, &sums);
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
    stats->guards_refused = counts.guards_refused;
    stats->realloc_moved_bytes = counts.moved_bytes;
    stats->realloc_copied_bytes = counts.copied_bytes;
    struct sj_cache_counts kept;
    sj__cache_read_counts(&kept);
    stats->owed_bytes += kept.owed_bytes;
}

static void add_pages(struct sj_stats *stats)
{
    struct sj_run_bytes runs;
    struct sj_pages_counters pages;
    size_t used_bytes, mapped_bytes;
    sj__run_read_bytes(&runs);
    sj__pages_read_counters(&pages);
    sj__arena_bytes(&used_bytes, &mapped_bytes);
    stats->free_held_bytes = runs.held[SJ_RUN_DIRTY] + runs.held[SJ_RUN_ZERO] + sj__cache_bytes();
    stats->window_bytes = runs.window;
    stats->metadata_bytes = used_bytes;
    stats->system_calls_refused = pages.refused;
    stats->weak_seeds = sj__entropy_weak_count();
}

/* With scrub=off nothing is promised, and what is overwritten by and by is not booked: all that was freed stays owed. */
static void forgo_ledger(struct sj_stats *stats)
{
    stats->scrubbed_at_free = stats->scrubbed_at_reuse = stats->scrubbed_by_kernel = 0;
    stats->owed_bytes = stats->freed_bytes;
}

void sj__summary_fill(struct sj_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->version = SJ_STATS_VERSION;
    stats->level = sj__sealed.settings.level;
    fill_small(stats);
    add_large(stats);
    if (sj__sealed.settings.policy.scrub == SJ_SCRUB_OFF)
        forgo_ledger(stats);
    add_pages(stats);
}

static void add_field(struct sj_text *text, const char *name, uint64_t value)
{
    sj__format_char(text, ' ');
    sj__format_string(text, name);
    sj__format_char(text, '=');
    sj__format_decimal(text, value);
}

static void begin_line(struct sj_text *text, const char *topic)
{
    sj__format_string(text, text->length == 0 ? "scrubjay: stats " : "\nscrubjay: stats ");
    sj__format_string(text, topic);
    sj__format_char(text, ':');
}

static void write_summary(struct sj_text *text)
{
    struct sj_stats stats;
    size_t resident_bytes, peak_bytes;
    sj__summary_fill(&stats);
    sj__process_resident(&resident_bytes, &peak_bytes);

    begin_line(text, "process");
    add_field(text, "pid", sj__process_id());
    add_field(text, "level", stats.level);
    add_field(text, "peak_rss_bytes", peak_bytes);
    begin_line(text, "calls");
    add_field(text, "allocated", stats.allocations);
    add_field(text, "freed", stats.frees);
    add_field(text, "freed_by_other_threads", stats.remote_frees);
    add_field(text, "checked", stats.frees);
    add_field(text, "live_bytes", stats.live_bytes);
    begin_line(text, "scrubbed_bytes");
    add_field(text, "freed", stats.freed_bytes);
    add_field(text, "at_free", stats.scrubbed_at_free);
    add_field(text, "at_reuse", stats.scrubbed_at_reuse);
    add_field(text, "by_kernel", stats.scrubbed_by_kernel);
    add_field(text, "owed", stats.owed_bytes);
    add_field(text, "calloc_avoided", stats.calloc_avoided_bytes);
    begin_line(text, "memory_bytes");
    add_field(text, "slabs", stats.slab_bytes);
    add_field(text, "large", stats.large_live_bytes);
    add_field(text, "free_held", stats.free_held_bytes);
    add_field(text, "window", stats.window_bytes);
    add_field(text, "metadata", stats.metadata_bytes);
    begin_line(text, "realloc_bytes");
    add_field(text, "moved", stats.realloc_moved_bytes);
    add_field(text, "copied", stats.realloc_copied_bytes);
    begin_line(text, "reuse");
    add_field(text, "turns", stats.turns);
    if (stats.turns > 0)
        add_field(text, "shortest_rest_slots", stats.shortest_rest);
    add_field(text, "pick_millibits", stats.pick_millibits);
    begin_line(text, "dropped");
    add_field(text, "guards_refused", stats.guards_refused);
    add_field(text, "system_calls_refused", stats.system_calls_refused);
    add_field(text, "weak_seeds", stats.weak_seeds);
    sj__format_char(text, '\n');
}

void sj__summary_print(void)
{
    char buffer[SUMMARY_BYTES];
    struct sj_text text;
    sj__format_start(&text, buffer, sizeof buffer);
    write_summary(&text);
    sj__descriptor_write(STDERR_FILENO, text.start, text.length);
}

void sj__summary_at_exit(void)
{
    if (!sj__sealed.settings.stats)
        return;
    char buffer[SUMMARY_BYTES];
    struct sj_text text;
    sj__format_start(&text, buffer, sizeof buffer);
    write_summary(&text);
    sj__report_write(text.start, text.length);
}
