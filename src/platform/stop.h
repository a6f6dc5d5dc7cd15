/* SPDX-License-Identifier: MIT
 *
 * What: the ways a process or a thread comes to its end after a report.
 *
 * Why this way: abort() gives the program its SIGABRT handler and the system its core. When that has already been
 * tried and a second report comes out of the handler, only the default action is left.
 *
 * Invariants: none of them returns, allocates or takes a lock of ours.
 *
 * Concurrency: any thread, any signal handler.
 */
#ifndef SJ_PLATFORM_STOP_H
#define SJ_PLATFORM_STOP_H

#include "base/compiler.h"

/* abort(): SIGABRT, with the program's handler if it has one. */
_Noreturn void sj__stop_process(void);

/* SIGABRT with its default action, whatever handler or mask the program has set. */
_Noreturn void sj__stop_process_now(void);

/* This thread waits until another one has ended the process. */
_Noreturn void sj__stop_thread(void);

#endif
