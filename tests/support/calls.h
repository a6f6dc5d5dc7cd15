/* SPDX-License-Identifier: MIT */
/*
 * What: the calls under test as tables: the prefixed names, or the plain ones.
 *
 * Why this way: which of the two a program tests is one macro, SJ_TEST_PLAIN, defined by the program before it
 * includes this file; everything shared sees only the table.
 *
 * Invariants: with SJ_TEST_PLAIN nothing of the library is needed at link time, so such a program also runs against
 * another allocator (names that glibc lacks are weak).
 *
 * Concurrency: constants.
 */
#ifndef SJ_TESTS_SUPPORT_CALLS_H
#define SJ_TESTS_SUPPORT_CALLS_H

#include "support/model.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#ifdef SJ_TEST_PLAIN

extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
extern size_t sj_policy_text(char *, size_t) __attribute__((weak));

__attribute__((unused)) static struct model_calls calls_under_test(void)
{
    return (struct model_calls){
        .malloc = malloc,
        .calloc = calloc,
        .realloc = realloc,
        .reallocarray = reallocarray,
        .free = free,
        .free_sized = free_sized,
        .free_aligned_sized = free_aligned_sized,
        .aligned_alloc = aligned_alloc,
        .posix_memalign = posix_memalign,
        .memalign = memalign,
        .usable_size = malloc_usable_size,
        .trim = malloc_trim,
    };
}

#else

#include "scrubjay.h"

__attribute__((unused)) static struct model_calls calls_under_test(void)
{
    return (struct model_calls){
        .malloc = sj_malloc,
        .calloc = sj_calloc,
        .realloc = sj_realloc,
        .reallocarray = sj_reallocarray,
        .free = sj_free,
        .free_sized = sj_free_sized,
        .free_aligned_sized = sj_free_aligned_sized,
        .aligned_alloc = sj_aligned_alloc,
        .posix_memalign = sj_posix_memalign,
        .memalign = sj_memalign,
        .usable_size = sj_malloc_usable_size,
        .trim = sj_malloc_trim,
    };
}

#endif

/* Whether the policy in force promises that no byte of an old object is readable. */
__attribute__((unused)) static bool calls_promise_clean_memory(void)
{
    char text[1024] = "";
#ifdef SJ_TEST_PLAIN
    if (sj_policy_text == NULL)
        return false;
#endif
    sj_policy_text(text, sizeof text);
    return strstr(text, "scrub=") != NULL && strstr(text, "scrub=off") == NULL;
}

#endif
