/* SPDX-License-Identifier: MIT
 *
 * What: fills the status block, and prints the banner from it.
 *
 * Why this way: the banner and the block say the same because one is made from the other.
 *
 * Invariants: the block is in initialised, writable data, where a reader looks for it.
 *
 * Concurrency: sj__status_publish is called once, at start; sj__status_amend after it, by one thread.
 */
#ifndef SJ_REPORT_STATUS_H
#define SJ_REPORT_STATUS_H

#include "policy/status.h"

/* Says what became of the start. `release` is the version, "0.1.0". */
void sj__status_publish(enum sj_status_state state, const char *release, const struct sj_settings *settings);

/* Corrects the state alone, when more is known than at the start: SJ_STATE_SHADOWED, from a constructor that has asked
 * the process's malloc for a block and got one that is not ours. */
void sj__status_amend(enum sj_status_state state);

/* The options in force have changed. */
void sj__status_amend_options(const struct sj_settings *settings);

/* One line on fd 2: `scrubjay: on version=0.1.0 build=1a2b... process=12 options=level=2,...`. */
void sj__status_banner(void);

/* The block; its address never changes. */
const struct sj_status *sj__status_read(void);

#endif
