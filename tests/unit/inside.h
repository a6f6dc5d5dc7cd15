/* SPDX-License-Identifier: MIT */
/*
 * What: what several unit tests of slabs and heaps look at and set up: a block's slab, slot and planes; a kernel that
 * refuses all memory; the test run again under options, since a policy is fixed at start.
 *
 * Why this way: one definition, so that a change of the planes is a change here.
 *
 * Invariants: none.
 *
 * Concurrency: looks at planes without a lock: for blocks that no other thread touches.
 */
#ifndef SJ_TESTS_UNIT_INSIDE_H
#define SJ_TESTS_UNIT_INSIDE_H

#include "unit/unit.h"

#include "meta/window.h"
#include "platform/pages.h"
#include "span/slab.h"

#include <sys/mman.h>
#include <sys/wait.h>

__attribute__((unused)) static struct sj_slab *slab_of(const void *block)
{
    struct sj_span *span = sj__window_find(block);
    return sj_load_relaxed_u32(&span->kind) == SJ_SPAN_SLAB ? (struct sj_slab *)(void *)span : NULL;
}

__attribute__((unused)) static unsigned slot_of(const void *block)
{
    const struct sj_slab *slab = slab_of(block);
    return sj_slot_of(slab->reciprocal, (size_t)((const char *)block - slab->base));
}

__attribute__((unused)) static struct sj_word *word_of(const void *block)
{
    return &slab_of(block)->planes[slot_of(block) / SJ_WORD_BITS];
}

__attribute__((unused)) static uint64_t bit_of(const void *block)
{
    return (uint64_t)1 << (slot_of(block) % SJ_WORD_BITS);
}

static void *refusing_map(void *address, size_t bytes, int protection, int flags)
{
    (void)address;
    (void)bytes;
    (void)protection;
    (void)flags;
    errno = ENOMEM;
    return MAP_FAILED;
}

static int refusing_protect(void *address, size_t bytes, int protection)
{
    (void)address;
    (void)bytes;
    (void)protection;
    errno = ENOMEM;
    return -1;
}

/* For sj__pages_set_source. */
__attribute__((unused)) static const struct sj_page_source refuse_all = {
    .map = refusing_map, .unmap = munmap, .protect = refusing_protect, .advise = madvise
};

/* A kernel that refuses now and then. */
static uint64_t unit_moody_state; /* atomic */

static bool unit_moody_refuses(void)
{
    uint64_t state = __atomic_fetch_add(&unit_moody_state, 1, __ATOMIC_RELAXED);
    bool refused = unit_random_below(&state, 6) == 0;
    if (refused)
        errno = ENOMEM;
    return refused;
}

static void *unit_moody_map(void *address, size_t bytes, int protection, int flags)
{
    return unit_moody_refuses() ? MAP_FAILED : mmap(address, bytes, protection, flags, -1, 0);
}

static int unit_moody_protect(void *address, size_t bytes, int protection)
{
    return unit_moody_refuses() ? -1 : mprotect(address, bytes, protection);
}

static int unit_moody_advise(void *address, size_t bytes, int advice)
{
    return unit_moody_refuses() ? -1 : madvise(address, bytes, advice);
}

static void *unit_moody_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return unit_moody_refuses() ? MAP_FAILED : mremap(from, from_bytes, to_bytes, flags, to);
}

__attribute__((unused)) static const struct sj_page_source unit_moody_source = { unit_moody_map, munmap,
                                                                                 unit_moody_protect, unit_moody_advise,
                                                                                 unit_moody_move };

/* The options, and nothing sampled unless they say so: a sampled block is in no slab. */
__attribute__((unused)) static const char *without_samples(const char *options)
{
    static char text[256];
    (void)snprintf(text, sizeof text, "%s%s", options, strstr(options, "sample=") == NULL ? ",sample=0" : "");
    return text;
}

/* Starts this program again unless it runs under `options` already. */
__attribute__((unused)) static void run_under(const char *options, char **argv)
{
    const char *now = getenv("SCRUBJAY_OPTIONS");
    options = without_samples(options);
    if (now != NULL && strcmp(now, options) == 0)
        return;
    (void)setenv("SCRUBJAY_OPTIONS", options, 1);
    (void)execv("/proc/self/exe", argv);
    _exit(1);
}

/* Runs this program in a child under `options`, with SJ_UNIT_CHILD set, and checks that it ends well. Its main asks
 * unit_child_options first. */
__attribute__((unused)) static void check_under(const char *options)
{
    char seed[32];
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)unit_state.seed);
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        (void)setenv("SCRUBJAY_OPTIONS", without_samples(options), 1);
        (void)setenv("SJ_TEST_SEED", seed, 1);
        (void)setenv("SJ_UNIT_CHILD", options, 1);
        (void)execl("/proc/self/exe", "child", (char *)NULL);
        _exit(3);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    if (!CHECK_EQ(status, 0))
        unit_print("# under %s\n", options);
}

/* In a child of check_under: its options, and the seed is set. Else NULL. */
__attribute__((unused)) static const char *unit_child_options(void)
{
    const char *options = getenv("SJ_UNIT_CHILD");
    if (options != NULL)
        unit_state.seed = strtoull(getenv("SJ_TEST_SEED"), NULL, 0);
    return options;
}

#endif
