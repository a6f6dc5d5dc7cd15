/* SPDX-License-Identifier: MIT
 *
 * What: regions and the window: where they begin, how they grow, what is in the way, and the lookup of any bit pattern.
 *
 * Why this way: regions are opened a second time beside the library's own; the window is the process's one, grown from
 * here. Kernels that refuse or have no room where they are asked are played by a page source.
 *
 * Invariants: each test leaves the kernel as the page source.
 *
 * Concurrency: none: the window is grown without its lock.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "front/entry.h"
#include "meta/region.h"
#include "meta/window.h"
#include "platform/pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { STEP_BYTES = 1 << 20, GIBIBYTE_SHIFT = 30, SKIP_BYTES = 64 << 20 };

/* --- Page sources. --- */

static bool refuse_maps;         /* all of them */
static bool refuse_chosen;       /* those that name a place */
static size_t refuse_from_bytes; /* those that are this large; 0: none */
static size_t mapped_bytes;      /* by maps that were granted, less what was unmapped */

static void *source_map(void *address, size_t bytes, int protection, int flags)
{
    if (refuse_maps || (refuse_chosen && address != NULL) || (refuse_from_bytes != 0 && bytes >= refuse_from_bytes)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *got = mmap(address, bytes, protection, flags, -1, 0);
    mapped_bytes += got != MAP_FAILED ? bytes : 0;
    return got;
}

static int source_unmap(void *address, size_t bytes)
{
    mapped_bytes -= bytes;
    return munmap(address, bytes);
}

static int source_protect(void *address, size_t bytes, int protection)
{
    if (refuse_maps) {
        errno = ENOMEM;
        return -1;
    }
    return mprotect(address, bytes, protection);
}

static void *source_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return mremap(from, from_bytes, to_bytes, flags, to);
}

static const struct sj_page_source source = { source_map, source_unmap, source_protect, madvise, source_move };

static void use_source(void)
{
    refuse_maps = refuse_chosen = false;
    refuse_from_bytes = mapped_bytes = 0;
    sj__pages_set_source(&source);
}

static void use_kernel(void)
{
    sj__pages_set_source(NULL);
}

static bool reading_faults(const volatile char *byte)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        (void)*byte;
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static bool is_zero(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* --- Regions. --- */

static void close_region(const struct sj_region *region)
{
    (void)munmap(region->base, region->reserved ? region->limit_bytes : region->mapped_bytes);
}

static void meta_region__opens_and_grows_at_any_random_word(void)
{
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < 64; i++) {
        enum sj_region_place place = (enum sj_region_place)(i % SJ_REGION_PLACES);
        uint64_t random = i < 3 ? 0 : i < 6 ? ~(uint64_t)0 : unit_random(&state);
        struct sj_region region;
        REQUIRE(sj__region_open(&region, place, random));
        CHECK_EQ((uintptr_t)region.base % SJ_GRANULE_BYTES, 0);
        size_t at_start = region.mapped_bytes;
        CHECK(at_start >= (size_t)SJ_GRANULE_BYTES && at_start <= region.limit_bytes);
        REQUIRE(sj__region_grow(&region, STEP_BYTES));
        CHECK_EQ(region.mapped_bytes, at_start + STEP_BYTES);
        CHECK(is_zero(region.base, region.mapped_bytes));
        memset(region.base, 1, region.mapped_bytes);
        close_region(&region);
    }
}

static void meta_region__page_before_the_base_faults(void)
{
    struct sj_region region;
    REQUIRE(sj__region_open(&region, SJ_REGION_META, unit_state.seed));
    CHECK(reading_faults(region.base - 1));
    close_region(&region);
}

static void meta_region__lies_where_the_kernel_chooses_when_the_place_is_refused(void)
{
    struct sj_region region;
    use_source();
    refuse_chosen = true;
    bool opened = sj__region_open(&region, SJ_REGION_META, unit_state.seed);
    use_kernel();
    REQUIRE(opened);
    CHECK(region.reserved);
    CHECK_EQ((uintptr_t)region.base % SJ_GRANULE_BYTES, 0);
    CHECK(reading_faults(region.base - 1));
    CHECK(reading_faults(region.base + region.mapped_bytes));
    CHECK(sj__region_grow(&region, STEP_BYTES));
    CHECK(is_zero(region.base, region.mapped_bytes));
    CHECK(!sj__region_skip(&region, STEP_BYTES)); /* nobody can sit in a reservation */
    CHECK(!sj__region_grow(&region, region.limit_bytes));
    CHECK(sj__region_grow(&region, region.limit_bytes - region.mapped_bytes));
    CHECK(!sj__region_grow(&region, SJ_GRANULE_BYTES));
    close_region(&region);
}

static void meta_region__asks_for_less_when_much_is_refused(void)
{
    struct sj_region region;
    use_source();
    refuse_chosen = true;
    refuse_from_bytes = (size_t)SJ_GRANULE_BYTES * 9;
    bool opened = sj__region_open(&region, SJ_REGION_WINDOW, unit_state.seed);
    use_kernel();
    REQUIRE(opened);
    CHECK(region.limit_bytes >= (size_t)SJ_GRANULE_BYTES);
    CHECK(region.limit_bytes < (size_t)SJ_GRANULE_BYTES * 9);
    close_region(&region);
}

static void meta_region__does_not_open_when_all_is_refused(void)
{
    struct sj_region region;
    use_source();
    refuse_maps = true;
    CHECK(!sj__region_open(&region, SJ_REGION_META, unit_state.seed));
    use_kernel();
}

static void meta_region__stays_as_it_is_when_growth_is_refused(void)
{
    struct sj_region region;
    REQUIRE(sj__region_open(&region, SJ_REGION_META, unit_state.seed));
    size_t before = region.mapped_bytes;
    use_source();
    refuse_maps = true;
    CHECK(!sj__region_grow(&region, STEP_BYTES));
    use_kernel();
    CHECK_EQ(region.mapped_bytes, before);
    CHECK(sj__region_grow(&region, STEP_BYTES));
    CHECK(!sj__region_grow(&region, SIZE_MAX));
    CHECK(!sj__region_grow(&region, region.limit_bytes));
    CHECK_EQ(region.mapped_bytes, before + STEP_BYTES);
    close_region(&region);
}

static void meta_region__goes_on_behind_somebody_else(void)
{
    struct sj_region region;
    REQUIRE(sj__region_open(&region, SJ_REGION_META, unit_state.seed));
    if (region.reserved) {
        close_region(&region);
        SKIP("the place is the kernel's choice here, and reserved");
    }
    char *end = region.base + region.mapped_bytes;
    char *other =
        mmap(end, SJ_GRANULE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    REQUIRE(other == end);
    memset(other, 7, SJ_GRANULE_BYTES);
    CHECK(!sj__region_grow(&region, SJ_GRANULE_BYTES));
    CHECK(!sj__region_grow(&region, STEP_BYTES));
    CHECK(sj__region_skip(&region, 2 * (size_t)SJ_GRANULE_BYTES));
    CHECK(sj__region_grow(&region, STEP_BYTES));
    memset(end + 2 * (size_t)SJ_GRANULE_BYTES, 1, STEP_BYTES);
    CHECK_EQ(other[0], 7);
    CHECK_EQ(other[SJ_GRANULE_BYTES - 1], 7);
    CHECK(!sj__region_skip(&region, region.limit_bytes));
    (void)munmap(region.base, region.mapped_bytes);
}

/* --- The window. --- */

static size_t limit_bytes(void)
{
    return sj_load_relaxed_size(&sj__window_limit_bytes);
}

static char *window_end(void)
{
    return (char *)sj__window_base + limit_bytes();
}

static const void *as_pointer(uintptr_t bits)
{
    const void *pointer;
    memcpy(&pointer, &bits, sizeof pointer);
    return pointer;
}

static void meta_window__finds_a_record_for_any_bit_pattern(void)
{
    uint64_t state = unit_state.seed;
    const uintptr_t fixed[] = { 0,
                                1,
                                UINTPTR_MAX,
                                UINTPTR_MAX - 15,
                                (uintptr_t)1 << 47,
                                ((uintptr_t)1 << 47) - 1,
                                (uintptr_t)0xffff800000000000u,
                                sj__window_base - 1,
                                (uintptr_t)window_end(),
                                (uintptr_t)&state };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        CHECK(sj__window_find(as_pointer(fixed[i])) == sj__window_unused);
        CHECK(!sj_window_contains(as_pointer(fixed[i])));
    }
    for (unsigned i = 0; i < 1000000; i++) {
        uintptr_t bits = (uintptr_t)(unit_random(&state) >> (i % 64));
        struct sj_span *span = sj__window_find(as_pointer(bits));
        if (span == NULL || sj_load_relaxed_u32(&span->kind) > SJ_SPAN_LARGE)
            CHECK(span != NULL && sj_load_relaxed_u32(&span->kind) <= SJ_SPAN_LARGE);
    }
    for (unsigned i = 0; i < 100000; i++) {
        uintptr_t bits = sj__window_base + unit_random_below(&state, limit_bytes());
        struct sj_span *span = sj__window_find(as_pointer(bits));
        CHECK(span != NULL && sj_load_relaxed_u32(&span->kind) <= SJ_SPAN_LARGE);
        CHECK(sj_window_contains(as_pointer(bits)));
    }
}

static void meta_window__first_granule_is_nobodys(void)
{
    CHECK(sj_window_lookup(0) == sj__window_unused);
}

static void check_grown(size_t first, size_t grown)
{
    CHECK_EQ(limit_bytes(), (first + grown) << SJ_GRANULE_SHIFT);
    for (size_t granule = first; granule < first + grown; granule++) {
        CHECK(sj_window_lookup(granule) == sj__window_unused);
        char *start = sj_window_address(granule);
        CHECK_EQ(sj_window_granule(start), granule);
        CHECK_EQ(sj_window_granule(start + SJ_GRANULE_BYTES - 1), granule);
        CHECK(start[0] == 0 && start[SJ_GRANULE_BYTES - 1] == 0);
        start[0] = start[SJ_GRANULE_BYTES - 1] = 1;
    }
}

static void meta_window__grows_by_stretches_that_do_not_overlap(void)
{
    const size_t wanted[] = { 1, 2, 16, 17, 1000, 1, 4096, 3 };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t old_limit = limit_bytes(), first, grown;
        REQUIRE(sj__window_grow(wanted[i], 0, &first, &grown));
        CHECK(grown >= wanted[i]);
        CHECK(first >= old_limit >> SJ_GRANULE_SHIFT);
        check_grown(first, grown);
    }
}

static void meta_window__takes_the_bare_need_when_more_is_refused(void)
{
    size_t first, grown;
    use_source();
    refuse_from_bytes = 3 * (size_t)SJ_GRANULE_BYTES;
    bool done = SJ_UNDER_TSAN || sj__window_grow(2, 0, &first, &grown); /* a reservation grows by mprotect */
    use_kernel();
    if (SJ_UNDER_TSAN)
        SKIP("the window is reserved here");
    REQUIRE(done);
    CHECK_EQ(grown, 2);
    check_grown(first, grown);
}

static void meta_window__stays_as_it_is_when_growth_is_refused(void)
{
    size_t first, grown, old_limit = limit_bytes();
    use_source();
    refuse_maps = true;
    CHECK(!sj__window_grow(1, 0, &first, &grown));
    CHECK(!sj__window_grow(1000, 0, &first, &grown));
    use_kernel();
    CHECK(!sj__window_grow(SIZE_MAX, 0, &first, &grown));
    CHECK(!sj__window_grow(SIZE_MAX >> SJ_GRANULE_SHIFT, 0, &first, &grown));
    CHECK(!sj__window_grow((SIZE_MAX >> SJ_GRANULE_SHIFT) + 1, 0, &first, &grown));
    CHECK_EQ(limit_bytes(), old_limit);
    REQUIRE(sj__window_grow(1, 0, &first, &grown));
    CHECK_EQ(first, old_limit >> SJ_GRANULE_SHIFT);
    check_grown(first, grown);
}

static void meta_window__goes_on_behind_somebody_else(void)
{
    size_t first, grown;
    char *end = window_end();
    char *other = mmap(end + STEP_BYTES / 2, SJ_GRANULE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (other == MAP_FAILED)
        SKIP("the window is reserved here");
    memset(other, 7, SJ_GRANULE_BYTES);
    size_t need = (size_t)STEP_BYTES >> SJ_GRANULE_SHIFT;
    REQUIRE(sj__window_grow(need, 0, &first, &grown));
    CHECK(sj_window_address(first) > other);
    check_grown(first, grown);
    CHECK_EQ(other[0], 7);
    CHECK(sj_window_contains(other));
    CHECK(sj__window_find(other) == sj__window_unused);
    CHECK(sj__window_find(end) == sj__window_unused);
    (void)munmap(other, SJ_GRANULE_BYTES);
}

/* What no system gives is refused without a trace: no address space is skipped, no map laid out for it. */
static void meta_window__is_not_worn_by_requests_beyond_the_system(void)
{
    size_t first, grown, old_limit = limit_bytes();
    size_t huge = (size_t)1 << (GIBIBYTE_SHIFT + 10 - SJ_GRANULE_SHIFT); /* 1 TiB: a map of 128 MiB */
    use_source();
    refuse_from_bytes = (size_t)1 << (GIBIBYTE_SHIFT + 1);
    for (unsigned i = 0; i < 32; i++)
        CHECK(!sj__window_grow(huge, 0, &first, &grown));
    CHECK(mapped_bytes < STEP_BYTES);
    use_kernel();
    REQUIRE(sj__window_grow(1, 0, &first, &grown));
    CHECK_EQ(first, old_limit >> SJ_GRANULE_SHIFT);
    check_grown(first, grown);
}

/* The kernel refuses to fork a process with a mapping larger than the machine. */
static void meta_window__is_no_single_mapping_when_large(void)
{
    enum { GROWTHS = 8, GROWTH = 1 << 13 }; /* of half a GiB */
    size_t first, grown, apart = 0, old_limit = limit_bytes();
    use_source();
    refuse_maps = true;
    for (unsigned i = 0; i < 100; i++)
        CHECK(!sj__window_grow(GROWTH, 0, &first, &grown));
    use_kernel();
    for (unsigned i = 0; i < GROWTHS; i++) {
        if (!sj__window_grow(GROWTH, 0, &first, &grown))
            SKIP("the system gives no 4 GiB of address space");
        apart += first != old_limit >> SJ_GRANULE_SHIFT;
        CHECK(first - (old_limit >> SJ_GRANULE_SHIFT) <= 1);
        old_limit = limit_bytes();
    }
    CHECK(SJ_UNDER_TSAN || (apart >= 2 && apart <= 4));
}

static void meta_window__grows_by_what_the_free_end_lacks(void)
{
    size_t first, grown, old_limit = limit_bytes();
    size_t wanted = (size_t)1 << 11, adjoining = wanted - 5;
    use_source();
    refuse_from_bytes = 6 * (size_t)SJ_GRANULE_BYTES;
    bool done = sj__window_grow(wanted, adjoining, &first, &grown);
    use_kernel();
    REQUIRE(done);
    if (SJ_UNDER_TSAN)
        SKIP("the window is reserved here, and grows by mprotect");
    CHECK_EQ(first, old_limit >> SJ_GRANULE_SHIFT);
    CHECK_EQ(grown, 5);
    /* Somebody sits there: what adjoins is of no use. */
    char *other =
        mmap(window_end(), SJ_GRANULE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    REQUIRE(other != MAP_FAILED);
    REQUIRE(sj__window_grow(wanted, adjoining, &first, &grown));
    CHECK(grown >= wanted);
    CHECK(sj_window_address(first) > other);
    (void)munmap(other, SJ_GRANULE_BYTES);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    if (!sj__start())
        return 1;
    RUN(meta_region__opens_and_grows_at_any_random_word);
    RUN(meta_region__page_before_the_base_faults);
    RUN(meta_region__lies_where_the_kernel_chooses_when_the_place_is_refused);
    RUN(meta_region__asks_for_less_when_much_is_refused);
    RUN(meta_region__does_not_open_when_all_is_refused);
    RUN(meta_region__stays_as_it_is_when_growth_is_refused);
    RUN(meta_region__goes_on_behind_somebody_else);
    RUN(meta_window__finds_a_record_for_any_bit_pattern);
    RUN(meta_window__first_granule_is_nobodys);
    RUN(meta_window__grows_by_stretches_that_do_not_overlap);
    RUN(meta_window__takes_the_bare_need_when_more_is_refused);
    RUN(meta_window__stays_as_it_is_when_growth_is_refused);
    RUN(meta_window__goes_on_behind_somebody_else);
    RUN(meta_window__is_not_worn_by_requests_beyond_the_system);
    RUN(meta_window__grows_by_what_the_free_end_lacks);
    RUN(meta_window__is_no_single_mapping_when_large);
    return unit_end();
}
