/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see cpu.h.
 */
#include "platform/cpu.h"

bool sj__cpu_avx2;

void sj__cpu_start(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    sj__cpu_avx2 = __builtin_cpu_supports("avx2") != 0;
#endif
}
