/* SPDX-License-Identifier: MIT
 *
 * What: the names that jemalloc, hardened_malloc and the BSDs give to the functions of extra.c.
 *
 * Why this way: a program that has found one of them in a library of compatibility (libbsd) or in its own allocator
 * passes it blocks of ours; ours answers for them. jemalloc's set is whole, since programs that are linked with it (bind9's)
 * free by free() what they made by mallocx(). In the archive this file comes along only if a name of it is wanted.
 *
 * Invariants: each says what its namesake in extra.c says.
 *
 * Concurrency: as scrubjay.h promises.
 */
#include "base/compiler.h"
#include "scrubjay.h"

void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
size_t xallocx(void *block, size_t size, size_t extra, int flags);
size_t sallocx(const void *block, int flags);
void dallocx(void *block, int flags);
size_t nallocx(size_t size, int flags);
void sdallocx(void *block, size_t size, int flags);
void freezero(void *block, size_t size);
void *recallocarray(void *block, size_t old_count, size_t count, size_t size);
void *reallocf(void *block, size_t size);
int reallocarr(void *pointer, size_t count, size_t size);
size_t malloc_object_size(const void *pointer);

SJ_EXPORT void *mallocx(size_t size, int flags)
{
    return sj_mallocx(size, flags);
}

SJ_EXPORT void *rallocx(void *block, size_t size, int flags)
{
    return sj_rallocx(block, size, flags);
}

SJ_EXPORT size_t xallocx(void *block, size_t size, size_t extra, int flags)
{
    return sj_xallocx(block, size, extra, flags);
}

SJ_EXPORT size_t sallocx(const void *block, int flags)
{
    return sj_sallocx(block, flags);
}

SJ_EXPORT void dallocx(void *block, int flags)
{
    sj_dallocx(block, flags);
}

SJ_EXPORT size_t nallocx(size_t size, int flags)
{
    return sj_nallocx(size, flags);
}

SJ_EXPORT void sdallocx(void *block, size_t size, int flags)
{
    sj_sdallocx(block, size, flags);
}

SJ_EXPORT void freezero(void *block, size_t size)
{
    sj_freezero(block, size);
}

SJ_EXPORT void *recallocarray(void *block, size_t old_count, size_t count, size_t size)
{
    return sj_recallocarray(block, old_count, count, size);
}

SJ_EXPORT void *reallocf(void *block, size_t size)
{
    return sj_reallocf(block, size);
}

SJ_EXPORT int reallocarr(void *pointer, size_t count, size_t size)
{
    return sj_reallocarr(pointer, count, size);
}

SJ_EXPORT size_t malloc_object_size(const void *pointer)
{
    return sj_malloc_object_size(pointer);
}
