/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see bill.h.
 */
#include "policy/bill.h"

const char *const sj__bill_names[] = {
#define SJ_BILL_LINE(NAME, name, meaning) #name,
#define SJ_RESERVE_LINE(NAME, name, meaning)
#include "policy/bill.def"
#undef SJ_BILL_LINE
#undef SJ_RESERVE_LINE
};

const char *const sj__reserve_names[] = {
#define SJ_BILL_LINE(NAME, name, meaning)
#define SJ_RESERVE_LINE(NAME, name, meaning) #name,
#include "policy/bill.def"
#undef SJ_BILL_LINE
#undef SJ_RESERVE_LINE
};
