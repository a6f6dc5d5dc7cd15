/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see release.h.
 */
#include "span/release.h"

enum {
    PASS_MIN_BYTES = 1 << 16, /* less, and passes would never come to an end */
    ALLOWANCE_RESERVE = 8     /* that part of what the system allows is left for what is not malloc's */
};

struct sj_release_limits sj__release_limits = { .release_ms = { SJ_NEVER_MS },
                                                .pass_bytes = { UINT64_MAX },
                                                .hold_bytes = { UINT64_MAX },
                                                .cache_bytes = { UINT64_MAX },
                                                .cache_count = { UINT64_MAX },
                                                .cache_entry_bytes = { UINT64_MAX },
                                                .limit_bytes = { UINT64_MAX },
                                                .pressure_bytes = { UINT64_MAX } };
struct sj_atomic_u64 sj__release_due_ms = { SJ_NEVER_MS };
struct sj_atomic_u64 sj__release_alarm_ms = { SJ_NEVER_MS };
static uint64_t allowance_bytes = UINT64_MAX;

void sj__release_set_allowance(uint64_t bytes)
{
    allowance_bytes = bytes == UINT64_MAX ? bytes : bytes - bytes / ALLOWANCE_RESERVE;
}

void sj__release_set(const struct sj_hold *hold)
{
    /* An age beyond any process's life is never, which also keeps sums with it from going round. */
    bool never = hold->release_ms < 0 || hold->release_ms > INT64_MAX / 2;
    sj_store_relaxed_u64(&sj__release_limits.pass_bytes,
                         hold->release_max_bytes > PASS_MIN_BYTES ? hold->release_max_bytes : PASS_MIN_BYTES);
    sj_store_relaxed_u64(&sj__release_limits.hold_bytes, hold->hold_max_bytes);
    sj_store_relaxed_u64(&sj__release_limits.cache_bytes, hold->cache_max_bytes);
    sj_store_relaxed_u64(&sj__release_limits.cache_count, hold->cache_max_count);
    sj_store_relaxed_u64(&sj__release_limits.cache_entry_bytes, hold->cache_max_entry_bytes);
    uint64_t limit_bytes = hold->limit_bytes == 0 ? UINT64_MAX : hold->limit_bytes;
    sj_store_relaxed_u64(&sj__release_limits.limit_bytes, limit_bytes);
    sj_store_relaxed_u64(&sj__release_limits.pressure_bytes,
                         limit_bytes < allowance_bytes ? limit_bytes : allowance_bytes);
    sj_store_relaxed_u64(&sj__release_limits.release_ms, never ? SJ_NEVER_MS : (uint64_t)hold->release_ms);
    sj__release_lower_due(SJ_DUE_BY_LIMITS);
}

void sj__release_get(struct sj_hold *hold)
{
    uint64_t age_ms = sj_load_relaxed_u64(&sj__release_limits.release_ms);
    hold->release_ms = age_ms == SJ_NEVER_MS ? -1 : (int64_t)age_ms;
    hold->release_max_bytes = sj_load_relaxed_u64(&sj__release_limits.pass_bytes);
    hold->hold_max_bytes = sj_load_relaxed_u64(&sj__release_limits.hold_bytes);
    hold->cache_max_bytes = sj_load_relaxed_u64(&sj__release_limits.cache_bytes);
    hold->cache_max_count = sj_load_relaxed_u64(&sj__release_limits.cache_count);
    hold->cache_max_entry_bytes = sj_load_relaxed_u64(&sj__release_limits.cache_entry_bytes);
    uint64_t limit_bytes = sj_load_relaxed_u64(&sj__release_limits.limit_bytes);
    hold->limit_bytes = limit_bytes == UINT64_MAX ? 0 : limit_bytes;
}

void sj__release_lower_due(uint64_t due_ms)
{
    uint64_t current_ms = sj_load_relaxed_u64(&sj__release_due_ms);
    /* Pairs with the exchange that begins a pass. */
    while (due_ms < current_ms && !sj_compare_exchange_acq_rel_u64(&sj__release_due_ms, &current_ms, due_ms)) {
    }
}
