/* SPDX-License-Identifier: MIT
 *
 * What: scrubbing: every size from 16 to 4096 bytes at every place in a line, by the baseline and by AVX2.
 *
 * Why this way: the bytes around are watched, so a store too many is seen as well as one too few. Which path is taken
 * hangs on one flag, which the test turns.
 *
 * Invariants: the flag is left as it was found.
 *
 * Concurrency: none.
 */
#include "unit/unit.h"

#include "platform/cpu.h"
#include "span/scrub.h"

#include <sys/mman.h>

enum { LINE_BYTES = 64, LARGEST_BYTES = 4096, MARGIN_BYTES = 128, STEP_BYTES = 16, OLD = 0xa5 };

static _Alignas(LINE_BYTES) unsigned char area[MARGIN_BYTES + LINE_BYTES + LARGEST_BYTES + MARGIN_BYTES];
static unsigned char old_bytes[sizeof area];

static bool is_old(size_t at, size_t count)
{
    return memcmp(area + at, old_bytes + at, count) == 0;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    static const unsigned char zeros[LARGEST_BYTES];
    return memcmp(bytes, zeros, count) == 0;
}

/* True if scrubbing [at, at + bytes) of the area with `scrub` zeroes this and touches nothing else. */
static bool scrubs_exactly(void (*scrub)(void *, size_t), size_t at, size_t bytes)
{
    memcpy(area, old_bytes, sizeof area);
    scrub(area + at, bytes);
    size_t end = at + bytes;
    return is_old(0, at) && is_zero(area + at, bytes) && is_old(end, sizeof area - end);
}

static void scrub_inline(void *start, size_t bytes)
{
    sj_scrub_inline(start, bytes);
}

static void scrub_slot(void *start, size_t bytes)
{
    sj_scrub_slot(start, bytes);
}

static void check_every_size_and_place(void (*scrub)(void *, size_t), size_t largest_bytes)
{
    for (size_t bytes = STEP_BYTES; bytes <= largest_bytes; bytes += STEP_BYTES)
        for (size_t offset = 0; offset < LINE_BYTES; offset += STEP_BYTES)
            if (!CHECK(scrubs_exactly(scrub, MARGIN_BYTES + offset, bytes)))
                unit_print("# %zu bytes at %zu\n", bytes, offset);
}

/* Every byte old; then zeros but for one byte, so that a line looks clean at first sight. */
static void check_contents(void)
{
    memset(old_bytes, OLD, sizeof old_bytes);
    check_every_size_and_place(sj__scrub_bytes, LARGEST_BYTES);
    for (size_t only = 0; only < LINE_BYTES; only++) {
        memset(old_bytes, 0, sizeof old_bytes);
        for (size_t i = only; i < sizeof old_bytes; i += LINE_BYTES)
            old_bytes[i] = OLD;
        for (size_t offset = 0; offset < LINE_BYTES; offset += STEP_BYTES)
            CHECK(scrubs_exactly(sj__scrub_bytes, MARGIN_BYTES + offset, LARGEST_BYTES - 3 * STEP_BYTES));
    }
}

static void span_scrub__writes_zeros_exactly_by_baseline(void)
{
    bool found = sj__cpu_avx2;
    sj__cpu_avx2 = false;
    check_contents();
    sj__cpu_avx2 = found;
}

static void span_scrub__writes_zeros_exactly_by_avx2(void)
{
    if (!sj_cpu_has_avx2())
        SKIP("this processor has no AVX2");
    check_contents();
}

static void span_scrub__writes_zeros_exactly_inline(void)
{
    memset(old_bytes, OLD, sizeof old_bytes);
    check_every_size_and_place(scrub_inline, SJ_SCRUB_INLINE_BYTES);
    check_every_size_and_place(scrub_slot, LARGEST_BYTES);
}

static void span_scrub__does_nothing_for_no_bytes(void)
{
    memset(old_bytes, OLD, sizeof old_bytes);
    for (size_t offset = 0; offset < LINE_BYTES; offset += STEP_BYTES)
        CHECK(scrubs_exactly(sj__scrub_bytes, MARGIN_BYTES + offset, 0));
}

/* KiB of memory of the mapping at an address; -1: it's not by itself in /proc/self/smaps. */
static long anonymous_kib(const void *mapping)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    if (maps == NULL)
        return -1;
    char line[256], want[32];
    long kib = -1;
    bool inside = false;
    (void)snprintf(want, sizeof want, "%lx-", (unsigned long)(uintptr_t)mapping);
    while (kib < 0 && fgets(line, sizeof line, maps) != NULL) {
        inside = strncmp(line, want, strlen(want)) == 0 || (inside && strchr(line, '-') == NULL);
        if (inside && sscanf(line, "Anonymous: %ld kB", &kib) != 1)
            kib = -1;
    }
    (void)fclose(maps);
    return kib;
}

enum { UNTOUCHED_PAGES = 256 };

static unsigned char *untouched_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    if (madvise(pages, bytes, MADV_NOHUGEPAGE) != 0)
        NOTE("no MADV_NOHUGEPAGE here");
    return pages;
}

/* KiB that a plain read of so much takes; -1: it can't be seen. A paravirtual kernel may have no zero page: there each page
 * that is read takes memory, whoever reads it. */
static long taken_by_reads(size_t bytes)
{
    unsigned char *pages = untouched_pages(bytes);
    if (pages == NULL)
        return -1;
    for (size_t at = 0; at < bytes; at += 64)
        (void)*(volatile unsigned char *)(pages + at);
    long kib = anonymous_kib(pages);
    (void)munmap(pages, bytes);
    return kib;
}

/* What was never written costs no memory to scrub: the lines are read first, and a read maps the zero page. */
static void span_scrub__leaves_untouched_pages_without_memory(void)
{
    size_t bytes = UNTOUCHED_PAGES * (size_t)sysconf(_SC_PAGESIZE);
    if (taken_by_reads(bytes) != 0)
        SKIP("this kernel has no zero page, or does not tell");
    unsigned char *pages = untouched_pages(bytes);
    REQUIRE(pages != NULL);
    sj__scrub_bytes(pages, bytes);
    long kib = anonymous_kib(pages);
    (void)munmap(pages, bytes);
    if (kib < 0)
        SKIP("the mapping is not by itself in /proc/self/smaps");
    CHECK_EQ(kib, 0);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    sj__cpu_start();
    RUN(span_scrub__writes_zeros_exactly_by_baseline);
    RUN(span_scrub__writes_zeros_exactly_by_avx2);
    RUN(span_scrub__writes_zeros_exactly_inline);
    RUN(span_scrub__does_nothing_for_no_bytes);
    RUN(span_scrub__leaves_untouched_pages_without_memory);
    return unit_end();
}
