/* SPDX-License-Identifier: MIT
 *
 * What: a library that is preloaded in front of any allocator: passes malloc and free on to it, times every seventh call of
 * each in a thread, and appends the times at exit to the file that BENCH_LATENCY names.
 *
 * Why this way: in front of all arms the same, the C library's too, so that the clock's own cost is the same in each; in the
 * allocator itself it would be timed by its own rules. What counts a time runs after the second look at the clock.
 *
 * Invariants: a block goes back to where it came from, since every call is passed on to the next definition. Nothing is
 * allocated here. A forked child starts from nothing; what ends by _exit or a signal leaves no times.
 *
 * Concurrency: counts are added atomically, in no order.
 */
#include "bench/latency_record.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SHIM_CLOCK_READINGS = 1000 };

static struct bench_latency_record shim_record = { .magic = BENCH_LATENCY_MAGIC };
static char shim_path[PATH_MAX];
static _Thread_local unsigned shim_calls[BENCH_TIMED_CALLS] __attribute__((tls_model("initial-exec")));

static uint64_t shim_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The next definition; asked for when it is needed, since others are started before this library is. */
static uintptr_t shim_next(enum bench_timed call)
{
    static const char *const names[BENCH_TIMED_CALLS] = { "malloc", "free" };
    static uintptr_t found[BENCH_TIMED_CALLS];
    uintptr_t next = __atomic_load_n(&found[call], __ATOMIC_RELAXED);
    if (next == 0) {
        next = (uintptr_t)dlsym(RTLD_NEXT, names[call]);
        if (next == 0)
            abort();
        __atomic_store_n(&found[call], next, __ATOMIC_RELAXED);
    }
    return next;
}

static bool shim_is_due(enum bench_timed call)
{
    return ++shim_calls[call] % BENCH_LATENCY_EVERY == 0;
}

__attribute__((noinline)) static void shim_take(enum bench_timed call, uint64_t ns)
{
    struct lab_histogram *took = &shim_record.took[call];
    (void)__atomic_fetch_add(&took->counts[lab_histogram_bucket(ns)], 1, __ATOMIC_RELAXED);
    uint64_t most = __atomic_load_n(&took->most, __ATOMIC_RELAXED);
    while (ns > most && !__atomic_compare_exchange_n(&took->most, &most, ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    void *(*next)(size_t) = (void *(*)(size_t))shim_next(BENCH_TIMED_MALLOC);
    if (!shim_is_due(BENCH_TIMED_MALLOC))
        return next(bytes);
    uint64_t began_ns = shim_now_ns();
    void *block = next(bytes);
    shim_take(BENCH_TIMED_MALLOC, shim_now_ns() - began_ns);
    return block;
}

__attribute__((visibility("default"))) void free(void *block)
{
    void (*next)(void *) = (void (*)(void *))shim_next(BENCH_TIMED_FREE);
    if (!shim_is_due(BENCH_TIMED_FREE)) {
        next(block);
        return;
    }
    uint64_t began_ns = shim_now_ns();
    next(block);
    shim_take(BENCH_TIMED_FREE, shim_now_ns() - began_ns);
}

/* In a forked child: what the parent did is the parent's to tell. */
static void shim_forget(void)
{
    memset(shim_record.took, 0, sizeof shim_record.took);
}

__attribute__((constructor)) static void shim_begin(void)
{
    const char *path = getenv(BENCH_LATENCY_VARIABLE);
    if (path != NULL && strlen(path) < sizeof shim_path)
        memcpy(shim_path, path, strlen(path) + 1);
    (void)pthread_atfork(NULL, NULL, shim_forget);
}

__attribute__((destructor)) static void shim_end(void)
{
    shim_record.clock_ns = UINT64_MAX;
    for (unsigned i = 0; i < SHIM_CLOCK_READINGS; i++) {
        uint64_t began_ns = shim_now_ns();
        uint64_t ns = shim_now_ns() - began_ns;
        shim_record.clock_ns = ns < shim_record.clock_ns ? ns : shim_record.clock_ns;
    }
    int fd = open(shim_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return; /* nobody asked */
    if (write(fd, &shim_record, sizeof shim_record) != (ssize_t)sizeof shim_record)
        (void)dprintf(STDERR_FILENO, "scrubjay-latency: cannot write to %s\n", shim_path);
    close(fd);
}
