/* SPDX-License-Identifier: MIT
 *
 * What: the functions of scrubjay.h, and the contracts of the standards that are alike for sj_ and standard names.
 *
 * Why this way: the hot ones are a jump through the dispatch table. The rest say their contract in a few lines each.
 *
 * Invariants: errno is set on failure as the standards say, and kept otherwise.
 *
 * Concurrency: as scrubjay.h promises.
 */
#include "scrubjay.h"

#include "base/checked.h"
#include "front/api.h"
#include "front/calls.h"
#include "front/control.h"
#include "front/slow.h"
#include "front/summary.h"
#include "platform/pages.h"
#include "policy/options.h"

#include <errno.h>

SJ_EXPORT void *sj_malloc(size_t size)
{
    return sj__entry_malloc(size);
}

SJ_EXPORT void *sj_calloc(size_t count, size_t size)
{
    return sj__entry_calloc(count, size);
}

SJ_EXPORT void *sj_realloc(void *block, size_t size)
{
    return sj__entry_realloc(block, size);
}

SJ_EXPORT void *sj_reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (!sj_checked_mul(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return sj__entry_realloc(block, bytes);
}

SJ_EXPORT void sj_free(void *block)
{
    sj__entry_free(block);
}

SJ_EXPORT void sj_free_sized(void *block, size_t size)
{
    sj__entry_free_sized(block, size);
}

SJ_EXPORT void sj_free_aligned_sized(void *block, size_t alignment, size_t size)
{
    sj__entry_free_aligned_sized(block, alignment, size);
}

SJ_EXPORT void *sj_aligned_alloc(size_t alignment, size_t size)
{
    if (!sj_is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return sj__entry_aligned(alignment, size);
}

SJ_EXPORT void *sj_memalign(size_t alignment, size_t size)
{
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t power = alignment <= 1 ? 1 : (size_t)2 << sj_highest_bit(alignment - 1);
    return sj__entry_aligned(power, size);
}

SJ_EXPORT int sj_posix_memalign(void **block, size_t alignment, size_t size)
{
    if (!sj_is_power_of_two(alignment) || alignment % sizeof(void *) != 0)
        return EINVAL;
    int saved_errno = errno;
    void *start = sj__entry_aligned(alignment, size);
    errno = saved_errno;
    if (start == NULL)
        return ENOMEM;
    *block = start;
    return 0;
}

void *sj__api_valloc(size_t size)
{
    return sj__entry_aligned(sj__page_bytes(), size);
}

void *sj__api_pvalloc(size_t size)
{
    size_t bytes;
    if (!sj_checked_round_up(size, sj__page_bytes(), &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return sj__entry_aligned(sj__page_bytes(), bytes);
}

SJ_EXPORT size_t sj_malloc_usable_size(void *block)
{
    return sj__entry_usable_size(block);
}

SJ_EXPORT int sj_stats_read(struct sj_stats *stats)
{
    if (!sj__start() || sj__sealed.settings.disable) {
        errno = sj__sealed.settings.disable ? ENOTSUP : ENOMEM;
        return -1;
    }
    enum sj_inside outer =
        sj__slow_enter((struct sj_asker){ .function = "sj_stats_read", .caller = __builtin_return_address(0) });
    sj__summary_fill(stats);
    sj__slow_leave(outer);
    return 0;
}

SJ_EXPORT const char *sj_version(void)
{
    return SJ_VERSION_TEXT;
}

SJ_EXPORT size_t sj_policy_text(char *buffer, size_t size)
{
    if (!sj__start() || sj__sealed.settings.disable) {
        if (size > 0)
            buffer[0] = '\0';
        return 0;
    }
    struct sj_settings settings;
    sj__control_settings(&settings);
    return sj__options_print(&settings, buffer, size);
}
