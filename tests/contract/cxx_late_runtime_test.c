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

/* operator new, nothrow new[] and sized delete, as they are spelt where size_t is unsigned long. */
extern void *_Znwm(size_t bytes);
extern void *_ZnamRKSt9nothrow_t(size_t bytes, const struct nothrow *tag);
extern void _ZdlPvm(void *block, size_t bytes);

static const size_t huge_bytes = SIZE_MAX / 2 - 4096;
enum { HANDLER_EXIT = 42 };

static char output[4096]; /* what the last child wrote on fd 2 */

/* Starts this program again with the argument `mode` and its fd 2 read into `output`: nothing is reported into a file
 * that was not fd 2 at start, so a mere fork would not do. Returns the wait status. */
static int run_child(const char *mode)
{
    int ends[2];
    int status = -1;
    size_t length = 0;
    ssize_t got;

    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        execl("/proc/self/exe", "cxx_late_runtime_test", mode, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    while ((got = read(ends[0], output + length, sizeof output - 1 - length)) > 0)
        length += (size_t)got;
    output[length] = '\0';
    (void)close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static bool aborted(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/* In a scope of its own: neither weak references nor RTLD_DEFAULT see it. */
static void *load_runtime(void)
{
    return dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
}

static void set_handler(void *runtime, void (*handler)(void))
{
    uintptr_t set = (uintptr_t)dlsym(runtime, "_ZSt15set_new_handlerPFvvE");

    if (CHECK(set != 0))
        (void)((void (*(*)(void (*)(void)))(void))set)(handler);
}

static void ask_for_too_much(void)
{
    (void)_Znwm(huge_bytes);
}

static void ask_for_too_much_with_runtime(void)
{
    if (CHECK(load_runtime() != NULL))
        (void)_Znwm(huge_bytes);
}

static void leave(void)
{
    _exit(HANDLER_EXIT);
}

static void ask_for_too_much_with_handler(void)
{
    void *runtime = load_runtime();

    if (CHECK(runtime != NULL)) {
        set_handler(runtime, leave);
        (void)_Znwm(huge_bytes);
    }
}

static unsigned handler_calls;
static void *loaded_runtime;

static void count_and_give_up(void)
{
    if (++handler_calls == 3)
        set_handler(loaded_runtime, NULL);
}

static void ask_quietly_with_handler(void)
{
    loaded_runtime = load_runtime();
    if (CHECK(loaded_runtime != NULL)) {
        set_handler(loaded_runtime, count_and_give_up);
        CHECK(_ZnamRKSt9nothrow_t(huge_bytes, NULL) == NULL);
        CHECK_EQ(handler_calls, 3);
    }
}

static const struct {
    const char *mode;
    void (*body)(void);
} children[] = {
    { "--too-much", ask_for_too_much },
    { "--too-much-with-runtime", ask_for_too_much_with_runtime },
    { "--too-much-with-handler", ask_for_too_much_with_handler },
    { "--quietly-with-handler", ask_quietly_with_handler },
};

static void be_child_if_asked(const char *mode)
{
    for (size_t i = 0; mode != NULL && i < sizeof children / sizeof children[0]; i++) {
        if (strcmp(mode, children[i].mode) == 0) {
            children[i].body();
            _exit((int)unit_failed());
        }
    }
}

static void front_operators__work_without_a_runtime(void)
{
    for (size_t bytes = 1; bytes < 100000; bytes *= 3) {
        char *block = _Znwm(bytes);

        REQUIRE(block != NULL);
        block[bytes - 1] = 1;
        _ZdlPvm(block, bytes);
    }
    CHECK(_ZnamRKSt9nothrow_t(huge_bytes, NULL) == NULL);
}

static void front_operators__report_when_there_is_no_runtime_to_throw(void)
{
    CHECK(aborted(run_child("--too-much")));
    CHECK(strncmp(output, "scrubjay: SJ-010 ", 17) == 0);
}

static void front_operators__throw_by_a_runtime_that_came_later(void)
{
    CHECK(aborted(run_child("--too-much-with-runtime")));
    CHECK(strstr(output, "SJ-") == NULL);
    CHECK(strstr(output, "std::bad_alloc") != NULL);
}

static void front_operators__call_the_handler_of_a_runtime_that_came_later(void)
{
    int status = run_child("--too-much-with-handler");

    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == HANDLER_EXIT);
    CHECK_EQ(run_child("--quietly-with-handler"), 0);
}

int main(int argc, char **argv)
{
    be_child_if_asked(argc > 1 ? argv[1] : NULL);
    unit_begin(argc, argv);
    if (dlsym(RTLD_DEFAULT, "_ZSt9terminatev") != NULL) {
        unit_print("# a C++ runtime is loaded from the start\n");
        return 77;
    }
    RUN(front_operators__work_without_a_runtime);
    RUN(front_operators__report_when_there_is_no_runtime_to_throw);
    RUN(front_operators__throw_by_a_runtime_that_came_later);
    RUN(front_operators__call_the_handler_of_a_runtime_that_came_later);
    return unit_end();
}
