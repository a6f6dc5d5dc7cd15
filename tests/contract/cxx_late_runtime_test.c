/* SPDX-License-Identifier: MIT
 *
 * What: operator new in a C program: without a C++ runtime, and with one that was loaded later into a scope of its own, as
 * a plug-in brings it along.
 *
 * Why this way: what is thrown can't be caught in C, so children are judged by what they print as they end: the runtime
 * names the exception that nobody caught.
 *
 * Invariants: the program itself links no C++ runtime.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

struct nothrow;

/* The names for a size_t of `unsigned long`; elsewhere they lack and the test is skipped. */
extern void *_Znwm(size_t bytes) __attribute__((weak));
extern void *_ZnamRKSt9nothrow_t(size_t bytes, const struct nothrow *tag) __attribute__((weak));
extern void _ZdlPvm(void *block, size_t bytes) __attribute__((weak));

static const size_t huge_bytes = SIZE_MAX / 2 - 4096;
enum { HANDLER_EXIT = 42 };

static char output[4096]; /* what the last child wrote on fd 2 */

static int run_child(void (*body)(void))
{
    int ends[2];
    int status = -1;
    size_t length = 0;

    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        execl("/proc/self/exe", "child", body == NULL ? "none" : "", (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    ssize_t got;
    while ((got = read(ends[0], output + length, sizeof output - 1 - length)) > 0)
        length += (size_t)got;
    output[length] = '\0';
    (void)close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}
