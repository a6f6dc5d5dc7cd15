/* SPDX-License-Identifier: MIT
 *
 * What: arithmetic on 64-bit words and on powers of two.
 *
 * Why this way: the allocator's state is bitmaps; these few functions are all that is ever done to one. The two word
 * updates are single machine instructions on x86-64: a signal handler that interrupts the owner sees the word before
 * or after, never a half-done read-modify-write that would undo the handler's own update.
 *
 * The peeks are relaxed loads that the compiler may fold into the instruction that uses them, which it does not do with
 * an atomic load: four instructions a free. Each is used once, and alone.
 *
 * Invariants: arguments named `power` are powers of two; bit indices are below 64.
 *
 * Concurrency: sj_word_set and sj_word_clear are for the one writer of a word. Other threads may read it at any time
 * with sj_word_read; the write is a single aligned 64-bit store, so they see old or new, in no promised order.
 */
#ifndef SJ_BASE_BITS_H
#define SJ_BASE_BITS_H

#include "base/compiler.h"

/* Chosen by machine: sj_lowest_index(word), of the lowest set bit; sj_word_peek(word); sj_word_has(word, mask), if
 * any bit of the mask is set; sj_word_set, sj_word_clear(word, mask); sj_word_clear_set, for bits known to be set;
 * sj_flag_is_set_after_claim(flag), if a flag is surely set that the caller would set after an atomic read-modify-write
 * of another word.
 * SJ_STORES_STAY_IN_ORDER: other threads see what one has stored, and what its signal handlers have, in that order, and loads are
 * made in order: then a word of state tells about other memory with no more than a barrier for the compiler in between. */
#if defined(__x86_64__) && !SJ_UNDER_TSAN
#include "base/word_x86_64.h"
#else
#include "base/word_portable.h"
#endif

#define SJ_WORD_BITS 64u

SJ_ALWAYS_INLINE unsigned sj_lowest_bit(uint64_t word)
{
    return (unsigned)sj_lowest_index(word);
}

SJ_ALWAYS_INLINE unsigned sj_highest_bit(uint64_t word)
{
    sj_assert(word != 0);
    return 63u - (unsigned)__builtin_clzll(word);
}

/* Number of set bits, without the popcnt instruction, which the x86-64 baseline lacks. */
SJ_ALWAYS_INLINE unsigned sj_count_bits(uint64_t word)
{
    word -= (word >> 1) & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)((word * 0x0101010101010101u) >> 56);
}

/* A word with the lowest `count` bits set; count in 0..64. */
SJ_ALWAYS_INLINE uint64_t sj_low_mask(unsigned count)
{
    return count >= SJ_WORD_BITS ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

/* The lowest set bit alone. */
SJ_ALWAYS_INLINE uint64_t sj_lowest_only(uint64_t word)
{
    return word & -word;
}

SJ_ALWAYS_INLINE bool sj_is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

SJ_ALWAYS_INLINE size_t sj_round_up(size_t value, size_t power)
{
    sj_assert(sj_is_power_of_two(power));
    return (value + (power - 1)) & ~(power - 1);
}

SJ_ALWAYS_INLINE size_t sj_round_down(size_t value, size_t power)
{
    sj_assert(sj_is_power_of_two(power));
    return value & ~(power - 1);
}

/* Reads a word that its one writer may be changing. */
SJ_ALWAYS_INLINE uint64_t sj_word_read(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

SJ_ALWAYS_INLINE uint64_t sj_word_read_acquire(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

SJ_ALWAYS_INLINE void sj_word_write(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

#endif
