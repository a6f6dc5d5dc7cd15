/* SPDX-License-Identifier: MIT
 *
 * What: the operations on words of bitmaps for x86-64: one instruction each.
 *
 * Why this way: a signal handler that interrupts the owner sees a word before or after its update. And the compiler folds
 * neither an atomic load into a test nor a read-modify-write into one instruction by itself: four instructions a free.
 *
 * Invariants: included by base/bits.h only.
 *
 * Concurrency: see base/bits.h.
 */
#ifndef SJ_BASE_WORD_X86_64_H
#define SJ_BASE_WORD_X86_64_H

#include "base/compiler.h"

enum { SJ_STORES_STAY_IN_ORDER = 1 };

/* Without the builtin's clearing of the result register first, for the sake of processors long gone. */
SJ_ALWAYS_INLINE size_t sj_lowest_index(uint64_t word)
{
    size_t index;
    sj_assert(word != 0);
    __asm__("rep bsfq %1, %0" : "=r"(index) : "r"(word) : "cc");
    return index;
}

SJ_ALWAYS_INLINE uint64_t sj_word_peek(const uint64_t *word)
{
    return *word;
}

SJ_ALWAYS_INLINE bool sj_word_has(const uint64_t *word, uint64_t mask)
{
    bool any;
    __asm__ volatile("testq %2, %1" : "=@ccnz"(any) : "m"(*word), "r"(mask));
    return any;
}

SJ_ALWAYS_INLINE void sj_word_set(uint64_t *word, uint64_t mask)
{
    __asm__("orq %1, %0" : "+m"(*word) : "r"(mask) : "cc");
}

SJ_ALWAYS_INLINE void sj_word_clear(uint64_t *word, uint64_t mask)
{
    __asm__("andq %1, %0" : "+m"(*word) : "r"(~mask) : "cc");
}

SJ_ALWAYS_INLINE void sj_word_clear_set(uint64_t *word, uint64_t mask)
{
    __asm__("xorq %1, %0" : "+m"(*word) : "r"(mask) : "cc");
}

SJ_ALWAYS_INLINE void sj_word_add(uint64_t *word, uint64_t value)
{
    __asm__("addq %1, %0" : "+m"(*word) : "r"(value) : "cc");
}

/* A locked instruction is a full fence, so whoever clears the flag after this load has seen what came before it. */
SJ_ALWAYS_INLINE bool sj_flag_is_set_after_claim(const uint32_t *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0;
}

#endif
