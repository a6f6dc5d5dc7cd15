/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see fork.h.
 */
#include "front/fork.h"

#include "front/live.h"
#include "front/slow.h"
#include "front/tick.h"
#include "heap/account.h"
#include "heap/adopt.h"
#include "heap/named.h"
#include "heap/pass.h"
#include "heap/profile.h"
#include "meta/arena.h"
#include "platform/process.h"
#include "platform/tags.h"
#include "platform/thread.h"
#include "report/report.h"
#include "span/large.h"
#include "span/run.h"
#include "span/sampled.h"
#include "span/site.h"

#include <pthread.h>

/* Whether this thread's prepare took the locks. A thread's own: another one may be forking from a signal handler. */
static _Thread_local bool locks_taken;
static sigset_t signals_before; /* if so: that of the thread that holds the locks */

static void prepare(void)
{
    if (sj__report_begun() || sj__slow_is_inside())
        return;
    sigset_t signals;
    sj__thread_block_signals(&signals);
    sj__live_lock_for_fork();
    sj__pass_lock_for_fork();
    sj__named_lock_for_fork();
    sj__adopt_lock_for_fork();
    sj__account_lock_for_fork();
    sj__site_lock_for_fork();
    sj__large_lock_for_fork();
    sj__sampled_lock_for_fork();
    sj__run_lock_for_fork();
    sj__profile_lock_for_fork();
    sj__arena_lock_for_fork();
    signals_before = signals;
    locks_taken = true;
}

static void release(bool in_child)
{
    if (!locks_taken)
        return;
    locks_taken = false;
    const sigset_t signals = signals_before;
    sj__arena_unlock_after_fork(in_child);
    sj__profile_unlock_after_fork(in_child);
    sj__run_unlock_after_fork(in_child);
    sj__sampled_unlock_after_fork(in_child);
    sj__large_unlock_after_fork(in_child);
    sj__site_unlock_after_fork(in_child);
    sj__account_unlock_after_fork(in_child);
    sj__adopt_unlock_after_fork(in_child);
    sj__named_unlock_after_fork(in_child);
    sj__pass_unlock_after_fork(in_child);
    sj__live_unlock_after_fork(in_child);
    sj__thread_let_signals_in(&signals);
}

static void in_parent(void)
{
    release(false);
}

static void in_child(void)
{
    uint64_t tags = sj_tags_ignore();
    sj__process_forked();
    sj__tick_forked();
    release(true);
    sj_tags_heed(tags);
}

void sj__fork_start(void)
{
    (void)pthread_atfork(prepare, in_parent, in_child);
}
