/* SPDX-License-Identifier: MIT
 *
 * What: the operations on words of bitmaps in plain atomics, for other processors and for ThreadSanitizer.
 *
 * Why this way: right everywhere. A signal handler that interrupts an update may have its own undone by it; what that
 * costs is said in front/fast.h.
 *
 * Invariants: included by base/bits.h only.
 *
 * Concurrency: see base/bits.h.
 */
#ifndef SJ_BASE_WORD_PORTABLE_H
#define SJ_BASE_WORD_PORTABLE_H

#include "base/compiler.h"

enum { SJ_STORES_STAY_IN_ORDER = 0 };

SJ_ALWAYS_INLINE size_t sj_lowest_index(uint64_t word)
{
    sj_assert(word != 0);
    return (size_t)__builtin_ctzll(word);
}

/* Acquire, where x86-64 has it for nothing: pairs with the claim of a remote free. */
SJ_ALWAYS_INLINE uint64_t sj_word_peek(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

SJ_ALWAYS_INLINE bool sj_word_has(const uint64_t *word, uint64_t mask)
{
    return (sj_word_peek(word) & mask) != 0;
}

SJ_ALWAYS_INLINE void sj_word_set(uint64_t *word, uint64_t mask)
{
    __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) | mask, __ATOMIC_RELAXED);
}

SJ_ALWAYS_INLINE void sj_word_clear(uint64_t *word, uint64_t mask)
{
    __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) & ~mask, __ATOMIC_RELAXED);
}

SJ_ALWAYS_INLINE void sj_word_clear_set(uint64_t *word, uint64_t mask)
{
    __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) ^ mask, __ATOMIC_RELAXED);
}

/* C11's read-modify-writes are no fence for others' words: a load tells nothing, only an exchange does. */
SJ_ALWAYS_INLINE bool sj_flag_is_set_after_claim(const uint32_t *flag)
{
    (void)flag;
    return false;
}

#endif
