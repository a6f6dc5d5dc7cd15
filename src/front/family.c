/* SPDX-License-Identifier: MIT
 *
 * What: the standard names that every libc has, and C23's sized frees.
 *
 * Why this way: every name must be ours. A missing one would send a call to the other heap: Debian's jemalloc crashes
 * on free(pvalloc(100)). The names are thin; the contracts are in front/api.c. What one libc has beyond these stands in
 * a file of its own, which the build chooses: glibc_names.c or no_more_names.c. The prefixed library leaves all out.
 *
 * Invariants: a check compares the exported list with libc's. Whoever takes one of the names out of the archive takes
 * all: a libc's malloc.o linked in for the sake of one would define the others twice.
 *
 * Concurrency: as scrubjay.h.
 */
#include "front/api.h"
#include "front/calls.h"
#include "front/names.h"
#include "scrubjay.h"

#include <malloc.h>
#include <stdlib.h>

void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

static const char *const all_names __attribute__((used)) = sj__names_aligned;

SJ_EXPORT void *malloc(size_t size)
{
    return sj__entry_malloc(size);
}

void *sj__names_malloc(size_t size) SJ_SECOND_NAME_OF(malloc);

SJ_EXPORT void free(void *block)
{
    sj__entry_free(block);
}

SJ_EXPORT void *calloc(size_t count, size_t size)
{
    return sj__entry_calloc(count, size);
}

SJ_EXPORT void *realloc(void *block, size_t size)
{
    return sj__entry_realloc(block, size);
}

SJ_EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    return sj_reallocarray(block, count, size);
}

SJ_EXPORT void free_sized(void *block, size_t size)
{
    sj__entry_free_sized(block, size);
}

SJ_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    sj__entry_free_aligned_sized(block, alignment, size);
}

/* As glibc: any power of two, and a size that need not be a multiple; other alignments are rounded up. */
SJ_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return sj_memalign(alignment, size);
}

SJ_EXPORT void *memalign(size_t alignment, size_t size)
{
    return sj_memalign(alignment, size);
}

SJ_EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
    return sj_posix_memalign(block, alignment, size);
}

SJ_EXPORT void *valloc(size_t size)
{
    return sj__api_valloc(size);
}

SJ_EXPORT size_t malloc_usable_size(void *block)
{
    return sj__entry_usable_size(block);
}
