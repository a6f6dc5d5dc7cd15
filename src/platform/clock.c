/* SPDX-License-Identifier: MIT
 *
 * What: the coarse monotonic clock.
 *
 * Why this way: CLOCK_MONOTONIC_COARSE is answered by the vDSO without reading the time-stamp counter; its tick (1 to
 * 10 ms) is finer than any age the allocator compares. A system that refuses it gives 0: ages then never expire, and
 * memory goes back by limits and purges alone.
 *
 * Invariants: errno is preserved.
 *
 * Concurrency: the test source is one atomic pointer; it may be set at any time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "platform/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

static uint64_t (*_Atomic clock_source)(void);

/* All zero where the system refuses it. */
static struct timespec clock_read_system(clockid_t which)
{
    struct timespec now;
    int saved_errno = errno;
    bool known = clock_gettime(which, &now) == 0;

    errno = saved_errno;
    return known ? now : (struct timespec){ 0 };
}

uint64_t sj__clock_ms(void)
{
    uint64_t (*source)(void) = atomic_load_explicit(&clock_source, memory_order_relaxed);

    if (sj_unlikely(source != NULL))
        return source();
    struct timespec now = clock_read_system(CLOCK_MONOTONIC_COARSE);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

uint64_t sj__clock_ns(void)
{
    struct timespec now = clock_read_system(CLOCK_MONOTONIC);

    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t sj__clock_unix_seconds(void)
{
    return (uint64_t)clock_read_system(CLOCK_REALTIME).tv_sec;
}

void sj__clock_set_source(uint64_t (*source)(void))
{
    atomic_store_explicit(&clock_source, source, memory_order_relaxed);
}
