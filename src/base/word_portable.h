/* SPDX-License-Identifier: MIT
 *
 * What: the operations on words of bitmaps in plain atomics, for other processors and for ThreadSanitizer.
 *
 * Why this way: right everywhere. An update is one atomic operation, though only the owner's thread makes them: a signal handler
 * that changes the word between a load and a store of it would have its change undone.
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
    (void)__atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
}

SJ_ALWAYS_INLINE void sj_word_clear(uint64_t *word, uint64_t mask)
{
    (void)__atomic_fetch_and(word, ~mask, __ATOMIC_RELAXED);
}

SJ_ALWAYS_INLINE void sj_word_clear_set(uint64_t *word, uint64_t mask)
{
    (void)__atomic_fetch_xor(word, mask, __ATOMIC_RELAXED);
}

SJ_ALWAYS_INLINE void sj_word_add(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + value, __ATOMIC_RELAXED);
}

/* C11's read-modify-writes are no fence for others' words: a load tells nothing, only an exchange does. */
SJ_ALWAYS_INLINE bool sj_flag_is_set_after_claim(const uint32_t *flag)
{
    (void)flag;
    return false;
}

#endif
