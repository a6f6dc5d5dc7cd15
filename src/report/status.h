/* SPDX-License-Identifier: MIT
 *
 * What: fills the status block, and prints the banner from it.
 *
 * Why this way: the banner and the block say the same because one is made from the other.
 *
 * Invariants: the block is in initialised, writable data, where a reader looks for it.
 *
 * Concurrency: sj__status_publish is called once, at start.
 */
#ifndef SJ_REPORT_STATUS_H
#define SJ_REPORT_STATUS_H

#include "policy/status.h"

/* Says what became of the start. `release` is the version, "0.1.0". */
void sj__status_publish(enum sj_status_state state, const char *release, const struct sj_settings *settings);

/* One line on fd 2: `scrubjay: on version=0.1.0 build=1a2b... process=12 options=level=2,...`. */
void sj__status_banner(void);

#endif
