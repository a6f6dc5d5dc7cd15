/* SPDX-License-Identifier: MIT
 *
 * What: a signal handler that allocates while its own thread is inside an entry point that holds locks: a report, SJ-009,
 * never a deadlock.
 *
 * Why this way: the page source is the one place that is called with locks held and can be the test's: it raises the
 * signal there. Each case is a forked child with an alarm.
 *
 * Invariants: runs at level 2.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "front/slow.h"
#include "platform/pages.h"
#include "scrubjay.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { LARGE_BYTES = 4 << 20, PATIENCE_SECONDS = 10 };

static volatile sig_atomic_t signals_to_raise;

static void raise_now(void)
{
    if (signals_to_raise > 0) {
        signals_to_raise--;
        (void)raise(SIGUSR1);
    }
}

static void *source_map(void *address, size_t bytes, int protection, int flags)
{
    raise_now();
    return mmap(address, bytes, protection, flags, -1, 0);
}

static int source_protect(void *address, size_t bytes, int protection)
{
    raise_now();
    return mprotect(address, bytes, protection);
}

static int source_advise(void *address, size_t bytes, int advice)
{
    raise_now();
    return madvise(address, bytes, advice);
}

static const struct sj_page_source source = {
    .map = source_map, .unmap = munmap, .protect = source_protect, .advise = source_advise
};

static void allocate_in_handler(int number)
{
    (void)number;
    (void)sj_malloc(LARGE_BYTES);
}

/* True if the call ends by SIGABRT. (Of the report nothing is to be seen where fd 2 is no longer what it was at start.) */
static bool is_reported(void (*call)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)close(STDERR_FILENO);
        (void)alarm(PATIENCE_SECONDS);
        (void)signal(SIGUSR1, allocate_in_handler);
        sj__pages_set_source(&source);
        call();
        _exit(0);
    }
    bool ended = child > 0 && waitpid(child, &status, 0) == child;
    if (ended && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT))
        unit_print("# status %d\n", status);
    return ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void trim(void)
{
    sj_free(sj_malloc(100));
    signals_to_raise = 1;
    (void)sj_malloc_trim(0);
}

static void make_large(void)
{
    signals_to_raise = 1;
    (void)sj_malloc(LARGE_BYTES * (size_t)16);
}

static void free_large(void)
{
    void *block = sj_malloc(LARGE_BYTES);
    signals_to_raise = 1;
    sj_free(block);
}

static void grow_large(void)
{
    void *block = sj_malloc(LARGE_BYTES);
    signals_to_raise = 1;
    (void)sj_realloc(block, LARGE_BYTES * (size_t)64);
}

static void front_slow__handler_that_allocates_inside_is_reported(void)
{
    CHECK(is_reported(make_large));
    CHECK(is_reported(free_large));
    CHECK(is_reported(grow_large));
}

static void front_slow__handler_that_allocates_inside_trim_is_reported(void)
{
    CHECK(is_reported(trim));
}

static void front_slow__is_left_by_every_call(void)
{
    struct sj_stats stats;
    void *block = sj_malloc(LARGE_BYTES);
    CHECK(!sj__slow_is_inside());
    block = sj_realloc(block, 2 * (size_t)LARGE_BYTES);
    CHECK(!sj__slow_is_inside());
    sj_free(block);
    CHECK(!sj__slow_is_inside());
    CHECK(sj_malloc(SIZE_MAX) == NULL && !sj__slow_is_inside());
    (void)sj_malloc_trim(0);
    CHECK(!sj__slow_is_inside());
    CHECK_EQ(sj_stats_read(&stats), 0);
    CHECK(!sj__slow_is_inside());
}

int main(int argc, char **argv)
{
    (void)unsetenv("SCRUBJAY_OPTIONS");
    unit_begin(argc, argv);
    RUN(front_slow__handler_that_allocates_inside_is_reported);
    RUN(front_slow__handler_that_allocates_inside_trim_is_reported);
    RUN(front_slow__is_left_by_every_call);
    return unit_end();
}
