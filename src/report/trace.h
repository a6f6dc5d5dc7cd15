/* SPDX-License-Identifier: MIT
 *
 * What: who did something to a block, kept until a report may want to say so: thread, time, stack.
 *
 * Why this way: plain data of fixed size, so that it lies in a record out of line and is printed without anybody's help.
 *
 * Invariants: the first frame is in the program, where that is known.
 *
 * Concurrency: taking one is async-signal-safe; the struct is its owner's.
 */
#ifndef SJ_REPORT_TRACE_H
#define SJ_REPORT_TRACE_H

#include "base/compiler.h"

enum { SJ_TRACE_FRAMES = 16 };

struct sj_trace {
    uint64_t when_ms;
    uint32_t thread_id;
    uint32_t count; /* of frames; the innermost first */
    const void *frames[SJ_TRACE_FRAMES];
};

/* The calling thread, now. `caller`: the return address in the program; what was called from there is left out. */
void sj__trace_take(struct sj_trace *trace, const void *caller);

#endif
