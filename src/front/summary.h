/* SPDX-License-Identifier: MIT
 *
 * What: what the library says of itself: the summary at exit, and struct sj_stats.
 *
 * Why this way: formatted into a buffer on the stack and written with write(2): it allocates nothing and uses no stdio.
 *
 * Invariants: nothing is printed unless asked for (option stats, malloc_stats).
 *
 * Concurrency: as heap/stats.h.
 */
#ifndef SJ_FRONT_SUMMARY_H
#define SJ_FRONT_SUMMARY_H

#include "policy/policy.h"
#include "scrubjay.h"

void sj__summary_fill(struct sj_stats *stats);
void sj__summary_at_exit(void);

/* Before a raise from one policy to another comes into force: what the ledger will need of the time before. */
void sj__summary_note_raise(const struct sj_policy *from, const struct sj_policy *to);

/* The summary on fd 2 because the program asked (malloc_stats): whatever the options say and whatever fd 2 is now. */
void sj__summary_print(void);

#endif
