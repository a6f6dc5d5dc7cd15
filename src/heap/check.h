/* SPDX-License-Identifier: MIT
 *
 * What: the heap check: is what the map and the records say of each other true, and what is free still as it was left?
 *
 * Why this way: a granule of the window after another, so that a check can stop anywhere and go on later, and holds a heap's
 * lock for one granule's slots only. What can't be judged while other threads run, and what a signal handler that allocates
 * may leave behind (see span/slab.h), is not judged: a check has no false alarms. ARCHITECTURE.md lists what it proves.
 *
 * Invariants: changes nothing. A fault ends the process with a report.
 *
 * Concurrency: any thread outside the allocator, signals blocked, no lock held. It locks the heap whose slab it looks at; one that
 * stays locked (its thread may be stopped) is passed over.
 */
#ifndef SJ_HEAP_CHECK_H
#define SJ_HEAP_CHECK_H

#include "policy/policy.h"

struct sj_check {
    const struct sj_settings *settings; /* in force */
    unsigned patience_ms;               /* how long it may wait for locks of heaps, in all */
};

/* Checks the granules [first, end) of the window, as far as it reaches. */
void sj__check_granules(struct sj_check *check, size_t first, size_t end);

#endif
