/* SPDX-License-Identifier: MIT
 *
 * What: what the library says of itself: struct sj_stats, and all of it as named numbers.
 *
 * Why this way: one list of what there is to say (summary_lines.c), whatever form it is said in. It allocates nothing.
 *
 * Invariants: what stands in the statistics adds up: the ledger, and the bill.
 *
 * Concurrency: as heap/stats.h.
 */
#ifndef SJ_FRONT_SUMMARY_H
#define SJ_FRONT_SUMMARY_H

#include "front/writer.h"
#include "policy/policy.h"
#include "scrubjay.h"

void sj__summary_fill(struct sj_stats *stats);

/* Before a raise from one policy to another comes into force: what the ledger will need of the time before. */
void sj__summary_note_raise(const struct sj_policy *from, const struct sj_policy *to);

/* Writes all there is to say, whole. With what of it is resident, which takes the kernel milliseconds to find out. */
void sj__summary_write(struct sj_writer *writer, bool with_resident);

#endif
