/* SPDX-License-Identifier: MIT
 *
 * What: starts a program and stops it where its own code would begin: libraries are loaded and their constructors have
 * run, main has not.
 *
 * Why this way: at that point it is settled whether the library is on, and nothing the program does has happened yet: a
 * daemon does not start, a tool does not delete. It is reached with a breakpoint at the program's entry (AT_ENTRY).
 * Refused: running the program to its end, because that has effects and may never come; a banner on its stderr, because
 * a program may close that, and a library that is not on prints none.
 *
 * Invariants: the program never goes past its entry: it is killed there, and with this process.
 *
 * Concurrency: one thread; uses SIGALRM.
 */
#ifndef SJ_TOOLS_TRACE_H
#define SJ_TOOLS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Starts argv[0] (found as execvp does) with this process's environment. Returns its process id, stopped at its entry;
 * or -1 with a line about why in `reason`. */
pid_t sj__trace_start(char *const *argv, char *reason, size_t bytes);

/* Kills what sj__trace_start has returned. */
void sj__trace_end(pid_t process);

#endif
