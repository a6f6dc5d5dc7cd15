/* SPDX-License-Identifier: MIT
 *
 * What: two static probes, otel_memory:alloc and otel_memory:free, at which a tracer finds the samples of the heap profile.
 *
 * Why this way: names and arguments are those that profilers outside of the process have agreed on. A probe is one
 * nop and a note in the file. <sys/sdt.h> (Debian: systemtap-sdt-dev) is needed to build them, and nothing to run them;
 * without it there are none.
 *
 * Invariants: each block that alloc names free names once.
 *
 * Concurrency: none.
 */
#ifndef SJ_PLATFORM_PROBE_H
#define SJ_PLATFORM_PROBE_H

#include "base/compiler.h"

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define SJ_HAS_PROBES 1
#else
#define SJ_HAS_PROBES 0
#endif

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments" /* the macros of sys/sdt.h */
#endif

/* `weighted_bytes`: what this sample stands for. */
SJ_ALWAYS_INLINE void sj_probe_alloc(const void *block, uint64_t size_bytes, uint64_t weighted_bytes)
{
#if SJ_HAS_PROBES
    DTRACE_PROBE3(otel_memory, alloc, block, size_bytes, weighted_bytes);
#else
    (void)block;
    (void)size_bytes;
    (void)weighted_bytes;
#endif
}

SJ_ALWAYS_INLINE void sj_probe_free(const void *block)
{
#if SJ_HAS_PROBES
    DTRACE_PROBE1(otel_memory, free, block);
#else
    (void)block;
#endif
}

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif
