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

typedef uint64_t sj_vector32 __attribute__((vector_size(32), may_alias, aligned(32)));

/* Marks a function that is called only where sj_cpu_has_avx2() says so. */
#if defined(__x86_64__)
#define SJ_CPU_AVX2 __attribute__((target("avx2")))
#else
#define SJ_CPU_AVX2
#endif

extern SJ_HIDDEN bool sj__cpu_avx2;

void sj__cpu_start(void);

SJ_ALWAYS_INLINE bool sj_cpu_has_avx2(void)
{
    return sj__cpu_avx2;
}

/* Are the two halves of a line of 64 bytes zero? */
SJ_CPU_AVX2 SJ_ALWAYS_INLINE bool sj_cpu_pair_is_zero(const sj_vector32 *pair)
{
    sj_vector32 any = pair[0] | pair[1];
#if defined(__x86_64__)
    typedef long long signed32 __attribute__((vector_size(32)));
    return __builtin_ia32_ptestz256((signed32)any, (signed32)any) != 0;
#else
    return (any[0] | any[1] | any[2] | any[3]) == 0;
#endif
}

/* Are four lines zero? One branch for all, as most are. */
SJ_CPU_AVX2 SJ_ALWAYS_INLINE bool sj_cpu_eight_are_zero(const sj_vector32 *eight)
{
    const sj_vector32 any[2] = { eight[0] | eight[1] | eight[2] | eight[3], eight[4] | eight[5] | eight[6] | eight[7] };
    return sj_cpu_pair_is_zero(any);
}

#endif
