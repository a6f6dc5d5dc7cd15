/* SPDX-License-Identifier: MIT */
/*
 * What: blocks that carry their own address and size, written by the maker and checked by whoever frees them.
 *
 * Why this way: a slot given out twice, or scrubbed while live, shows as a wrong tag, in whatever thread.
 *
 * Invariants: a block has at least TAGGED_LEAST bytes.
 *
 * Concurrency: a block belongs to one thread at a time.
 */
#ifndef SJ_TESTS_SUPPORT_TAGGED_H
#define SJ_TESTS_SUPPORT_TAGGED_H

#include "support/calls.h"
#include "unit/unit.h"

enum { TAGGED_LEAST = 32 };

/* The tag: address and size at the start, the address once more at the end. */
__attribute__((unused)) static void *tagged_make(const struct model_calls *calls, size_t size)
{
    size &= ~(size_t)7;
    uintptr_t *words = calls->malloc(size);
    if (!CHECK(words != NULL))
        return NULL;
    words[0] = (uintptr_t)words ^ size;
    words[1] = size;
    words[size / sizeof *words - 1] = (uintptr_t)words;
    return words;
}

/* Frees the block, NULL too, if its tag is right. */
__attribute__((unused)) static void tagged_end(const struct model_calls *calls, void *block)
{
    uintptr_t *words = block;
    if (words == NULL)
        return;
    size_t size = words[1];
    if (!CHECK_EQ(words[0], (uintptr_t)words ^ size) || !CHECK_EQ(words[size / sizeof *words - 1], (uintptr_t)words))
        return;
    words[0] = words[1] = 0;
    calls->free(words);
}

#endif
