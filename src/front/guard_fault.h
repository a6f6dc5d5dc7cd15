/* SPDX-License-Identifier: MIT
 *
 * What: reports an access to memory of ours that is inaccessible: of a sampled block, a guard page, a zero-sized block, or
 * freed memory that was given back.
 *
 * Why this way: the fault is the check; this says what it means. What it can't tell it leaves alone: a program may protect
 * pages of its own blocks and wait for the fault.
 *
 * Invariants: returns only if the fault has nothing to do with us.
 *
 * Concurrency: in a signal handler, at any moment: reads the map and the records without a lock.
 */
#ifndef SJ_FRONT_GUARD_FAULT_H
#define SJ_FRONT_GUARD_FAULT_H

/* From now on, if the policy has anything that faults. Called from the library's constructor, and when the level was raised. */
void sj__guard_fault_start(void);

#endif
