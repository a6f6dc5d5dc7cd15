/* SPDX-License-Identifier: MIT */
/*
 * What: the whole test harness: CHECK, REQUIRE, SKIP, RUN, a seed that is printed, and TAP output.
 *
 * Why this way: a test is a plain function named room_file__behaviour_when_condition and main() lists them with
 * RUN, so that nothing depends on constructors or linker sections, and a test of the allocator itself can run under
 * the allocator. For the same reason the harness never allocates and never uses stdio streams (dprintf of older
 * glibc allocates a buffer): it formats on the stack and calls write(2).
 *
 * Invariants: every RUN prints exactly one "ok" or "not ok" line; unit_end() prints the plan, ends with the line
 * "N passed, N failed", and returns 0 only if no check failed. A failing CHECK prints file, line and expression, and the
 * test goes on; a failing REQUIRE leaves the function.
 *
 * Concurrency: CHECK may be used from any thread (the counters are atomic). RUN, SKIP and unit_end belong to the
 * thread of main(). In a forked child use CHECK, then _exit(unit_failed()).
 *
 * Environment: SJ_TEST_SEED=N sets the seed, SJ_TEST_SECONDS=N a time budget for tests that take one,
 * SJ_TEST_VERBOSE=1 prints notes. The first argument, if given, is a substring of the names to run.
 */
#ifndef SJ_TESTS_UNIT_H
#define SJ_TESTS_UNIT_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct unit_state {
    const char *filter;      /* substring of the names to run, or NULL */
    const char *skip_reason; /* set by SKIP in the running test */
    uint64_t seed;           /* printed at the start; each test may derive its own generator from it */
    unsigned failed_checks;  /* atomic: in the running test */
    unsigned tests_run;
    unsigned tests_failed;
    unsigned tests_skipped;
};

/* Weak, so that a test executable of several files shares one state without a separate object. */
__attribute__((weak)) struct unit_state unit_state;

__attribute__((format(printf, 1, 2), unused)) static void unit_print(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    size_t left = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
    const char *at = line;
    while (left > 0) {
        ssize_t written = write(STDOUT_FILENO, at, left);
        if (written <= 0)
            return;
        at += written;
        left -= (size_t)written;
    }
}

__attribute__((unused)) static bool unit_check(bool holds, const char *file, int line, const char *text)
{
    if (!holds) {
        unsigned before = __atomic_fetch_add(&unit_state.failed_checks, 1, __ATOMIC_RELAXED);
        if (before < 20)
            unit_print("# %s:%d: check failed: %s\n", file, line, text);
    }
    return holds;
}

__attribute__((unused)) static bool unit_check_equal(uint64_t got, uint64_t want, const char *file, int line,
                                                     const char *text)
{
    if (got != want) {
        unsigned before = __atomic_fetch_add(&unit_state.failed_checks, 1, __ATOMIC_RELAXED);
        if (before < 20)
            unit_print("# %s:%d: check failed: %s: got %llu (0x%llx), want %llu (0x%llx)\n", file, line, text,
                       (unsigned long long)got, (unsigned long long)got, (unsigned long long)want,
                       (unsigned long long)want);
    }
    return got == want;
}

__attribute__((unused)) static unsigned unit_failed(void)
{
    return __atomic_load_n(&unit_state.failed_checks, __ATOMIC_RELAXED) != 0;
}

#define CHECK(condition)    unit_check((condition), __FILE__, __LINE__, #condition)
#define CHECK_EQ(got, want) unit_check_equal((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got " == " #want)
#define REQUIRE(condition)     \
    do {                       \
        if (!CHECK(condition)) \
            return;            \
    } while (0)
#define NOTE(...)                                \
    do {                                         \
        if (getenv("SJ_TEST_VERBOSE") != NULL) { \
            unit_print("# " __VA_ARGS__);        \
            unit_print("\n");                    \
        }                                        \
    } while (0)
#define SKIP(reason)                       \
    do {                                   \
        unit_state.skip_reason = (reason); \
        return;                            \
    } while (0)
#define RUN(test) unit_run(#test, test)

/* splitmix64: a small generator for tests; the state is the caller's. */
__attribute__((unused)) static uint64_t unit_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* A number in [0, bound); the bias of the remainder does not matter to a test. */
__attribute__((unused)) static uint64_t unit_random_below(uint64_t *state, uint64_t bound)
{
    return bound == 0 ? 0 : unit_random(state) % bound;
}

__attribute__((unused)) static double unit_now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The time budget of a test, from SJ_TEST_SECONDS or the given default. */
__attribute__((unused)) static double unit_budget_seconds(double otherwise)
{
    const char *text = getenv("SJ_TEST_SECONDS");
    return text != NULL && *text != '\0' ? strtod(text, NULL) : otherwise;
}

__attribute__((unused)) static void unit_begin(int argc, char **argv)
{
    const char *text = getenv("SJ_TEST_SEED");
    unit_state.filter = argc > 1 ? argv[1] : NULL;
    if (text != NULL && *text != '\0') {
        unit_state.seed = strtoull(text, NULL, 0);
    } else {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        unit_state.seed = (uint64_t)now.tv_nsec ^ ((uint64_t)now.tv_sec << 20) ^ (uint64_t)getpid();
    }
    unit_print("# SJ_TEST_SEED=%llu\n", (unsigned long long)unit_state.seed);
}

__attribute__((unused)) static void unit_run(const char *name, void (*test)(void))
{
    if (unit_state.filter != NULL && strstr(name, unit_state.filter) == NULL)
        return;
    __atomic_store_n(&unit_state.failed_checks, 0, __ATOMIC_RELAXED);
    unit_state.skip_reason = NULL;
    test();
    unit_state.tests_run++;
    if (unit_failed()) {
        unit_state.tests_failed++;
        unit_print("not ok %u - %s\n", unit_state.tests_run, name);
    } else if (unit_state.skip_reason != NULL) {
        unit_state.tests_skipped++;
        unit_print("ok %u - %s # SKIP %s\n", unit_state.tests_run, name, unit_state.skip_reason);
    } else {
        unit_print("ok %u - %s\n", unit_state.tests_run, name);
    }
}

__attribute__((unused, warn_unused_result)) static int unit_end(void)
{
    unit_print("1..%u\n", unit_state.tests_run);
    if (unit_state.tests_skipped > 0)
        unit_print("# %u skipped\n", unit_state.tests_skipped);
    unit_print("%u passed, %u failed\n", unit_state.tests_run - unit_state.tests_failed - unit_state.tests_skipped,
               unit_state.tests_failed);
    return unit_state.tests_failed == 0 ? 0 : 1;
}

#endif
