/* SPDX-License-Identifier: MIT
 *
 * What: a call at the end of each thread that asked for one; a stretch without signals.
 *
 * Why this way: a pthread key's destructor. It runs after C++ thread_local destructors, and asked again in each of the
 * rounds POSIX promises, so that the destructors of other keys may still allocate and free. What frees even later
 * (libc's own) finds the thread marked as gone.
 *
 * Invariants: the hook runs at most once for each arming.
 *
 * Concurrency: the hook runs on the ending thread.
 */
#ifndef SJ_PLATFORM_THREAD_H
#define SJ_PLATFORM_THREAD_H

#include "base/compiler.h"

#include <signal.h>

/* glibc's: not 0 while the process has no other thread. Weak: elsewhere it is not known. */
extern char __libc_single_threaded __attribute__((weak));

/* True if there surely is no other thread, nor will be before the caller makes one. */
SJ_ALWAYS_INLINE bool sj_thread_is_alone(void)
{
    return &__libc_single_threaded != NULL && __libc_single_threaded != 0;
}

/* Registers the hook; once a process. False if the system has no key left: then no hook ever runs. */
bool sj__thread_on_exit(void (*hook)(void *));

/* Keeps signals from the calling thread until they are let in again, also in the child of a fork in between. *before is the
 * caller's, since pairs nest: making a thread allocates. What the hardware and filters on system calls raise still comes. */
void sj__thread_block_signals(sigset_t *before);
void sj__thread_let_signals_in(const sigset_t *before);

/* Makes a detached thread with signals blocked likewise that runs `run`. May allocate: not to be called from within the
 * allocator. False if there can be none. */
bool sj__thread_spawn(void *(*run)(void *));

/* Sleeps, by no other system call than the locks use. False if that is refused. */
bool sj__thread_sleep(uint32_t ms);

/* Asks for a call hook(argument) when this thread ends; `argument` is not NULL. */
void sj__thread_arm_exit(void *argument);

#endif
