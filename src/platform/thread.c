/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see thread.h.
 */
#include "platform/thread.h"

#include <errno.h>
#include <pthread.h>

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
