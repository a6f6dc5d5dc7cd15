/* SPDX-License-Identifier: MIT
 *
 * What: looks at memory faults of the process before anybody else does.
 *
 * Why this way: a handler of SIGSEGV that asks whether the fault is ours, and else has it take the way it would have taken
 * without us: to the handler that was there before, or to the kernel's default, with registers and core file as the fault left
 * them. What was sent by kill(2) is passed on as sent. A handler that the program sets later takes our place. SIGBUS is
 * left alone: inaccessible pages of ours do not raise it.
 *
 * Invariants: with no handler before us, a fault that is not ours ends the process as it would have.
 *
 * Concurrency: installed once. The handler is async-signal-safe as far as what it asks is, and runs on the alternate stack
 * if the thread has one.
 */
#ifndef SJ_PLATFORM_FAULT_H
#define SJ_PLATFORM_FAULT_H

#include "base/compiler.h"

struct sj_fault {
    const void *address; /* that was accessed; with the pointer's tag if tags are on and the kernel tells it */
    const void *code;    /* the instruction, or NULL if this machine's registers are not known here */
    int reason;          /* si_code */
    const char *access;  /* "read", "write", or "access" if it is not known which */
};

/* Has `look` called at each fault from now on; it returns if the fault is not its. False: the system refused. Only the first
 * call does anything. */
bool sj__fault_watch(void (*look)(const struct sj_fault *fault));

#endif
