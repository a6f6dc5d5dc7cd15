/* SPDX-License-Identifier: MIT
 *
 * What: the memory bill as the program and the statistics get it: with what of it is resident.
 *
 * Why this way: see heap/bill.h. What is resident only the kernel knows, and it looks at every page to say so: whoever does not
 * need it is spared.
 *
 * Invariants, concurrency: see heap/bill.h.
 */
#ifndef SJ_FRONT_BILL_H
#define SJ_FRONT_BILL_H

#include "heap/bill.h"

void sj__bill_fill(struct sj_bill *bill, struct sj_bill_row *rows, unsigned count, bool with_resident);

/* The same for the program, whose thread may be anywhere, with the part of an arena or NULL. False, with errno: as sj_bill_read. */
bool sj__bill_ask(struct sj_bill *bill, struct sj_bill_row *row, bool with_resident);

#endif
