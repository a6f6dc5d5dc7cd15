/* SPDX-License-Identifier: MIT
 *
 * What: the pages of free runs: how many may be held, and their way back to the system. For run.c; what others call of it
 * stands in run.h.
 *
 * Why this way: run.c decides which addresses are handed out, this what they cost while nobody has them.
 *
 * Invariants: what the system takes is paid by it, and booked so; what it refuses stays as it was.
 *
 * Concurrency: under the lock of the runs, but for sj__run_pages_empty.
 */
#ifndef SJ_SPAN_RUN_PAGES_H
#define SJ_SPAN_RUN_PAGES_H

#include "span/free_runs.h"

enum { SJ_RUN_HELD_MIN_BYTES = 32 << 20 /* of free pages may always be held */ };

/* Gives a stretch's pages back (it becomes EMPTY), or unmaps it (UNMAPPED); asked for the first it may do the second, where
 * addresses are given back too. Says what it has become. False: the kernel refused. */
bool sj__run_pages_empty(size_t first_granule, size_t granules, enum sj_run_content *becomes);

/* True if addresses are given back too, and so many granules are worth a hole in the window. */
bool sj__run_pages_unmaps(size_t granules);

/* Books a payment of what was owed. */
void sj__run_pages_note_paid(size_t owed_bytes, uint64_t *paid);

/* Empties all free runs that hold pages. Returns the bytes of them. */
size_t sj__run_pages_purge(void);

/* Unmaps all free runs: their address space, and what of it is locked in memory, can be had again elsewhere. */
size_t sj__run_pages_unmap(void);

/* True if as many granules can be handed out under the limit. Pages held are given back first if that or the system's
 * allowance demands it. */
bool sj__run_pages_allow(size_t granules);

/* True if so much more may be held in free runs, or set aside. */
bool sj__run_pages_may_hold(size_t more_bytes);

#endif
