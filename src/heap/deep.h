/* SPDX-License-Identifier: MIT
 *
 * What: a stretch deep inside the allocator, with signals kept out.
 *
 * Why this way: a signal handler that allocates or forks there would wait for locks that its own thread holds. The
 * stretches nest (a request from outside may ask for a check of the heap), so each puts back what it has found.
 *
 * Invariants: begun and ended by the same thread, the last begun first.
 *
 * Concurrency: the calling thread's own state only.
 */
#ifndef SJ_HEAP_DEEP_H
#define SJ_HEAP_DEEP_H

#include "heap/heap.h"
#include "platform/tags.h"
#include "platform/thread.h"

struct sj_deep {
    sigset_t signals;
    enum sj_inside outer;
    uint64_t tags;
};

SJ_ALWAYS_INLINE void sj_deep_begin(struct sj_deep *deep)
{
    sj__thread_block_signals(&deep->signals);
    deep->outer = sj__heap_inside;
    sj__heap_inside = SJ_INSIDE_SPANS;
    deep->tags = sj_tags_ignore();
}

SJ_ALWAYS_INLINE void sj_deep_end(const struct sj_deep *deep)
{
    sj_tags_heed(deep->tags);
    sj__heap_inside = deep->outer;
    sj__thread_let_signals_in(&deep->signals);
}

#endif
