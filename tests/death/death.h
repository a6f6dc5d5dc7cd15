/* SPDX-License-Identifier: MIT */
/*
 * What: the shapes shared by the death tests: a family of cases, and the calls a bad pointer can be given to.
 *
 * Why this way: each case is run in a process of its own (`misuse NAME`), and so is its twin, the same program
 * without the misuse (`misuse NAME twin`), which must end quietly with status 0. The list of cases, with what each
 * must end in, comes out of the same tables (`misuse --list`), so that the driver knows nothing by itself.
 *
 * Invariants: main() allocates nothing before the case runs, so that a case can make its misuse the first call ever.
 * A case runs twin and misuse through the same code up to the one bad call.
 *
 * Concurrency: a case may start threads; it joins them before it returns.
 */
#ifndef SJ_TESTS_DEATH_H
#define SJ_TESTS_DEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Defined by the library under test; weak, since glibc 2.36 lacks some of them. */
extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
extern void cfree(void *) __attribute__((weak));
extern void __libc_free(void *) __attribute__((weak));
extern void *__libc_realloc(void *, size_t) __attribute__((weak));

enum death_call {
    DEATH_FREE,
    DEATH_REALLOC,
    DEATH_USABLE_SIZE,
    DEATH_REALLOCARRAY,
    DEATH_REALLOC_ZERO,
    DEATH_FREE_SIZED,
    DEATH_FREE_ALIGNED_SIZED,
    DEATH_CFREE,
    DEATH_LIBC_FREE,
    DEATH_LIBC_REALLOC,
    DEATH_CALL_COUNT
};

enum death_parameter {
    DEATH_NO_PARAMETER,
    DEATH_SIZE, /* one case a number of `values` */
    DEATH_CALL, /* one case a call of the set bits in `calls` */
};

#define DEATH_BIT(call) (1u << (call))
/* Calls that give the pointer back, and calls that look into it. */
#define DEATH_FREES                                                                                              \
    (DEATH_BIT(DEATH_FREE) | DEATH_BIT(DEATH_CFREE) | DEATH_BIT(DEATH_LIBC_FREE) | DEATH_BIT(DEATH_FREE_SIZED) | \
     DEATH_BIT(DEATH_FREE_ALIGNED_SIZED))
#define DEATH_LOOKS                                                                            \
    (DEATH_BIT(DEATH_REALLOC) | DEATH_BIT(DEATH_USABLE_SIZE) | DEATH_BIT(DEATH_REALLOCARRAY) | \
     DEATH_BIT(DEATH_LIBC_REALLOC))
#define DEATH_MAIN_CALLS (DEATH_BIT(DEATH_FREE) | DEATH_BIT(DEATH_REALLOC) | DEATH_BIT(DEATH_USABLE_SIZE))
#define DEATH_ALL_CALLS  ((1u << DEATH_CALL_COUNT) - 1)

/* What the driver expects, besides one or more report ids: */
#define DEATH_FAULT  "SIGSEGV" /* killed by SIGSEGV or SIGBUS, or reported as an access to what was guarded */
#define DEATH_SILENT "silent"  /* SIGABRT, and nothing of ours on the new fd 2 */

struct death_family {
    const char *name;
    const char *expect; /* report ids, alternatives separated by '|', or DEATH_FAULT, DEATH_SILENT */
    const char *levels; /* levels at which the misuse must end so, "0,1,2"; the twin runs at each */
    enum death_parameter parameter;
    unsigned calls;       /* DEATH_CALL: the set of calls */
    const size_t *values; /* DEATH_SIZE: ends with SIZE_MAX */
    void (*run)(bool misuse, size_t parameter);
};

/* The tables, each ends with a family without a name. */
extern const struct death_family death_foreign[];
extern const struct death_family death_interior[];
extern const struct death_family death_double[];
extern const struct death_family death_freed[];
extern const struct death_family death_sized[];
extern const struct death_family death_threads[];
extern const struct death_family death_zero[];
extern const struct death_family death_context[];
extern const struct death_family death_copy[];
extern const struct death_family death_written[];
extern const struct death_family death_overrun[];
extern const struct death_family death_families[];
extern const struct death_family death_arenas[];

/* One of each size class and the borders between small and large, ends with SIZE_MAX. */
extern const size_t death_all_sizes[];
/* A handful: tiny, middle, largest small, smallest large, huge. */
extern const size_t death_few_sizes[];

/* Gives the pointer to the call; returns if the allocator lets it pass. */
void death_give(enum death_call call, void *pointer, size_t size_bytes);
/* As death_give on a pointer that is valid, leaving it freed: what the twins do. */
void death_give_valid(enum death_call call, size_t size_bytes);
/* Frees again something just freed. */
void death_free(void *pointer);
/* malloc that ends the test with status 3 when there is no memory, and writes to the first and last byte. */
void *death_new(size_t size_bytes);
/* A message on fd 2 and exit with status 3: the case could not be set up. */
_Noreturn void death_cannot(const char *why);

/* Hides from the compiler where a pointer comes from. */
static inline void *death_hide(const void *pointer)
{
    void *hidden = (void *)(uintptr_t)pointer;
    __asm__ volatile("" : "+r"(hidden) : : "memory");
    return hidden;
}

static inline void *death_offset(const void *pointer, ptrdiff_t bytes)
{
    return death_hide((void *)((uintptr_t)pointer + (uintptr_t)bytes));
}

#endif
