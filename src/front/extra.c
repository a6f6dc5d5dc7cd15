/* SPDX-License-Identifier: MIT
 *
 * What: what other allocators and the BSDs have beyond the standards: jemalloc's mallocx and its kin, freezero, recallocarray,
 * reallocf, reallocarr, and the bounds of the object that a pointer points into.
 *
 * Why this way: programs written for those systems find them, and each is made of the calls that exist, so that it
 * brings no state and no second rule. A size that a caller states and that reaches beyond the block is reported at
 * every level: to believe it would write or read there.
 *
 * Invariants: errno is set on failure only.
 *
 * Concurrency: as scrubjay.h promises.
 */
#include "base/checked.h"
#include "front/calls.h"
#include "platform/pages.h"
#include "platform/tags.h"
#include "report/report.h"
#include "scrubjay.h"
#include "span/large.h"
#include "span/scrub.h"

#include <errno.h>
#include <string.h>

enum { FLAGS_SHIFT_MASK = 63, FLAGS_ZERO = 64 }; /* jemalloc's MALLOCX_LG_ALIGN and MALLOCX_ZERO */

static bool calls_are_ours(void)
{
    return sj__start() && !sj__sealed.settings.disable;
}

static size_t alignment_of(int flags)
{
    return (size_t)1 << ((unsigned)flags & FLAGS_SHIFT_MASK);
}

/* Reports a block that is smaller than the caller says. What is not the start of a live block is left to who frees it. */
static bool is_live_of(const void *block, size_t size_bytes, struct sj_asker asker)
{
    struct sj_judgement judgement = sj__judge(block);
    if (judgement.verdict != SJ_IS_LIVE)
        return false;
    if (size_bytes > judgement.usable_bytes)
        sj__report_misuse(SJ_SIZE_MISMATCH, &(struct sj_report_facts){
                                                .pointer = block,
                                                .block = block,
                                                .function = asker.function,
                                                .caller = asker.caller,
                                                .size_bytes = judgement.usable_bytes,
                                                .given_bytes = size_bytes,
                                                .expected_bytes = judgement.usable_bytes,
                                                .note = "more bytes than the block has",
                                            });
    return true;
}

/* Not a byte more: behind a sampled block none is the program's. */
static void overwrite(void *block, size_t bytes)
{
    size_t steps_bytes = sj_round_down(bytes, SJ_SMALL_STEP_BYTES);
    sj__scrub_bytes(block, steps_bytes);
    memset((char *)block + steps_bytes, 0, bytes - steps_bytes);
}

SJ_EXPORT size_t sj_nallocx(size_t size, int flags)
{
    size_t alignment = alignment_of(flags), rounded = 0;
    if (!calls_are_ours())
        return size;
    const struct sj_policy *policy = &sj__sealed.in_force->policy;
    unsigned class_index = sj_heap_class_for(policy, size != 0 ? size : 1, alignment);
    if (class_index != 0)
        return policy->canary == SJ_CANARY_EXACT ? size
                                                 : sj__size_classes[class_index].usable_bytes - sj_canary_least(policy);
    if (!sj_checked_round_up(size, sj__page_bytes(), &rounded) || rounded > SJ_MAX_REQUEST_BYTES ||
        alignment > SJ_MAX_REQUEST_BYTES)
        return 0;
    return policy->canary != SJ_CANARY_OFF ? size : rounded - sj_large_shift(policy, rounded, size, alignment);
}

/* jemalloc zeroes what is usable, not only what was asked for. */
SJ_EXPORT void *sj_mallocx(size_t size, int flags)
{
    size_t alignment = alignment_of(flags);
    char *block = alignment <= 1 ? sj_malloc(size) : sj_memalign(alignment, size);
    if (block != NULL && (flags & FLAGS_ZERO) != 0)
        memset(block, 0, sj_malloc_usable_size(block));
    return block;
}

SJ_EXPORT void *sj_rallocx(void *block, size_t size, int flags)
{
    const size_t old_bytes = sj_malloc_usable_size(block);
    size_t bytes;
    char *moved = NULL;
    if (alignment_of(flags) <= 1) {
        moved = sj_realloc(block, size != 0 ? size : 1);
    } else if (block != NULL && calls_are_ours() && sj__judge(block).verdict != SJ_IS_LIVE) {
        errno = ENOMEM; /* not live, which has been reported; or foreign, and to be ignored */
    } else {
        moved = sj_memalign(alignment_of(flags), size);
        if (moved != NULL && block != NULL) {
            memcpy(moved, block, old_bytes < size ? old_bytes : size);
            sj_free(block);
        }
    }
    if (moved != NULL && (flags & FLAGS_ZERO) != 0 && (bytes = sj_malloc_usable_size(moved)) > old_bytes)
        memset(moved + old_bytes, 0, bytes - old_bytes);
    return moved;
}

/* Nothing is resized in place: the answer is the size that the block has. */
SJ_EXPORT size_t sj_xallocx(void *block, size_t size, size_t extra, int flags)
{
    (void)size;
    (void)extra;
    (void)flags;
    return sj_malloc_usable_size(block);
}

SJ_EXPORT size_t sj_sallocx(const void *block, int flags)
{
    (void)flags;
    return sj_malloc_usable_size((void *)(uintptr_t)block);
}

SJ_EXPORT void sj_dallocx(void *block, int flags)
{
    (void)flags;
    sj_free(block);
}

SJ_EXPORT void sj_sdallocx(void *block, size_t size, int flags)
{
    size_t alignment = alignment_of(flags);
    if (alignment <= 1)
        sj__entry_free_sized(block, size);
    else
        sj__entry_free_aligned_sized(block, alignment, size);
}

SJ_EXPORT void sj_freezero(void *block, size_t size)
{
    struct sj_asker asker = { .function = "freezero", .caller = __builtin_return_address(0) };
    if (block == NULL)
        return;
    if (!calls_are_ours() || is_live_of(block, size, asker))
        overwrite(block, size);
    sj__entry_free(block);
}

SJ_EXPORT void *sj_recallocarray(void *block, size_t old_count, size_t count, size_t size)
{
    struct sj_asker asker = { .function = "recallocarray", .caller = __builtin_return_address(0) };
    size_t old_bytes, new_bytes;
    if (block == NULL)
        return sj__entry_calloc(count, size);
    if (!sj_checked_mul(count, size, &new_bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!sj_checked_mul(old_count, size, &old_bytes)) {
        errno = EINVAL;
        return NULL;
    }
    if (calls_are_ours() && !is_live_of(block, old_bytes, asker)) {
        sj__entry_free(block); /* the report, unless foreign pointers are ignored */
        errno = ENOMEM;
        return NULL;
    }
    void *moved = sj__entry_calloc(1, new_bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, old_bytes < new_bytes ? old_bytes : new_bytes);
    overwrite(block, old_bytes);
    sj__entry_free(block);
    return moved;
}

SJ_EXPORT void *sj_reallocf(void *block, size_t size)
{
    void *moved = sj__entry_realloc(block, size);
    if (moved == NULL && size != 0) /* realloc to 0 bytes has freed it */
        sj__entry_free(block);
    return moved;
}

SJ_EXPORT int sj_reallocarr(void *pointer, size_t count, size_t size)
{
    void *block;
    size_t bytes;
    int saved_errno = errno;
    memcpy(&block, pointer, sizeof block);
    if (!sj_checked_mul(count, size, &bytes))
        return EOVERFLOW;
    void *moved = NULL;
    if (bytes == 0)
        sj__entry_free(block);
    else if ((moved = sj__entry_realloc(block, bytes)) == NULL) {
        errno = saved_errno;
        return ENOMEM;
    }
    memcpy(pointer, &moved, sizeof moved);
    return 0;
}

SJ_EXPORT int sj_object_bounds(const void *pointer, void **start, size_t *size)
{
    if (!calls_are_ours())
        return 0;
    const char *address = sj_tags_strip(pointer);
    struct sj_judgement judgement = sj__judge(address);
    if (judgement.verdict == SJ_IS_INTERIOR) /* of a live one, or of one that was freed */
        judgement.verdict = sj__judge(judgement.block).verdict;
    if (judgement.verdict != SJ_IS_LIVE)
        return 0;
    if ((size_t)(address - judgement.block) >= judgement.usable_bytes)
        return 0;
    if (start != NULL) {
        const void *tagged = sj_tags_put(judgement.block, sj_tags_of(pointer));
        memcpy(start, &tagged, sizeof *start);
    }
    if (size != NULL)
        *size = judgement.usable_bytes;
    return 1;
}

SJ_EXPORT size_t sj_malloc_object_size(const void *pointer)
{
    void *start;
    size_t size;
    if (!calls_are_ours() || !sj_window_contains(sj_tags_strip(pointer)))
        return SIZE_MAX;
    return sj_object_bounds(pointer, &start, &size) ? size - (size_t)((const char *)pointer - (char *)start) : 0;
}
