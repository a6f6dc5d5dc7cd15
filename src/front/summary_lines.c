/* SPDX-License-Identifier: MIT
 *
 * What: what stands in the summary, in which order and under which names.
 *
 * Why this way: each number has one line here, whatever form it is said in; see writer.h.
 *
 * Invariants: names stay what they are: others look for them.
 *
 * Concurrency: see summary.h.
 */
#include "front/bill.h"
#include "front/summary.h"
#include "platform/pages.h"
#include "platform/process.h"
#include "policy/bill.h"
#include "span/release.h"

/* Of more than these there is only the sum of all. */
enum { ARENAS_SHOWN = 16, ACCOUNTS_SHOWN = 64 };

static unsigned choose_arenas(struct sj_bill_row *rows)
{
    unsigned count = 0;
    for (const struct sj_named *named = sj__named_all(); named != NULL && count < ARENAS_SHOWN;
         named = named->next_of_all)
        if (sj__named_is_live(named))
            rows[count++] = (struct sj_bill_row){ .named = named };
    return count;
}

static void add_arenas(struct sj_writer *writer, const struct sj_bill_row *rows, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        sj__writer_topic_of(writer, "arena", "bytes",
                            (const struct sj_item[]){ { "arena", rows[i].named->name }, { 0 } });
        for (unsigned line = 0; line < SJ_BILL_LINES; line++)
            if (rows[i].line[line] > 0)
                sj__writer_part(writer, "line", sj__bill_names[line], rows[i].line[line]);
    }
}

static void begin_account(struct sj_writer *writer, const char *topic, const char *unit,
                          const struct sj_account_stats *account)
{
    const struct sj_item items[SJ_ITEMS] = { { "arena", account->arena }, { "label", account->label } };
    sj__writer_topic_of(writer, topic, unit, items);
}

static void add_accounts(struct sj_writer *writer)
{
    struct sj_account_stats account;
    for (size_t i = 0; i < ACCOUNTS_SHOWN && sj_account_read(i, &account) == 0; i++) {
        begin_account(writer, "account", "bytes", &account);
        sj__writer_part(writer, "what", "live", account.live_bytes);
        sj__writer_part(writer, "what", "peak", account.peak_bytes);
        sj__writer_part(writer, "what", "allocated", account.allocated_bytes);
    }
    for (size_t i = 0; i < ACCOUNTS_SHOWN && sj_account_read(i, &account) == 0; i++) {
        begin_account(writer, "blocks", "count", &account);
        sj__writer_part(writer, "what", "live", account.live_blocks);
        sj__writer_part(writer, "what", "allocated", account.allocated_blocks);
    }
}

static void add_bill(struct sj_writer *writer, bool with_resident)
{
    struct sj_bill bill;
    struct sj_bill_row rows[ARENAS_SHOWN];
    unsigned count = choose_arenas(rows);
    sj__bill_fill(&bill, rows, count, with_resident);
    sj__writer_topic(writer, "bill");
    for (unsigned line = 0; line < SJ_BILL_LINES; line++)
        sj__writer_part(writer, "line", sj__bill_names[line], bill.line[line]);
    sj__writer_topic(writer, "committed");
    sj__writer_gauge(writer, "bytes", bill.committed_bytes);
    sj__writer_signed(writer, "in_flight", bill.in_flight_bytes);
    sj__writer_gauge(writer, "peak", bill.peak_bytes);
    if (bill.resident_bytes > 0) {
        sj__writer_gauge(writer, "resident", bill.resident_bytes);
        sj__writer_gauge(writer, "never_touched", bill.untouched_bytes);
    }
    sj__writer_topic(writer, "reserve");
    for (unsigned line = 0; line < SJ_RESERVE_LINES; line++)
        sj__writer_part(writer, "line", sj__reserve_names[line], bill.reserve[line]);
    add_arenas(writer, rows, count);
    add_accounts(writer);
}

static uint64_t mib_s(uint64_t byte_ms)
{
    return (byte_ms >> 20) / 1000;
}

/* The buckets that have anything, by their upper ends; the last one has none. */
static void add_gaps(struct sj_writer *writer, const char *topic, const uint64_t *buckets)
{
    sj__writer_topic(writer, topic);
    for (unsigned i = 0; i < SJ_GAP_BUCKETS; i++) {
        if (buckets[i] == 0)
            continue;
        if (i + 1 < SJ_GAP_BUCKETS)
            sj__writer_numbered(writer, "under_", (uint64_t)1 << i, "_ms", buckets[i]);
        else
            sj__writer_counter(writer, "longer", buckets[i]);
    }
}

/* What another release_ms of 2^(first - 1) ms would have made of the gaps seen: pages reused too late, and memory held. A gap
 * is taken to be three quarters of its bucket's upper end. */
static void add_other(struct sj_writer *writer, const struct sj_stats *stats, unsigned first, const char *name)
{
    uint64_t late_bytes = 0, byte_ms = 0;
    uint64_t release_ms = first > 0 ? (uint64_t)1 << (first - 1) : 0;
    for (unsigned i = 0; i < SJ_GAP_BUCKETS; i++) {
        uint64_t bytes = stats->cache_gap_bytes[i] + stats->run_gap_bytes[i];
        uint64_t gap_ms = ((uint64_t)3 << i) / 4;
        late_bytes += i >= first ? bytes : 0;
        byte_ms += bytes * (i >= first ? release_ms : gap_ms);
    }
    sj__writer_numbered(writer, name, release_ms, "_faults", late_bytes / sj__page_bytes());
    sj__writer_numbered(writer, name, release_ms, "_mib_s", mib_s(byte_ms));
}

static void add_holding(struct sj_writer *writer, const struct sj_stats *stats)
{
    sj__writer_topic(writer, "kept_blocks");
    sj__writer_counter(writer, "hits", stats->cache_hits);
    sj__writer_counter(writer, "cold_hits", stats->cache_cold_hits);
    sj__writer_counter(writer, "misses", stats->cache_misses);
    sj__writer_counter(writer, "evictions", stats->cache_evictions);
    sj__writer_gauge(writer, "kept", stats->cache_kept_blocks);
    sj__writer_gauge(writer, "bytes", stats->cache_kept_bytes);
    sj__writer_topic(writer, "held");
    sj__writer_counter(writer, "blocks_mib_s", mib_s(stats->cache_held_byte_ms));
    sj__writer_counter(writer, "runs_mib_s", mib_s(stats->run_held_byte_ms));
    sj__writer_counter(writer, "passes", stats->release_passes);
    sj__writer_counter(writer, "released_by_age", stats->released_by_age);
    sj__writer_counter(writer, "faults_avoided", stats->faults_avoided);
    sj__writer_counter(writer, "faults_caused", stats->faults_caused);
    sj__writer_counter(writer, "calls_avoided", stats->calls_avoided);
    sj__writer_counter(writer, "calls_caused", stats->calls_caused);
    add_gaps(writer, "gaps_of_blocks", stats->cache_gap_count);
    add_gaps(writer, "gap_bytes_of_blocks", stats->cache_gap_bytes);
    add_gaps(writer, "gap_bytes_of_runs", stats->run_gap_bytes);
    sj__writer_topic(writer, "other_release_ms");
    add_other(writer, stats, 0, "0");
    add_other(writer, stats, 8, "");  /* 128 ms */
    add_other(writer, stats, 11, ""); /* 1024 ms */
    add_other(writer, stats, 13, ""); /* 4096 ms */
    add_other(writer, stats, 16, ""); /* 32768 ms */
}

void sj__summary_write(struct sj_writer *writer, bool with_resident)
{
    struct sj_stats stats;
    size_t resident_bytes, peak_bytes;
    sj__summary_fill(&stats);
    sj__process_resident(&resident_bytes, &peak_bytes);

    sj__writer_topic(writer, "process");
    sj__writer_gauge(writer, "pid", sj__process_id());
    sj__writer_gauge(writer, "level", stats.level);
    sj__writer_gauge(writer, "peak_rss_bytes", peak_bytes);
    sj__writer_topic(writer, "calls");
    sj__writer_counter(writer, "allocated", stats.allocations);
    sj__writer_counter(writer, "freed", stats.frees);
    sj__writer_counter(writer, "freed_by_other_threads", stats.remote_frees);
    sj__writer_counter(writer, "checked", stats.frees);
    sj__writer_gauge(writer, "live_bytes", stats.live_bytes);
    sj__writer_topic(writer, "scrubbed_bytes");
    sj__writer_counter(writer, "freed", stats.freed_bytes);
    sj__writer_counter(writer, "at_free", stats.scrubbed_at_free);
    sj__writer_counter(writer, "at_reuse", stats.scrubbed_at_reuse);
    sj__writer_counter(writer, "by_kernel", stats.scrubbed_by_kernel);
    sj__writer_gauge(writer, "owed", stats.owed_bytes);
    if (stats.forgone_bytes > 0)
        sj__writer_counter(writer, "forgone", stats.forgone_bytes);
    sj__writer_counter(writer, "calloc_avoided", stats.calloc_avoided_bytes);
    sj__writer_topic(writer, "memory_bytes");
    sj__writer_gauge(writer, "slabs", stats.slab_bytes);
    sj__writer_gauge(writer, "large", stats.large_live_bytes);
    sj__writer_gauge(writer, "free_held", stats.free_held_bytes);
    sj__writer_gauge(writer, "window", stats.window_bytes);
    sj__writer_gauge(writer, "metadata", stats.metadata_bytes);
    add_bill(writer, with_resident);
    sj__writer_topic(writer, "slab_guards");
    sj__writer_gauge(writer, "standing", stats.slab_guards);
    sj__writer_topic(writer, "realloc_bytes");
    sj__writer_counter(writer, "moved", stats.realloc_moved_bytes);
    sj__writer_counter(writer, "copied", stats.realloc_copied_bytes);
    sj__writer_topic(writer, "reuse");
    sj__writer_counter(writer, "turns", stats.turns);
    if (stats.turns > 0)
        sj__writer_gauge(writer, "shortest_rest_slots", stats.shortest_rest);
    sj__writer_gauge(writer, "pick_millibits", stats.pick_millibits);
    sj__writer_topic(writer, "samples");
    sj__writer_counter(writer, "taken", stats.sampled);
    sj__writer_counter(writer, "skipped", stats.samples_skipped);
    sj__writer_topic(writer, "dropped");
    sj__writer_counter(writer, "guards_refused", stats.guards_refused);
    sj__writer_counter(writer, "traps_refused", stats.traps_refused);
    sj__writer_counter(writer, "traps_skipped", stats.traps_skipped);
    sj__writer_counter(writer, "places_not_isolated", stats.places_not_isolated);
    sj__writer_counter(writer, "system_calls_refused", stats.system_calls_refused);
    sj__writer_counter(writer, "weak_seeds", stats.weak_seeds);
    add_holding(writer, &stats);
    sj__writer_end(writer);
}
