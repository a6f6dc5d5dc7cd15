/* SPDX-License-Identifier: MIT
 *
 * What: trap=auto: whether one more freed large block may be made inaccessible, or too much time has gone into that already.
 *
 * Why this way: what mprotect takes differs a hundredfold between machines and with the size of a block, so the calls are
 * timed, and one part in 64 of the process's time may go there. The first traps of a process are made whatever they take:
 * most programs free fewer large blocks than that. See doc/adr/0144.
 *
 * Invariants: the credit is SJ_TOLL_CREDIT_NS at most, and the debt SJ_TOLL_DEBT_NS, however long a call was held up.
 *
 * Concurrency: any thread; the balance is one atomic word, and what two threads do to it at once adds up.
 */
#ifndef SJ_SPAN_TOLL_H
#define SJ_SPAN_TOLL_H

#include "base/compiler.h"

enum { SJ_TOLL_FREE = 256, SJ_TOLL_SHARE = 64, SJ_TOLL_CREDIT_NS = 4000000, SJ_TOLL_DEBT_NS = 1000000 };

/* May a block be trapped now? Counts it as one if so. */
bool sj__toll_admits(void);

/* Charges what a call has taken. */
void sj__toll_charge(uint64_t took_ns);

#endif
