/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see thread.h.
 */
#include "platform/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static pthread_key_t exit_key;
static bool exit_key_exists;
static _Thread_local sigset_t signals_before;

bool sj__thread_on_exit(void (*hook)(void *))
{
    exit_key_exists = pthread_key_create(&exit_key, hook) == 0;
    return exit_key_exists;
}

void sj__thread_arm_exit(void *argument)
{
    int saved_errno = errno;
    if (exit_key_exists)
        (void)pthread_setspecific(exit_key, argument);
    errno = saved_errno;
}

void sj__thread_block_signals(void)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &signals_before);
}

void sj__thread_let_signals_in(void)
{
    (void)pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
}
