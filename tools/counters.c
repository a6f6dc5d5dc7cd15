/* SPDX-License-Identifier: MIT
 *
 * What: the table of counters, and how amounts are written; see counters.h.
 *
 * Why this way: a row a counter, grouped by the line of text it stands in.
 *
 * Invariants, concurrency: see counters.h.
 */
#include "counters.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNTER(name, unit, topic, label)                                              \
    {                                                                                  \
#name, topic, label, (uint16_t)offsetof(struct sj_stats, name), SJ_UNIT_##unit \
    }

const struct sj_counter sj__counters[] = {
    COUNTER(live_bytes, BYTES, "live", "in all"),
    COUNTER(large_live_bytes, BYTES, "live", "in large blocks"),
    COUNTER(large_live_blocks, COUNT, "live", "large blocks"),
    COUNTER(allocations, COUNT, "calls", "allocated"),
    COUNTER(frees, COUNT, "calls", "freed"),
    COUNTER(remote_frees, COUNT, "calls", "of them by another thread"),
    COUNTER(slab_bytes, BYTES, "memory", "slabs"),
    COUNTER(free_held_bytes, BYTES, "memory", "free, held"),
    COUNTER(metadata_bytes, BYTES, "memory", "records"),
    COUNTER(window_bytes, BYTES, "memory", "addresses"),
    COUNTER(slabs, COUNT, "memory", "slabs"),
    COUNTER(heaps, COUNT, "memory", "heaps"),
    COUNTER(slab_guards, COUNT, "memory", "guards behind slabs"),
    COUNTER(freed_bytes, BYTES, "ledger", "freed"),
    COUNTER(scrubbed_at_free, BYTES, "ledger", "scrubbed at free"),
    COUNTER(scrubbed_at_reuse, BYTES, "ledger", "at reuse"),
    COUNTER(scrubbed_by_kernel, BYTES, "ledger", "by the kernel"),
    COUNTER(owed_bytes, BYTES, "ledger", "owed"),
    COUNTER(forgone_bytes, BYTES, "ledger", "forgone"),
    COUNTER(calloc_avoided_bytes, BYTES, "ledger", "calloc avoided"),
    COUNTER(cache_hits, COUNT, "cache", "hits"),
    COUNTER(cache_cold_hits, COUNT, "cache", "of them cold"),
    COUNTER(cache_misses, COUNT, "cache", "misses"),
    COUNTER(cache_evictions, COUNT, "cache", "evictions"),
    COUNTER(cache_kept_blocks, COUNT, "cache", "kept"),
    COUNTER(cache_kept_bytes, BYTES, "cache", "in them"),
    COUNTER(release_passes, COUNT, "release", "passes"),
    COUNTER(released_by_age, BYTES, "release", "by age"),
    COUNTER(faults_avoided, COUNT, "release", "faults avoided"),
    COUNTER(faults_caused, COUNT, "release", "caused"),
    COUNTER(calls_avoided, COUNT, "release", "calls avoided"),
    COUNTER(calls_caused, COUNT, "release", "caused"),
    COUNTER(cache_held_byte_ms, BYTE_MS, "release", "held in blocks"),
    COUNTER(run_held_byte_ms, BYTE_MS, "release", "in runs"),
    COUNTER(realloc_moved_bytes, BYTES, "realloc", "moved"),
    COUNTER(realloc_copied_bytes, BYTES, "realloc", "copied"),
    COUNTER(turns, COUNT, "reuse", "turns"),
    COUNTER(pick_millibits, COUNT, "reuse", "millibits a pick"),
    COUNTER(sampled, COUNT, "samples", "taken"),
    COUNTER(samples_skipped, COUNT, "samples", "skipped"),
    COUNTER(guards_refused, COUNT, "dropped", "guards refused"),
    COUNTER(traps_refused, COUNT, "dropped", "traps refused"),
    COUNTER(traps_skipped, COUNT, "dropped", "traps skipped"),
    COUNTER(places_not_isolated, COUNT, "dropped", "places not isolated"),
    COUNTER(system_calls_refused, COUNT, "dropped", "calls refused"),
    COUNTER(weak_seeds, COUNT, "dropped", "weak seeds"),
};

const size_t sj__counters_count = sizeof sj__counters / sizeof sj__counters[0];

uint64_t sj__counter_read(const struct sj_counter *counter, const struct sj_stats *stats)
{
    uint64_t value;
    memcpy(&value, (const char *)stats + counter->offset, sizeof value);
    return value;
}

/* 45678 becomes 45,678. */
static void group_digits(uint64_t value, char buffer[SJ_AMOUNT_BYTES])
{
    char plain[SJ_AMOUNT_BYTES];
    const int digits = snprintf(plain, sizeof plain, "%llu", (unsigned long long)value);
    char *to = buffer;
    for (int i = 0; i < digits; i++) {
        *to++ = plain[i];
        if ((digits - 1 - i) % 3 == 0 && i + 1 < digits)
            *to++ = ',';
    }
    *to = '\0';
}

const char *sj__counter_text(enum sj_counter_unit unit, uint64_t value, char buffer[SJ_AMOUNT_BYTES])
{
    static const char *const names[] = { "KiB", "MiB", "GiB", "TiB" };
    double scaled = (double)(unit == SJ_UNIT_BYTE_MS ? value / 1000 : value) / 1024;
    unsigned step = 0;
    if (unit == SJ_UNIT_COUNT) {
        group_digits(value, buffer);
        return buffer;
    }
    for (; scaled >= 1024 && step < 3; step++)
        scaled /= 1024;
    snprintf(buffer, SJ_AMOUNT_BYTES, "%.1f %s%s", scaled, names[step], unit == SJ_UNIT_BYTE_MS ? " s" : "");
    return buffer;
}
