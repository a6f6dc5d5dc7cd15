/* SPDX-License-Identifier: MIT
 *
 * What: atomic words as one-member structs, with the memory order in each function's name.
 *
 * Why this way: `atomic_load(&x)` hides its order and `x = 1` on an _Atomic is a silent sequentially consistent store.
 * A word in a struct of its own cannot be touched but through these functions, and each call says what it pays for.
 *
 * Invariants: every call that is not relaxed says in a comment beside it what it pairs with.
 *
 * Concurrency: this is it.
 */
#ifndef SJ_BASE_ATOMIC_H
#define SJ_BASE_ATOMIC_H

#include "base/compiler.h"

#define SJ_DEFINE_ATOMIC(suffix, type)                                                                               \
    struct sj_atomic_##suffix {                                                                                      \
        type value;                                                                                                  \
    };                                                                                                               \
    SJ_ALWAYS_INLINE type sj_load_relaxed_##suffix(const struct sj_atomic_##suffix *a)                               \
    {                                                                                                                \
        return __atomic_load_n(&a->value, __ATOMIC_RELAXED);                                                         \
    }                                                                                                                \
    SJ_ALWAYS_INLINE type sj_load_acquire_##suffix(const struct sj_atomic_##suffix *a)                               \
    {                                                                                                                \
        return __atomic_load_n(&a->value, __ATOMIC_ACQUIRE);                                                         \
    }                                                                                                                \
    SJ_ALWAYS_INLINE void sj_store_relaxed_##suffix(struct sj_atomic_##suffix *a, type value)                        \
    {                                                                                                                \
        __atomic_store_n(&a->value, value, __ATOMIC_RELAXED);                                                        \
    }                                                                                                                \
    SJ_ALWAYS_INLINE void sj_store_release_##suffix(struct sj_atomic_##suffix *a, type value)                        \
    {                                                                                                                \
        __atomic_store_n(&a->value, value, __ATOMIC_RELEASE);                                                        \
    }                                                                                                                \
    SJ_ALWAYS_INLINE type sj_exchange_acq_rel_##suffix(struct sj_atomic_##suffix *a, type value)                     \
    {                                                                                                                \
        return __atomic_exchange_n(&a->value, value, __ATOMIC_ACQ_REL);                                              \
    }                                                                                                                \
    SJ_ALWAYS_INLINE bool sj_compare_exchange_acq_rel_##suffix(struct sj_atomic_##suffix *a, type *expected,         \
                                                               type desired)                                         \
    {                                                                                                                \
        return __atomic_compare_exchange_n(&a->value, expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); \
    }

#define SJ_DEFINE_ATOMIC_INTEGER(suffix, type)                                                    \
    SJ_DEFINE_ATOMIC(suffix, type)                                                                \
    SJ_ALWAYS_INLINE type sj_fetch_add_relaxed_##suffix(struct sj_atomic_##suffix *a, type value) \
    {                                                                                             \
        return __atomic_fetch_add(&a->value, value, __ATOMIC_RELAXED);                            \
    }                                                                                             \
    SJ_ALWAYS_INLINE type sj_fetch_sub_relaxed_##suffix(struct sj_atomic_##suffix *a, type value) \
    {                                                                                             \
        return __atomic_fetch_sub(&a->value, value, __ATOMIC_RELAXED);                            \
    }                                                                                             \
    SJ_ALWAYS_INLINE type sj_fetch_or_acq_rel_##suffix(struct sj_atomic_##suffix *a, type value)  \
    {                                                                                             \
        return __atomic_fetch_or(&a->value, value, __ATOMIC_ACQ_REL);                             \
    }                                                                                             \
    SJ_ALWAYS_INLINE type sj_fetch_and_acq_rel_##suffix(struct sj_atomic_##suffix *a, type value) \
    {                                                                                             \
        return __atomic_fetch_and(&a->value, value, __ATOMIC_ACQ_REL);                            \
    }

/* Loads that the compiler may fold into the instruction that uses them, see base/bits.h. On every machine Scrubjay runs on
 * an aligned word is read whole. */
#if SJ_UNDER_TSAN
#define SJ_DEFINE_PEEK(suffix, type)                                           \
    SJ_ALWAYS_INLINE type sj_peek_##suffix(const struct sj_atomic_##suffix *a) \
    {                                                                          \
        return sj_load_acquire_##suffix(a);                                    \
    }
#else
#define SJ_DEFINE_PEEK(suffix, type)                                           \
    SJ_ALWAYS_INLINE type sj_peek_##suffix(const struct sj_atomic_##suffix *a) \
    {                                                                          \
        return a->value;                                                       \
    }
#endif

SJ_DEFINE_ATOMIC_INTEGER(u32, uint32_t)
SJ_DEFINE_ATOMIC_INTEGER(u64, uint64_t)
SJ_DEFINE_ATOMIC_INTEGER(size, size_t)
SJ_DEFINE_ATOMIC(ptr, void *)
SJ_DEFINE_PEEK(u32, uint32_t)
SJ_DEFINE_PEEK(u64, uint64_t)
SJ_DEFINE_PEEK(size, size_t)
SJ_DEFINE_PEEK(ptr, void *)

#endif
