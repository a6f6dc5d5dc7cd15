/* SPDX-License-Identifier: MIT
 *
 * What: __libc_start_main, with a step of ours right before main.
 *
 * Why this way: it is where the loader hands over to the program's constructors and main, so wrapping main there is the one
 * moment that is after all constructors and before main. Without tick=on it passes its arguments on and that is all.
 *
 * Invariants: libc's own is called with what we were called with, but for main. In the shared library with glibc only.
 *
 * Concurrency: one thread.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "front/entry.h"
#include "front/tick.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

int __libc_start_main(main_function *program, int count, char **arguments, void (*initialise)(void),
                      void (*finish)(void), void (*finish_loader)(void), void *stack_end);

static main_function *program_main;

static int main_with_tick(int count, char **arguments, char **environment)
{
    (void)sj__tick_start();
    return program_main(count, arguments, environment);
}

void sj__tick_can_start(void)
{
}

SJ_EXPORT int __libc_start_main(main_function *program, int count, char **arguments, void (*initialise)(void),
                                void (*finish)(void), void (*finish_loader)(void), void *stack_end)
{
    start_function *next = (start_function *)(uintptr_t)dlsym(RTLD_NEXT, "__libc_start_main");
    if (next == NULL)
        abort();
    if (sj__start() && !sj__sealed.settings.disable && sj__sealed.settings.tick) {
        program_main = program;
        program = main_with_tick;
    }
    return next(program, count, arguments, initialise, finish, finish_loader, stack_end);
}
