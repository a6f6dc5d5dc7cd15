/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see trace.h.
 */
#include "report/trace.h"

#include "platform/clock.h"
#include "platform/process.h"
#include "platform/stack.h"

enum { OWN_FRAMES = 8 }; /* at most so many of the library's own lie above the caller */

void sj__trace_take(struct sj_trace *trace, const void *caller)
{
    const void *frames[OWN_FRAMES + SJ_TRACE_FRAMES];
    size_t count = sj__stack_walk(frames, OWN_FRAMES + SJ_TRACE_FRAMES), first = 0;
    while (first < count && frames[first] != caller)
        first++;
    first = first < count ? first : 0;
    trace->when_ms = sj__clock_ms();
    trace->thread_id = sj__process_thread_id();
    for (trace->count = 0; trace->count < SJ_TRACE_FRAMES && first < count; first++)
        trace->frames[trace->count++] = frames[first];
}
