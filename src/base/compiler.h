/* SPDX-License-Identifier: MIT
 *
 * What: names for what the compiler can do, so that no other file has to ask which compiler it is.
 *
 * Why this way: every attribute and every `#if` on a compiler stands here; the rest of the tree reads as plain C17.
 *
 * Invariants: nothing here has an effect at run time, but for sj_assume_unreachable().
 *
 * Concurrency: none.
 */
#ifndef SJ_BASE_COMPILER_H
#define SJ_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SJ_ALWAYS_INLINE static inline __attribute__((always_inline))
#define SJ_NOINLINE      __attribute__((noinline))
#define SJ_COLD          __attribute__((cold, noinline))
#define SJ_EXPORT        __attribute__((visibility("default")))
#define SJ_HIDDEN        __attribute__((visibility("hidden"))) /* on hot externs: no detour through the GOT */
#define SJ_WEAK          __attribute__((weak))
#define SJ_ALIAS(target) __attribute__((alias(target)))
/* A second name of the same function, with its attributes where the compiler can copy them. */
#if defined(__has_attribute) && __has_attribute(copy)
#define SJ_SECOND_NAME_OF(target) __attribute__((alias(#target), copy(target)))
#else
#define SJ_SECOND_NAME_OF(target) __attribute__((alias(#target)))
#endif
__extension__ typedef unsigned __int128 sj_u128; /* the product of two words */

/* Marks a function that reads where the sanitizers' books say nothing good: the stacks of others. */
#define SJ_READS_ANYTHING __attribute__((noinline, no_sanitize("address", "thread")))

#define SJ_CACHE_LINE_BYTES 64
#define SJ_CACHE_ALIGNED    __attribute__((aligned(SJ_CACHE_LINE_BYTES)))

#define sj_likely(condition)   __builtin_expect(!!(condition), 1)
#define sj_unlikely(condition) __builtin_expect(!!(condition), 0)

/* Makes the compiler forget how a pointer was computed, so that it keeps it in a register and computes it once. */
#define sj_hold(pointer) __asm__("" : "+r"(pointer))

/* Keeps the compiler from moving loads and stores across; for what a signal handler of this thread may see. */
#define sj_compiler_barrier() __asm__ volatile("" ::: "memory")

/* Tells the compiler that control never comes here. In a debug build it traps. */
#if defined(SJ_DEBUG)
#define sj_assume_unreachable() __builtin_trap()
#else
#define sj_assume_unreachable() __builtin_unreachable()
#endif

/* An assertion: always type-checked, evaluated in debug builds only. A facts-of-life check that must hold in release too
 * is an `if` with a report, never an assertion. */
#if defined(SJ_DEBUG)
#define sj_assert(condition)           \
    do {                               \
        if (sj_unlikely(!(condition))) \
            __builtin_trap();          \
    } while (0)
#else
#define sj_assert(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

/* The level that the build has compiled in, with no choice at run time; see front/calls.h. */
#if defined(SJ_FIXED_LEVEL)
#define SJ_LEVEL_IS_FIXED true
#else
#define SJ_LEVEL_IS_FIXED false
#define SJ_FIXED_LEVEL    0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SJ_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SJ_UNDER_ASAN 1
#endif
#endif
#ifndef SJ_UNDER_ASAN
#define SJ_UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define SJ_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SJ_UNDER_TSAN 1
#endif
#endif
#ifndef SJ_UNDER_TSAN
#define SJ_UNDER_TSAN 0
#endif

#endif
