/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see thread.h.
 */
#include "platform/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 17, FUTEX_WAIT_PRIVATE_NUMBER = 128 };

static pthread_key_t exit_key;
static bool exit_key_exists;

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

void sj__thread_block_signals(sigset_t *before)
{
    /* Blocked they would kill. */
    static const int raised_at_once[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
    sigset_t blocked;
    (void)sigfillset(&blocked);
    for (size_t i = 0; i < sizeof raised_at_once / sizeof raised_at_once[0]; i++)
        (void)sigdelset(&blocked, raised_at_once[i]);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, before);
}

void sj__thread_let_signals_in(const sigset_t *before)
{
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool sj__thread_spawn(void *(*run)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t signals;
    int saved_errno = errno;
    bool has_attributes = pthread_attr_init(&attributes) == 0;
    if (has_attributes) {
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    }
    sj__thread_block_signals(&signals); /* it inherits that */
    bool made = has_attributes && pthread_create(&thread, &attributes, run, NULL) == 0;
    if (!made &&
        pthread_create(&thread, NULL, run, NULL) == 0) /* too small a stack for the program's thread-local data */
        made = pthread_detach(thread) == 0;
    sj__thread_let_signals_in(&signals);
    if (has_attributes)
        (void)pthread_attr_destroy(&attributes);
    errno = saved_errno;
    return made;
}

bool sj__thread_sleep(uint32_t ms)
{
    uint32_t never_changed = 0;
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
    int saved_errno = errno;
    long answer = syscall(SYS_futex, &never_changed, FUTEX_WAIT_PRIVATE_NUMBER, 0, &time, NULL, 0);
    bool slept = answer == 0 || errno == ETIMEDOUT || errno == EINTR;
    errno = saved_errno;
    return slept;
}
