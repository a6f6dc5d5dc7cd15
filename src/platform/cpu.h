/* SPDX-License-Identifier: MIT
 *
 * What: what the processor can do beyond its architecture's baseline.
 *
 * Why this way: the library is built for the baseline; wider vectors are used where the machine has them, chosen by
 * a test on a flag that is set at start. A test that always goes one way costs less than an indirect call.
 *
 * Invariants: false until sj__cpu_start has run; constant afterwards.
 *
 * Concurrency: written once at start.
 */
#ifndef SJ_PLATFORM_CPU_H
#define SJ_PLATFORM_CPU_H

#include "base/compiler.h"

#if defined(__x86_64__)
#define SJ_CPU_HAS_AVX2_BUILD 1
#else
#define SJ_CPU_HAS_AVX2_BUILD 0
#endif

extern SJ_HIDDEN bool sj__cpu_avx2;

void sj__cpu_start(void);

SJ_ALWAYS_INLINE bool sj_cpu_has_avx2(void)
{
    return sj__cpu_avx2;
}

#endif
