/* SPDX-License-Identifier: MIT
 *
 * What: option tick: a thread of our own that makes the passes of the release clock while nobody else does.
 *
 * Why this way: it does nothing that a slow path would not do, so everything about it may fail: without it ages are looked at
 * on slow paths alone. It starts right before main, for which __libc_start_main is ours: nothing else tells when the
 * program's constructors are done. It has no heap, blocks signals, and sleeps on a futex, which the locks need too.
 *
 * Invariants: none before main, none in the child of a fork until asked for. It ends when it is told to, when it is refused
 * to sleep, and when no thread with a heap is left, so it is never what keeps a process from ending.
 *
 * Concurrency: start and stop from any thread, outside the allocator.
 */
#ifndef SJ_FRONT_TICK_H
#define SJ_FRONT_TICK_H

#include "base/compiler.h"

/* May allocate. False, with a warning, if no thread can be made. */
bool sj__tick_start(void);
void sj__tick_stop(void);
bool sj__tick_is_on(void);

/* In the child of a fork, where it is gone. */
void sj__tick_forked(void);

/* Only where it can start by itself: in the shared library, with glibc. */
void sj__tick_can_start(void) SJ_WEAK;

#endif
