/* SPDX-License-Identifier: MIT
 *
 * What: how the entry points reach the variant of the level in force.
 *
 * Why this way: by a jump through the dispatch table, so that one library serves every level. A build with
 * SCRUBJAY_FIXED_LEVEL has one level's fast paths inlined here instead. It is there to be measured against, so that
 * what the choice costs is a figure and not a belief (bench/bars/choice.sh); nobody should ship it.
 *
 * Invariants: in such a build the settings in force hold that level's policy, whatever the options say, and the slow
 * paths start the library, since no table leads to the start.
 *
 * Concurrency: as front/entry.h.
 */
#ifndef SJ_FRONT_CALLS_H
#define SJ_FRONT_CALLS_H

#include "front/entry.h"
#include "front/fast.h"

static const struct sj_policy sj_calls_levels[] = {
    SJ_POLICY_LEVEL_0, SJ_POLICY_LEVEL_1, SJ_POLICY_LEVEL_2, SJ_POLICY_LEVEL_3, SJ_POLICY_LEVEL_4,
};
#define SJ_FIXED_POLICY (&sj_calls_levels[SJ_FIXED_LEVEL])

SJ_ALWAYS_INLINE void *sj__entry_malloc(size_t size_bytes)
{
    return SJ_LEVEL_IS_FIXED ? sj_fast_malloc(SJ_FIXED_POLICY, size_bytes, false, SJ_FAMILY_MALLOC)
                             : sj__sealed.dispatch.malloc(size_bytes);
}

SJ_ALWAYS_INLINE void *sj__entry_calloc(size_t count, size_t size_bytes)
{
    return SJ_LEVEL_IS_FIXED ? sj_fast_calloc(SJ_FIXED_POLICY, count, size_bytes)
                             : sj__sealed.dispatch.calloc(count, size_bytes);
}

SJ_ALWAYS_INLINE void *sj__entry_realloc(void *block, size_t size_bytes)
{
    return SJ_LEVEL_IS_FIXED ? sj_fast_realloc(SJ_FIXED_POLICY, block, size_bytes)
                             : sj__sealed.dispatch.realloc(block, size_bytes);
}

/* `alignment` is a power of two; `size_bytes` need not be a multiple of it. */
SJ_ALWAYS_INLINE void *sj__entry_aligned(size_t alignment, size_t size_bytes)
{
    return SJ_LEVEL_IS_FIXED ? sj__slow_aligned(alignment, size_bytes)
                             : sj__sealed.dispatch.aligned(alignment, size_bytes);
}

SJ_ALWAYS_INLINE void sj__entry_free(void *block)
{
    if (SJ_LEVEL_IS_FIXED)
        sj_fast_free(SJ_FIXED_POLICY, block, SJ_FAMILY_MALLOC);
    else
        sj__sealed.dispatch.free(block);
}

SJ_ALWAYS_INLINE void sj__entry_free_sized(void *block, size_t size_bytes)
{
    if (SJ_LEVEL_IS_FIXED)
        sj_fast_free_sized(SJ_FIXED_POLICY, block, size_bytes, SJ_FAMILY_MALLOC);
    else
        sj__sealed.dispatch.free_sized(block, size_bytes);
}

SJ_ALWAYS_INLINE void sj__entry_free_aligned_sized(void *block, size_t alignment, size_t size_bytes)
{
    if (SJ_LEVEL_IS_FIXED)
        sj__slow_free_aligned_sized(block, alignment, size_bytes);
    else
        sj__sealed.dispatch.free_aligned_sized(block, alignment, size_bytes);
}

SJ_ALWAYS_INLINE size_t sj__entry_usable_size(void *block)
{
    return SJ_LEVEL_IS_FIXED ? sj_fast_usable_size(SJ_FIXED_POLICY, block) : sj__sealed.dispatch.usable_size(block);
}

/* operator new of one of its two families, which is a constant where this is called. NULL if there is no memory. */
SJ_ALWAYS_INLINE void *sj__entry_new(size_t size_bytes, enum sj_family family)
{
    if (SJ_LEVEL_IS_FIXED)
        return sj_fast_malloc(SJ_FIXED_POLICY, size_bytes, false, family);
    return family == SJ_FAMILY_NEW ? sj__sealed.dispatch.new_object(size_bytes)
                                   : sj__sealed.dispatch.new_array(size_bytes);
}

SJ_ALWAYS_INLINE void sj__entry_delete(void *block, enum sj_family family)
{
    if (SJ_LEVEL_IS_FIXED)
        sj_fast_free(SJ_FIXED_POLICY, block, family);
    else if (family == SJ_FAMILY_NEW)
        sj__sealed.dispatch.delete_object(block);
    else
        sj__sealed.dispatch.delete_array(block);
}

SJ_ALWAYS_INLINE void sj__entry_delete_sized(void *block, size_t size_bytes, enum sj_family family)
{
    if (SJ_LEVEL_IS_FIXED)
        sj_fast_free_sized(SJ_FIXED_POLICY, block, size_bytes, family);
    else if (family == SJ_FAMILY_NEW)
        sj__sealed.dispatch.delete_object_sized(block, size_bytes);
    else
        sj__sealed.dispatch.delete_array_sized(block, size_bytes);
}

#endif
