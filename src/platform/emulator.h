/* SPDX-License-Identifier: MIT
 *
 * What: whether valgrind runs the program.
 *
 * Why this way: four rotations by 128 bits in all, which leave a register as it was, and an exchange of a register with itself:
 * valgrind's translator takes these for a request, a processor for nothing. Its documented number 0x1001 asks how deep
 * below valgrind we are. Its header is not needed for that. The environment alone would be a way to switch us off.
 *
 * Invariants: false where the sequence is not known for the processor.
 *
 * Concurrency: any thread.
 */
#ifndef SJ_PLATFORM_EMULATOR_H
#define SJ_PLATFORM_EMULATOR_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

static inline bool sj__emulator_is_valgrind(void)
{
#if defined(__x86_64__)
    const uint64_t request[6] = { 0x1001 };
    uint64_t answer = 0;
    __asm__ volatile("rolq $3, %%rdi\n\t"
                     "rolq $13, %%rdi\n\t"
                     "rolq $61, %%rdi\n\t"
                     "rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(request)
                     : "cc", "memory");
    return answer != 0;
#else
    return false;
#endif
}

#endif
