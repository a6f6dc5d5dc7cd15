/* SPDX-License-Identifier: MIT
 *
 * What: the names that glibc's libc exports for malloc beyond those of family.c.
 *
 * Why this way: see family.c. Their types are glibc's too. The second names are functions and no aliases, since an
 * alias must stand in one file with what it names.
 *
 * Invariants: a check compares the exported list with libc's.
 *
 * Concurrency: as scrubjay.h.
 */
#include "front/api.h"
#include "front/bill.h"
#include "front/calls.h"
#include "front/control.h"
#include "front/names.h"
#include "front/stats_out.h"
#include "policy/bill.h"
#include "scrubjay.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char sj__names_aligned[] = "memalign"; /* unlike aligned_alloc, never strict about sizes */
const char sj__names_vsprintf_chk[] = "__vsprintf_chk";
const char sj__names_vsnprintf_chk[] = "__vsnprintf_chk";

void *pvalloc(size_t size);
void cfree(void *block);

/* By name: family.c comes along out of the archive, and a block of another malloc that comes first goes back to it. */
SJ_EXPORT void cfree(void *block)
{
    free(block);
}

SJ_EXPORT void *pvalloc(size_t size)
{
    return sj__api_pvalloc(size);
}

SJ_EXPORT int malloc_trim(size_t pad)
{
    return sj_malloc_trim(pad);
}

SJ_EXPORT int mallopt(int parameter, int value)
{
    int (*next)(int, int) = (int (*)(int, int))sj__entry_next("mallopt");
    return next != NULL ? next(parameter, value) : sj__control_mallopt(parameter, value);
}

SJ_EXPORT struct mallinfo2 mallinfo2(void)
{
    struct mallinfo2 info;
    struct sj_stats stats;
    struct sj_bill bill;
    struct mallinfo2 (*next)(void) = (struct mallinfo2(*)(void))sj__entry_next("mallinfo2");
    if (next != NULL)
        return next();
    memset(&info, 0, sizeof info);
    if (sj_stats_read(&stats) != 0 || !sj__bill_ask(&bill, NULL, false))
        return info;
    /* With what is in large blocks and the records it is all that is committed. */
    info.arena = bill.committed_bytes - bill.line[SJ_BILL_RECORDS] - bill.line[SJ_BILL_MAP] - stats.large_live_bytes;
    info.ordblks = stats.slabs;
    info.hblks = stats.large_live_blocks;
    info.hblkhd = stats.large_live_bytes;
    info.uordblks = stats.live_bytes - stats.large_live_bytes;
    info.fordblks = info.arena - info.uordblks;
    info.usmblks = bill.peak_bytes;
    info.fsmblks = bill.line[SJ_BILL_CACHED_SLOTS];
    info.keepcost = stats.free_held_bytes;
    return info;
}

/* mallinfo is deprecated for its callers, not for those who must provide it. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static int clamp(size_t value)
{
    return value > INT_MAX ? INT_MAX : (int)value;
}

SJ_EXPORT struct mallinfo mallinfo(void)
{
    struct mallinfo (*next)(void) = (struct mallinfo(*)(void))sj__entry_next("mallinfo");
    if (next != NULL)
        return next();
    struct mallinfo2 wide = mallinfo2();
    return (struct mallinfo){
        .arena = clamp(wide.arena),
        .ordblks = clamp(wide.ordblks),
        .hblks = clamp(wide.hblks),
        .hblkhd = clamp(wide.hblkhd),
        .usmblks = clamp(wide.usmblks),
        .fsmblks = clamp(wide.fsmblks),
        .uordblks = clamp(wide.uordblks),
        .fordblks = clamp(wide.fordblks),
        .keepcost = clamp(wide.keepcost),
    };
}

SJ_EXPORT void malloc_stats(void)
{
    void (*next)(void) = (void (*)(void))sj__entry_next("malloc_stats");
    if (next != NULL)
        next();
    else if (sj__start() && !sj__sealed.settings.disable)
        sj__stats_out_print();
}

/* glibc's words, as far as they fit: "fast" is what threads have at hand, and each line of the bill is an aspect. */
static void write_info(FILE *stream, const struct sj_stats *stats, const struct sj_bill *bill)
{
    const uint64_t *line = bill->line;
    uint64_t records_bytes = line[SJ_BILL_RECORDS] + line[SJ_BILL_MAP];
    uint64_t rest_bytes = bill->committed_bytes - records_bytes - stats->live_bytes - line[SJ_BILL_CACHED_SLOTS];
    (void)fprintf(stream, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n");
    (void)fprintf(stream, "<total type=\"fast\" count=\"0\" size=\"%" PRIu64 "\"/>\n", line[SJ_BILL_CACHED_SLOTS]);
    (void)fprintf(stream, "<total type=\"rest\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n", stats->slabs,
                  rest_bytes);
    (void)fprintf(stream, "<system type=\"current\" size=\"%" PRIu64 "\"/>\n", bill->committed_bytes);
    (void)fprintf(stream, "<system type=\"max\" size=\"%" PRIu64 "\"/>\n", bill->peak_bytes);
    for (unsigned i = 0; i < SJ_BILL_LINES; i++)
        (void)fprintf(stream, "<aspect type=\"%s\" size=\"%" PRIu64 "\"/>\n", sj__bill_names[i], line[i]);
    (void)fprintf(stream, "</heap>\n<total type=\"fast\" count=\"0\" size=\"%" PRIu64 "\"/>\n",
                  line[SJ_BILL_CACHED_SLOTS]);
    (void)fprintf(stream, "<total type=\"rest\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n", stats->slabs,
                  rest_bytes);
    (void)fprintf(stream, "<total type=\"mmap\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n",
                  stats->large_live_blocks, stats->large_live_bytes);
    (void)fprintf(stream, "<system type=\"current\" size=\"%" PRIu64 "\"/>\n", bill->committed_bytes);
    (void)fprintf(stream, "<system type=\"max\" size=\"%" PRIu64 "\"/>\n", bill->peak_bytes);
    (void)fprintf(stream, "<aspect type=\"total\" size=\"%" PRIu64 "\"/>\n</malloc>\n", stats->window_bytes);
}

SJ_EXPORT int malloc_info(int options, FILE *stream)
{
    struct sj_stats stats;
    struct sj_bill bill;
    int (*next)(int, FILE *) = (int (*)(int, FILE *))sj__entry_next("malloc_info");
    if (next != NULL)
        return next(options, stream);
    if (options != 0)
        return EINVAL;
    if (sj_stats_read(&stats) != 0 || !sj__bill_ask(&bill, NULL, false))
        return ENOMEM;
    write_info(stream, &stats, &bill);
    return 0;
}

/* ---- glibc's second names --------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_reallocarray(void *block, size_t count, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
struct mallinfo __libc_mallinfo(void);
int __libc_mallopt(int parameter, int value);
int __posix_memalign(void **block, size_t alignment, size_t size);

SJ_EXPORT void *__libc_malloc(size_t size)
{
    return sj__entry_malloc(size);
}

SJ_EXPORT void __libc_free(void *block)
{
    sj__entry_free(block);
}

SJ_EXPORT void *__libc_calloc(size_t count, size_t size)
{
    return sj__entry_calloc(count, size);
}

SJ_EXPORT void *__libc_realloc(void *block, size_t size)
{
    return sj__entry_realloc(block, size);
}

SJ_EXPORT void *__libc_reallocarray(void *block, size_t count, size_t size)
{
    return sj_reallocarray(block, count, size);
}

SJ_EXPORT void *__libc_memalign(size_t alignment, size_t size)
{
    return sj_memalign(alignment, size);
}

SJ_EXPORT int __posix_memalign(void **block, size_t alignment, size_t size)
{
    return sj_posix_memalign(block, alignment, size);
}

SJ_EXPORT void *__libc_valloc(size_t size)
{
    return sj__api_valloc(size);
}

SJ_EXPORT void *__libc_pvalloc(size_t size) SJ_SECOND_NAME_OF(pvalloc);
SJ_EXPORT struct mallinfo __libc_mallinfo(void) SJ_SECOND_NAME_OF(mallinfo);
SJ_EXPORT int __libc_mallopt(int parameter, int value) SJ_SECOND_NAME_OF(mallopt);
