/* SPDX-License-Identifier: MIT
 *
 * What: writes the records of policy/record.h.
 *
 * Why this way: see policy/record.h.
 *
 * Invariants: nothing is written unless SCRUBJAY_RECORD was set at the start of a program that is not set-user-id.
 * A file that cannot be opened is passed over in silence: whoever asked for the record misses it.
 *
 * Concurrency: at start and at exit, by one thread.
 */
#ifndef SJ_FRONT_RECORD_H
#define SJ_FRONT_RECORD_H

void sj__record_start(void);
void sj__record_at_exit(void);

#endif
