/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see tick.h.
 */
#include "front/tick.h"

#include "front/live.h"
#include "heap/adopt.h"
#include "platform/thread.h"
#include "report/report.h"

enum { SLEEP_MIN_MS = 10, SLEEP_MAX_MS = 1000 };

static struct sj_atomic_u32 wanted, running;

/* Until the next pass is due; but no longer than half of release_ms, since memory may be freed meanwhile. */
static uint32_t sleep_ms(void)
{
    uint64_t due_ms = sj_load_relaxed_u64(&sj__release_due_ms);
    uint64_t ms = sj_load_relaxed_u64(&sj__release_limits.release_ms) / 2;
    if (due_ms != SJ_NEVER_MS) {
        uint64_t now_ms = sj__clock_ms();
        uint64_t left_ms = due_ms > now_ms ? due_ms - now_ms : 0;
        ms = left_ms < ms ? left_ms : ms;
    }
    return ms < SLEEP_MIN_MS ? SLEEP_MIN_MS : ms > SLEEP_MAX_MS ? SLEEP_MAX_MS : (uint32_t)ms;
}

static void *run(void *argument)
{
    bool told; /* by the load that ended it: it may be wanted again by now */
    do {
        while (!(told = sj_load_relaxed_u32(&wanted) == 0) && sj__adopt_threads() != 0 && sj__thread_sleep(sleep_ms()))
            sj_live_if_due();
        (void)sj_exchange_acq_rel_u32(&running, 0); /* pairs with sj__tick_start */
        /* It may have been wanted again before it was known to have ended. */
    } while (told && sj_load_relaxed_u32(&wanted) != 0 && sj_exchange_acq_rel_u32(&running, 1) == 0);
    return argument;
}

bool sj__tick_start(void)
{
    sj_store_relaxed_u32(&wanted, 1);
    if (sj_exchange_acq_rel_u32(&running, 1) != 0 || sj__thread_spawn(run))
        return true;
    (void)sj_exchange_acq_rel_u32(&running, 0);
    sj__report_warn("tick not used: no thread could be made; ages are looked at on slow paths only", NULL);
    return false;
}

void sj__tick_stop(void)
{
    sj_store_relaxed_u32(&wanted, 0);
}

bool sj__tick_is_on(void)
{
    return sj_load_relaxed_u32(&wanted) != 0 && sj_load_relaxed_u32(&running) != 0;
}

void sj__tick_forked(void)
{
    sj_store_relaxed_u32(&wanted, 0);
    sj_store_relaxed_u32(&running, 0);
}
