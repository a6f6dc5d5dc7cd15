/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see pass.h.
 */
#include "heap/pass.h"

#include "heap/adopt.h"
#include "heap/deep.h"
#include "report/control_block.h"
#include "span/cache.h"
#include "span/large.h"
#include "span/run.h"
#include "span/site.h"

enum { AGED_SLABS = 256 }; /* of one pass: system calls */

static struct sj_lock pass_lock = SJ_LOCK_INIT(SJ_RANK_RELEASE);
static struct sj_atomic_u64 passes, slab_bytes;

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One bounded pass over all. Returns since when the oldest that is left has been free. */
static uint64_t release_all(uint64_t before_ms)
{
    struct sj_aging aging = { .before_ms = before_ms,
                              .budget_bytes = sj_load_relaxed_u64(&sj__release_limits.pass_bytes),
                              .budget_slabs = AGED_SLABS,
                              .oldest_ms = SJ_NEVER_MS };
    sj__adopt_fold_ended(&aging);
    sj__adopt_release_aged(&aging);
    uint64_t oldest_ms = sj__site_release_aged(before_ms, &aging.budget_bytes, &aging.given_bytes);
    oldest_ms = sooner(aging.oldest_ms, oldest_ms);
    (void)sj_fetch_add_relaxed_u64(&slab_bytes, aging.given_bytes);
    oldest_ms = sooner(oldest_ms, sj__large_release_aged(before_ms, &aging.budget_bytes));
    return sooner(oldest_ms, sj__run_release_aged(before_ms, &aging.budget_bytes));
}

/* After a change of the limits, or near the one that the system has set: what holds more than they allow is emptied. */
static void apply_limits(void)
{
    struct sj_run_bytes runs;
    bool pressed = sj__run_is_pressed();
    if (pressed || sj__cache_is_beyond_limits())
        (void)sj__large_drain();
    sj__run_read_bytes(&runs);
    if (pressed || sj_run_held_bytes(&runs) + runs.set_aside > sj_load_relaxed_u64(&sj__release_limits.hold_bytes)) {
        (void)sj__run_purge();
        (void)sj__site_purge();
    }
}

static void run_locked(void)
{
    (void)sj_fetch_add_relaxed_u64(&passes, 1);
    /* First: what is put down from now on lowers it again, or is seen below. Pairs with sj__release_lower_due. */
    if (sj_exchange_acq_rel_u64(&sj__release_due_ms, SJ_NEVER_MS) == SJ_DUE_BY_LIMITS)
        apply_limits();
    uint64_t age_ms = sj_load_relaxed_u64(&sj__release_limits.release_ms);
    uint64_t now_ms = sj__clock_ms();
    if (age_ms != SJ_NEVER_MS) {
        uint64_t oldest_ms = now_ms >= age_ms ? release_all(now_ms - age_ms) : now_ms;
        if (oldest_ms != SJ_NEVER_MS)
            sj__release_lower_due(oldest_ms + age_ms);
    }
    sj__release_lower_due(sj_load_relaxed_u64(&sj__release_alarm_ms));
    if (sj_control_block_is_pending() || sj__adopt_has_news()) /* the bell was ours to unset, but not to answer */
        sj__release_lower_due(SJ_DUE_BY_LIMITS);
}

void sj__pass_run(void)
{
    struct sj_deep deep;
    sj_deep_begin(&deep);
    if (sj__try_lock(&pass_lock)) {
        run_locked();
        sj__unlock(&pass_lock);
    }
    sj_deep_end(&deep);
}

size_t sj__pass_purge(enum sj_purge how)
{
    size_t given_bytes = 0;
    struct sj_aging all = { .before_ms = SJ_NEVER_MS, .budget_bytes = SIZE_MAX, .budget_slabs = SIZE_MAX };
    if (how >= SJ_PURGE)
        given_bytes += sj__adopt_release_idle();
    if (how == SJ_PURGE_ALL)
        sj__adopt_release_aged(&all);
    given_bytes += all.given_bytes + sj__large_drain();
    return given_bytes + sj__site_purge() + sj__run_purge();
}

void sj__pass_read_counts(struct sj_pass_counts *out)
{
    out->passes = sj_load_relaxed_u64(&passes);
    out->slab_bytes = sj_load_relaxed_u64(&slab_bytes);
}

void sj__pass_lock_for_fork(void)
{
    sj__lock(&pass_lock);
}

void sj__pass_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&pass_lock);
    else
        sj__unlock(&pass_lock);
}
