/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see tags.h.
 */
#include "platform/tags.h"

#if defined(__aarch64__)

#include <errno.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

/* Names that older headers lack. */
#define TAGS_CAPABILITY    (1ul << 18)     /* HWCAP2_MTE */
#define TAGS_CONTROL       55              /* PR_SET_TAGGED_ADDR_CTRL */
#define TAGS_ADDRESSES     1ul             /* PR_TAGGED_ADDR_ENABLE: system calls take pointers with tags */
#define TAGS_SYNC          (1ul << 1)      /* PR_MTE_TCF_SYNC */
#define TAGS_ASYNC         (1ul << 2)      /* PR_MTE_TCF_ASYNC */
#define TAGS_CHOICE        (0xfffeul << 3) /* the tags that are drawn from: all but 0 */
#define TAGS_USE_EXTENSION ".arch armv8.5-a+memtag\n\t" /* for what follows in this file */

bool sj__tags_on;

const char *sj__tags_start(bool at_once)
{
    int saved_errno = errno;
    unsigned long control = TAGS_ADDRESSES | (at_once ? TAGS_SYNC : TAGS_ASYNC) | TAGS_CHOICE;
    if ((getauxval(AT_HWCAP2) & TAGS_CAPABILITY) == 0)
        return "this processor, or its kernel, has no memory tagging (HWCAP2_MTE)";
    bool done = prctl(TAGS_CONTROL, control, 0ul, 0ul, 0ul) == 0;
    errno = saved_errno;
    if (!done)
        return "the kernel refused (PR_SET_TAGGED_ADDR_CTRL)";
    sj__tags_on = true;
    return NULL;
}

unsigned sj__tags_get(const void *address)
{
    uint64_t tagged = (uint64_t)(uintptr_t)address;
    __asm__ volatile(TAGS_USE_EXTENSION "ldg %0, [%0]" : "+r"(tagged)::"memory");
    return (unsigned)(tagged >> SJ_TAGS_SHIFT) & SJ_TAGS_MASK;
}

void sj__tags_set(void *start, size_t bytes, unsigned tag)
{
    uint64_t tagged = (uint64_t)(uintptr_t)sj_tags_put(start, tag);
    uint64_t end = tagged + bytes;
    if ((bytes & SJ_TAGS_GRANULE_BYTES) != 0)
        __asm__ volatile(TAGS_USE_EXTENSION "stg %0, [%0], #16" : "+r"(tagged)::"memory");
    while (tagged != end)
        __asm__ volatile(TAGS_USE_EXTENSION "st2g %0, [%0], #32" : "+r"(tagged)::"memory");
}

unsigned sj__tags_choose(unsigned excluded)
{
    uint64_t drawn = 0;
    __asm__ volatile(TAGS_USE_EXTENSION "irg %0, %0, %1" : "+r"(drawn) : "r"((uint64_t)excluded | 1));
    return (unsigned)(drawn >> SJ_TAGS_SHIFT) & SJ_TAGS_MASK;
}

#else

const char *sj__tags_start(bool at_once)
{
    (void)at_once;
    return "only aarch64 has memory tagging";
}

unsigned sj__tags_get(const void *address)
{
    (void)address;
    return 0;
}

void sj__tags_set(void *start, size_t bytes, unsigned tag)
{
    (void)start;
    (void)bytes;
    (void)tag;
}

unsigned sj__tags_choose(unsigned excluded)
{
    (void)excluded;
    return 0;
}

#endif
