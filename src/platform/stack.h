/* SPDX-License-Identifier: MIT
 *
 * What: the return addresses on a stack.
 *
 * Why this way: by the tables of .eh_frame where there are some (see unwind.h), else by frame pointers, which code that is
 * made at run time mostly has. Words are only read where the kernel says that there are some, so it needs no bounds of the
 * stack: those of a coroutine or an alternate signal stack nobody knows.
 *
 * Invariants: a frame lies above the one it called, except across a signal. At most as many frames as asked for.
 *
 * Concurrency: async-signal-safe, no locks, no allocation; errno is kept. About 2 KiB of stack.
 */
#ifndef SJ_PLATFORM_STACK_H
#define SJ_PLATFORM_STACK_H

#include "base/compiler.h"

/* Puts the calling thread's frames into `frames`, the innermost first: where the call of this function returns to, then
 * where that function returns to, and so on; at most `most`. Returns their number. Where a signal interrupted code, the
 * frame is the instruction it was at. */
size_t sj__stack_walk(const void **frames, size_t most);

/* The same for whoever asks often, from few places, and can bear a wrong frame where code has been unloaded. */
size_t sj__stack_walk_often(const void **frames, size_t most);

/* The same as the first from where a signal interrupted the thread: `context` is the third argument of its handler. The first frame is
 * the instruction it was at. */
size_t sj__stack_walk_context(const void *context, const void **frames, size_t most);

#endif
