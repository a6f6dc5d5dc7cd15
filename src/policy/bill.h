/* SPDX-License-Identifier: MIT
 *
 * What: the names of the lines of the memory bill and of the reserve, see bill.def.
 *
 * Why this way: pure, so that the library and the command have one table.
 *
 * Invariants: indices are those of the enums in scrubjay.h; heap/bill.c checks it.
 *
 * Concurrency: constants.
 */
#ifndef SJ_POLICY_BILL_H
#define SJ_POLICY_BILL_H

extern const char *const sj__bill_names[];
extern const char *const sj__reserve_names[];

#endif
