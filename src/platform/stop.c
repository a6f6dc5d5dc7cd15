/* SPDX-License-Identifier: MIT
 *
 * What: the ways a process or a thread comes to its end after a report; see stop.h.
 *
 * Why this way: waiting is ppoll on nothing, by number, because pause() is a cancellation point and absent on some
 * machines.
 *
 * Invariants: see stop.h.
 *
 * Concurrency: see stop.h.
 */
#include "platform/stop.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STATUS_ABORTED = 134 }; /* 128 + SIGABRT, as a shell shows it */

_Noreturn void sj__stop_process(void)
{
    abort();
}

_Noreturn void sj__stop_process_now(void)
{
    const struct sigaction by_default = { .sa_handler = SIG_DFL };
    sigset_t abort_only;
    sigaction(SIGABRT, &by_default, NULL);
    sigemptyset(&abort_only);
    sigaddset(&abort_only, SIGABRT);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGABRT);
    sigprocmask(SIG_UNBLOCK, &abort_only, NULL);
    _exit(STATUS_ABORTED);
}

_Noreturn void sj__stop_thread(void)
{
    for (;;)
        syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}
