/* SPDX-License-Identifier: MIT
 *
 * What: a running process answers other processes, through the control block, and raises its own level.
 *
 * Why this way: a raise puts new settings beside the old ones in the sealed page and swaps a pointer, so a call that is
 * under way keeps the policy it began with. What the fast paths assume of slots already taken (with scrub on: that they
 * are clean) does not hold for those that a thread took before. So the table first leads to a variant that has each
 * thread put its taken slots back at its next allocation; when all have, it leads to the new level's own, and costs
 * nothing more. What was freed before is dirty in the planes, and paid when it is next taken; nothing that was there
 * before is ever judged by a rule it was not made under: slabs are stamped with the level they were opened at.
 *
 * Invariants: a level is only ever raised; no option becomes weaker. The sealed page is writable only while a raise
 * writes it, or if the kernel refuses to seal it. Old settings are never changed.
 *
 * Concurrency: requests are served, and levels raised, by one thread at a time, outside the allocator, under a lock of
 * rank LIVE that fork takes first; signals wait meanwhile. Slow paths of other threads do not wait for it.
 */
#ifndef SJ_FRONT_LIVE_H
#define SJ_FRONT_LIVE_H

#include "heap/pass.h"

/* Answers a request, if there is one, and ends a raise that all threads have come by for. False: another thread is at it. For a
 * thread outside the allocator. */
bool sj__live_serve(void);

/* What every slow path of the front ends with, or begins with: the pass, and a request if somebody has rung. */
SJ_ALWAYS_INLINE void sj_live_if_due(void)
{
    /* The pass comes after: it leaves the bell ringing if there is something to serve again. */
    if (sj_unlikely(sj_release_is_due()) && sj__heap_inside == SJ_OUTSIDE && sj__live_serve())
        sj__pass_run();
}

/* Makes the sealed page read-only. If that is refused it warns, and notes it in the control block. */
void sj__live_seal(void);

/* Raises the level in force. Returns 0 or an errno: EPERM (it would be lowered, or live=off), EINVAL (no such level),
 * ENOTSUP (a build of one level), ENOMEM (the kernel refused to open the page). For a thread outside the allocator. */
int sj__live_raise(unsigned level);

void sj__live_lock_for_fork(void);
void sj__live_unlock_after_fork(bool in_child);

#endif
