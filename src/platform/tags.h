/* SPDX-License-Identifier: MIT
 *
 * What: tags of memory and pointers, as aarch64's Memory Tagging Extension has them: four bits for each 16 bytes of memory, and
 * four in the top byte of a pointer, which the processor compares at each access.
 *
 * Why this way: the library itself goes by addresses without tags, and has the processor look away (PSTATE.TCO) while it is
 * at work: then no computation of it need know of tags but where pointers come in and go out (front/tagged.h). On
 * processors of other kinds all of this is a constant "no", and no instruction is left of it. Only tags.c has instructions
 * of the extension; none of them runs before the kernel has said that there are some.
 *
 * Invariants: off until sj__tags_start has returned true; constant afterwards. Looking away nests: who ends it puts back what it
 * found. Tag 0 is what fresh memory and pointers without a tag have; no choice returns it.
 *
 * Concurrency: the check is each thread's own state, which its children have from it; memory has one tag for all threads.
 */
#ifndef SJ_PLATFORM_TAGS_H
#define SJ_PLATFORM_TAGS_H

#include "base/compiler.h"

enum {
    SJ_TAGS_GRANULE_BYTES = 16,
    SJ_TAGS_PROTECTION = 0x20, /* PROT_MTE */
    SJ_TAGS_FAULT_ASYNC = 8,   /* SEGV_MTEAERR */
    SJ_TAGS_FAULT_SYNC = 9,    /* SEGV_MTESERR */
    SJ_TAGS_SHIFT = 56,        /* of a pointer's tag */
    SJ_TAGS_MASK = 15
};

/* Turns the check on for the calling thread and those it makes. `at_once`: a mismatch faults where it is, else the kernel tells at
 * its next entry. NULL, or why there is none. */
const char *sj__tags_start(bool at_once);

/* The tag of the 16 bytes at `address`, which must be accessible. */
unsigned sj__tags_get(const void *address);

/* Gives a stretch of memory this tag; both ends are multiples of 16. Its contents stay. */
void sj__tags_set(void *start, size_t bytes, unsigned tag);

/* A random tag that is not 0 and has no bit in `excluded`; 0 only if that leaves none. */
unsigned sj__tags_choose(unsigned excluded);

#if defined(__aarch64__)
extern SJ_HIDDEN bool sj__tags_on;
#define SJ_TAGS_LOOK_AWAY ((uint64_t)1 << 25) /* PSTATE.TCO */
#endif

SJ_ALWAYS_INLINE bool sj_tags_are_on(void)
{
#if defined(__aarch64__)
    return sj_unlikely(sj__tags_on);
#else
    return false;
#endif
}

/* The processor looks away from now on. Returns what is to be put back. */
SJ_ALWAYS_INLINE uint64_t sj_tags_ignore(void)
{
    uint64_t before = 0;
#if defined(__aarch64__)
    if (sj_tags_are_on()) { /* by number: assemblers know the register's name with the extension only */
        __asm__ volatile("mrs %0, s3_3_c4_c2_7" : "=r"(before)::"memory");
        __asm__ volatile("msr s3_3_c4_c2_7, %0" ::"r"(SJ_TAGS_LOOK_AWAY) : "memory");
    }
#endif
    return before;
}

SJ_ALWAYS_INLINE void sj_tags_heed(uint64_t before)
{
#if defined(__aarch64__)
    if (sj_tags_are_on())
        __asm__ volatile("msr s3_3_c4_c2_7, %0" ::"r"(before) : "memory");
#else
    (void)before;
#endif
}

/* From what sj_tags_ignore returned: did the processor look away already? */
SJ_ALWAYS_INLINE bool sj_tags_were_ignored(uint64_t before)
{
#if defined(__aarch64__)
    return (before & SJ_TAGS_LOOK_AWAY) != 0;
#else
    (void)before;
    return false;
#endif
}

SJ_ALWAYS_INLINE unsigned sj_tags_of(const void *pointer)
{
    return sj_tags_are_on() ? (unsigned)((uint64_t)(uintptr_t)pointer >> SJ_TAGS_SHIFT) & SJ_TAGS_MASK : 0;
}

/* The pointer as the library computes with it: an address. */
SJ_ALWAYS_INLINE void *sj_tags_strip(const void *pointer)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    if (sj_tags_are_on())
        address &= ~((uint64_t)255 << SJ_TAGS_SHIFT);
    return (void *)(uintptr_t)address;
}

SJ_ALWAYS_INLINE void *sj_tags_put(const void *address, unsigned tag)
{
    return (void *)(uintptr_t)((uint64_t)(uintptr_t)address | (uint64_t)tag << SJ_TAGS_SHIFT);
}

#endif
