/* SPDX-License-Identifier: MIT
 *
 * What: atomic words as one-member structs, with the memory order in each function's name.
 *
 * Why this way: `atomic_load(&x)` hides its order and `x = 1` on an _Atomic is a silent sequentially consistent store.
 * A wrapped word cannot be touched but through these functions, and each call says what it pays for.
 *
 * Invariants: every call that is not relaxed says in a comment beside it what it pairs with.
 *
 * Concurrency: this is it.
 */
#ifndef SJ_BASE_ATOMIC_H
#define SJ_BASE_ATOMIC_H

#include "base/compiler.h"

#include <stdatomic.h>

#define SJ_DEFINE_ATOMIC(suffix, type)                                                                           \
    struct sj_atomic_##suffix {                                                                                  \
        _Atomic(type) value;                                                                                     \
    };                                                                                                           \
    SJ_ALWAYS_INLINE type sj_load_relaxed_##suffix(const struct sj_atomic_##suffix *a)                           \
    {                                                                                                            \
        return atomic_load_explicit(&a->value, memory_order_relaxed);                                            \
    }                                                                                                            \
    SJ_ALWAYS_INLINE type sj_load_acquire_##suffix(const struct sj_atomic_##suffix *a)                           \
    {                                                                                                            \
        return atomic_load_explicit(&a->value, memory_order_acquire);                                            \
    }                                                                                                            \
    SJ_ALWAYS_INLINE void sj_store_relaxed_##suffix(struct sj_atomic_##suffix *a, type value)                    \
    {                                                                                                            \
        atomic_store_explicit(&a->value, value, memory_order_relaxed);                                           \
    }                                                                                                            \
    SJ_ALWAYS_INLINE void sj_store_release_##suffix(struct sj_atomic_##suffix *a, type value)                    \
    {                                                                                                            \
        atomic_store_explicit(&a->value, value, memory_order_release);                                           \
    }                                                                                                            \
    SJ_ALWAYS_INLINE type sj_exchange_acq_rel_##suffix(struct sj_atomic_##suffix *a, type value)                 \
    {                                                                                                            \
        return atomic_exchange_explicit(&a->value, value, memory_order_acq_rel);                                 \
    }                                                                                                            \
    SJ_ALWAYS_INLINE bool sj_compare_exchange_acq_rel_##suffix(struct sj_atomic_##suffix *a, type *expected,     \
                                                               type desired)                                     \
    {                                                                                                            \
        return atomic_compare_exchange_strong_explicit(&a->value, expected, desired, memory_order_acq_rel,       \
                                                       memory_order_acquire);                                    \
    }

#define SJ_DEFINE_ATOMIC_INTEGER(suffix, type)                                                                   \
    SJ_DEFINE_ATOMIC(suffix, type)                                                                               \
    SJ_ALWAYS_INLINE type sj_fetch_add_relaxed_##suffix(struct sj_atomic_##suffix *a, type value)                \
    {                                                                                                            \
        return atomic_fetch_add_explicit(&a->value, value, memory_order_relaxed);                                \
    }                                                                                                            \
    SJ_ALWAYS_INLINE type sj_fetch_sub_relaxed_##suffix(struct sj_atomic_##suffix *a, type value)                \
    {                                                                                                            \
        return atomic_fetch_sub_explicit(&a->value, value, memory_order_relaxed);                                \
    }                                                                                                            \
    SJ_ALWAYS_INLINE type sj_fetch_or_acq_rel_##suffix(struct sj_atomic_##suffix *a, type value)                 \
    {                                                                                                            \
        return atomic_fetch_or_explicit(&a->value, value, memory_order_acq_rel);                                 \
    }                                                                                                            \
    SJ_ALWAYS_INLINE type sj_fetch_and_acq_rel_##suffix(struct sj_atomic_##suffix *a, type value)                \
    {                                                                                                            \
        return atomic_fetch_and_explicit(&a->value, value, memory_order_acq_rel);                                \
    }

SJ_DEFINE_ATOMIC_INTEGER(u32, uint32_t)
SJ_DEFINE_ATOMIC_INTEGER(u64, uint64_t)
SJ_DEFINE_ATOMIC_INTEGER(size, size_t)
SJ_DEFINE_ATOMIC(ptr, void *)

#endif
