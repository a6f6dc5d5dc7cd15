/* SPDX-License-Identifier: MIT
 *
 * What: the control block of this process; see policy/control_block.h.
 *
 * Why this way: it is here, low, so that the pass of the release clock, which the doorbell belongs to, can see that a
 * request is still unanswered and leave the bell ringing for a slow path that serves. It has a page of its own: another
 * process writes into it.
 *
 * Invariants, concurrency: see policy/control_block.h.
 */
#ifndef SJ_REPORT_CONTROL_BLOCK_H
#define SJ_REPORT_CONTROL_BLOCK_H

#include "policy/control_block.h"

enum { SJ_CONTROL_PAGE_BYTES = 4096 };

union sj_control_page {
    struct sj_control control;
    char page[SJ_CONTROL_PAGE_BYTES];
};
extern SJ_HIDDEN union sj_control_page sj__control_page;

/* Publishes the block: `doorbell` is the word that rings, `profile` the address of the heap profile, or 0, and `layout` that of the
 * table for debuggers. Once, at start. */
void sj__control_block_start(void *doorbell, unsigned level, uint64_t profile, const void *layout);

/* True if another process has asked for something that has not been answered. */
SJ_ALWAYS_INLINE bool sj_control_block_is_pending(void)
{
    const struct sj_control *control = &sj__control_page.control;
    /* Acquire: what was written before the sequence, by another process. */
    return sj_load_acquire_u64(&control->request.sequence) != sj_load_relaxed_u64(&control->answer.sequence);
}

#endif
