/* SPDX-License-Identifier: MIT
 *
 * What: pages, guards and the page source.
 *
 * Why this way: faults are provoked in a forked child and judged by its signal. Kernels that refuse, lie or lack guard
 * markers are played by page sources that wrap the real calls.
 *
 * Invariants: each test leaves the kernel as the page source and the guard budget at its default.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "platform/pages.h"
#include "support/process.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103, DEFAULT_BUDGET = 0 };

static bool all_zero(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

/* --- The real kernel, call by call; tests change what they want to. --- */

static int advise_result; /* what `refusing` and `lying` sources answer */
static unsigned calls_until_refusal;
static unsigned markers_asked;

static bool refuse_now(void)
{
    if (calls_until_refusal == 0) {
        errno = ENOMEM;
        return true;
    }
    calls_until_refusal--;
    return false;
}

static void *real_map(void *address, size_t bytes, int protection, int flags)
{
    return mmap(address, bytes, protection, flags, -1, 0);
}

static void *real_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return mremap(from, from_bytes, to_bytes, flags, to);
}

static void *refusing_map(void *address, size_t bytes, int protection, int flags)
{
    return refuse_now() ? MAP_FAILED : real_map(address, bytes, protection, flags);
}

static int refusing_unmap(void *address, size_t bytes)
{
    return refuse_now() ? -1 : munmap(address, bytes);
}

static int refusing_protect(void *address, size_t bytes, int protection)
{
    return refuse_now() ? -1 : mprotect(address, bytes, protection);
}

static int refusing_advise(void *address, size_t bytes, int advice)
{
    return refuse_now() ? -1 : madvise(address, bytes, advice);
}

static void *refusing_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return refuse_now() ? MAP_FAILED : real_move(from, from_bytes, to_bytes, flags, to);
}

static int advise_without_markers(void *address, size_t bytes, int advice)
{
    if (advice == GUARD_INSTALL || advice == GUARD_REMOVE) {
        markers_asked++;
        errno = EINVAL;
        return -1;
    }
    return madvise(address, bytes, advice);
}

/* An emulator: "done", whatever was asked. */
static int advise_lying(void *address, size_t bytes, int advice)
{
    (void)address;
    (void)bytes;
    (void)advice;
    return advise_result;
}

/* A kernel before 4.17: the address is a hint, and taken. */
static void *map_elsewhere(void *address, size_t bytes, int protection, int flags)
{
    (void)address;
    return mmap(NULL, bytes, protection, flags & ~MAP_FIXED_NOREPLACE, -1, 0);
}

static const struct sj_page_source refusing = { refusing_map, refusing_unmap, refusing_protect, refusing_advise,
                                                refusing_move };
static const struct sj_page_source without_markers = { real_map, munmap, mprotect, advise_without_markers, real_move };
static const struct sj_page_source lying = { real_map, munmap, mprotect, advise_lying, real_move };
static const struct sj_page_source hinting = { map_elsewhere, munmap, mprotect, madvise, real_move };

static void start_on(const struct sj_page_source *source)
{
    sj__pages_set_source(source);
    sj__pages_set_guard_budget(DEFAULT_BUDGET);
    sj__pages_start();
}

static char *map_pages(size_t count)
{
    return sj__pages_map_anywhere(count * sj__page_bytes(), true);
}

/* --- Tests. --- */

static void platform_pages__page_size_is_the_systems(void)
{
    CHECK_EQ(sj__page_bytes(), (size_t)sysconf(_SC_PAGESIZE));
}

static void platform_pages__map_at_takes_free_range_and_refuses_taken_one(void)
{
    size_t page = sj__page_bytes();
    char *base = map_pages(3);

    REQUIRE(base != NULL);
    base[0] = 'a';
    base[page] = 'b';
    CHECK(!sj__pages_map_at(base + page, page));
    CHECK(base[page] == 'b');
    REQUIRE(sj__pages_unmap(base + page, page));
    CHECK(touching_faults(base + page, false));
    CHECK(sj__pages_map_at(base + page, page));
    CHECK(all_zero(base + page, page));
    base[page] = 'c';
    CHECK(base[0] == 'a');
    CHECK(sj__pages_unmap(base, 3 * page));
}

static void platform_pages__map_at_gives_back_a_range_elsewhere(void)
{
    size_t page = sj__page_bytes();
    char *base = map_pages(1);

    REQUIRE(base != NULL);
    REQUIRE(sj__pages_unmap(base, page));
    sj__pages_set_source(&hinting);
    void *first = sj__pages_map_anywhere(page, true);
    CHECK(first != NULL && sj__pages_unmap(first, page));
    CHECK(!sj__pages_map_at(base + 64 * page, page));
    void *second = sj__pages_map_anywhere(page, true);
    CHECK(second == first); /* nothing was left behind in the place the kernel prefers */
    CHECK(second != NULL && sj__pages_unmap(second, page));
    sj__pages_set_source(NULL);
}

static void platform_pages__inaccessible_mapping_faults_until_unprotected(void)
{
    size_t page = sj__page_bytes();
    char *base = sj__pages_map_anywhere(2 * page, false);

    REQUIRE(base != NULL);
    CHECK(touching_faults(base, false));
    CHECK(sj__pages_unprotect(base, page));
    base[page - 1] = 1;
    CHECK(touching_faults(base + page, false));
    CHECK(sj__pages_seal_readonly(base, page));
    CHECK(base[page - 1] == 1);
    CHECK(touching_faults(base, true));
    CHECK(sj__pages_protect(base, page));
    CHECK(touching_faults(base, false));
    CHECK(sj__pages_unprotect(base, page));
    CHECK(base[page - 1] == 1); /* contents stay */
    CHECK(sj__pages_unmap(base, 2 * page));
}

static void platform_pages__map_over_and_release_read_as_zero(void)
{
    size_t page = sj__page_bytes();
    char *base = map_pages(2);

    REQUIRE(base != NULL);
    memset(base, 'x', 2 * page);
    CHECK(sj__pages_release(base, page));
    CHECK(all_zero(base, page));
    CHECK(base[page] == 'x');
    CHECK(sj__pages_map_over(base + page, page));
    CHECK(all_zero(base + page, page));
    CHECK(sj__pages_unmap(base, 2 * page));
}

static void platform_pages__move_keeps_contents_and_leaves_a_hole(void)
{
    size_t page = sj__page_bytes();
    char *from = map_pages(2);
    char *to = map_pages(4);

    REQUIRE(from != NULL && to != NULL);
    memset(from, 'm', 2 * page);
    REQUIRE(sj__pages_move(from, 2 * page, to));
    CHECK(to[0] == 'm' && to[2 * page - 1] == 'm');
    CHECK(all_zero(to + 2 * page, 2 * page));
    CHECK(touching_faults(from, false));
    CHECK(sj__pages_map_over(from, 2 * page));
    CHECK(all_zero(from, 2 * page));
    CHECK(sj__pages_unmap(from, 2 * page));
    CHECK(sj__pages_unmap(to, 4 * page));
}

static void platform_pages__move_out_keeps_contents_and_leaves_the_place_mapped(void)
{
    size_t page = sj__page_bytes();
    char *from = map_pages(3);
    char *to = map_pages(4);

    REQUIRE(from != NULL && to != NULL);
    memset(from, 'm', 3 * page);
    if (!sj__pages_move_out(from, 2 * page, to))
        SKIP("the kernel is older than 5.7");
    CHECK(to[0] == 'm' && to[2 * page - 1] == 'm');
    CHECK(all_zero(to + 2 * page, 2 * page));
    CHECK(!sj__pages_map_at(from, page));
    CHECK(all_zero(from, 2 * page));
    CHECK(from[2 * page] == 'm');
    CHECK(sj__pages_unmap(from, 3 * page));
    CHECK(sj__pages_unmap(to, 4 * page));
}

/* Else the kernel would unlock the neighbours in the same mapping. */
static void platform_pages__move_out_leaves_locked_memory_alone(void)
{
    size_t page = sj__page_bytes();
    char *from = map_pages(3);
    char *to = map_pages(2);

    REQUIRE(from != NULL && to != NULL);
    if (syscall(SYS_mlock, from, 3 * page) != 0) /* the sanitizers make mlock do nothing */
        SKIP("mlock is refused here");
    memset(from, 'l', 3 * page);
    CHECK(!sj__pages_move_out(from, page, to));
    CHECK(from[0] == 'l');
    CHECK(!sj__pages_release(from + page, page)); /* it is locked still */
    CHECK(sj__pages_move(from, page, to));
    CHECK(to[0] == 'l');
    CHECK(sj__pages_unmap(from + page, 2 * page));
    CHECK(sj__pages_unmap(to, 2 * page));
}

/* What every guard must do, however it is made. */
static void check_guard(char *base)
{
    size_t page = sj__page_bytes();

    memset(base, 'g', 3 * page);
    REQUIRE(sj__pages_guard(base + page, page));
    CHECK(touching_faults(base + page, false));
    CHECK(touching_faults(base + 2 * page - 1, true));
    CHECK(base[page - 1] == 'g' && base[2 * page] == 'g');
    CHECK(sj__pages_unguard(base + page, page));
    CHECK(all_zero(base + page, page));
    base[page] = 1;
}

static void platform_pages__guard_faults_until_unguarded(void)
{
    char *base = map_pages(3);

    REQUIRE(base != NULL);
    NOTE("guard markers: %s", sj__pages_have_guard_markers() ? "yes" : "no");
    check_guard(base);
    CHECK_EQ(sj__pages_protected_guards(), 0);
    CHECK(sj__pages_unmap(base, 3 * sj__page_bytes()));
}

static void platform_pages__guard_is_by_mprotect_when_kernel_has_no_markers(void)
{
    start_on(&without_markers);
    char *base = map_pages(3);

    CHECK(!sj__pages_have_guard_markers());
    REQUIRE(base != NULL);
    markers_asked = 0;
    check_guard(base);
    CHECK_EQ(markers_asked, 0);
    CHECK_EQ(sj__pages_protected_guards(), 0);
    CHECK(sj__pages_unmap(base, 3 * sj__page_bytes()));
    start_on(NULL);
}

/* A filter on system calls that comes after the start may refuse what was there before. */
static void platform_pages__unguard_fails_when_a_marker_cannot_be_removed(void)
{
    start_on(NULL);
    size_t page = sj__page_bytes();
    char *base = map_pages(3);

    REQUIRE(base != NULL);
    if (!sj__pages_have_guard_markers())
        SKIP("this kernel has no guard markers");
    CHECK(sj__pages_guard(base + page, page));
    sj__pages_set_source(&without_markers);
    CHECK(!sj__pages_unguard(base + page, page));
    CHECK(touching_faults(base + page, false));
    CHECK_EQ(sj__pages_protected_guards(), 0);
    CHECK(sj__pages_guard(base, page)); /* by mprotect now */
    CHECK(sj__pages_unguard(base, page));
    base[0] = 1;
    sj__pages_set_source(NULL);
    CHECK(sj__pages_unguard(base + page, page));
    base[page] = 1;
    CHECK(sj__pages_unmap(base, 3 * page));
    start_on(NULL);
}

static void platform_pages__guards_by_mprotect_stop_at_their_budget(void)
{
    start_on(&without_markers);
    size_t page = sj__page_bytes();
    char *base = map_pages(8);

    REQUIRE(base != NULL);
    sj__pages_set_guard_budget(2);
    CHECK(sj__pages_guard(base, page));
    CHECK(sj__pages_guard(base + 2 * page, page));
    CHECK(!sj__pages_guard(base + 4 * page, page));
    base[4 * page] = 1; /* still accessible */
    CHECK_EQ(sj__pages_protected_guards(), 2);
    CHECK(sj__pages_unguard(base, page));
    CHECK(sj__pages_guard(base + 4 * page, page));
    CHECK(sj__pages_unguard(base + 4 * page, page));
    CHECK(sj__pages_unguard(base + 2 * page, page));
    CHECK_EQ(sj__pages_protected_guards(), 0);
    CHECK(sj__pages_unmap(base, 8 * page));
    start_on(NULL);
}

static void platform_pages__guard_falls_back_when_memory_is_locked(void)
{
    size_t page = sj__page_bytes();
    char *base = map_pages(4);

    REQUIRE(base != NULL);
    if (syscall(SYS_mlock, base, page) != 0) /* the sanitizers make mlock do nothing */
        SKIP("mlock is refused here");
    memset(base, 'l', page);
    CHECK(!sj__pages_release(base, page)); /* its owner wants it to stay */
    CHECK(sj__pages_guard(base, page));
    CHECK(sj__pages_guard(base + 2 * page, page)); /* not locked */
    CHECK(touching_faults(base, false));
    CHECK(touching_faults(base + 2 * page, false));
    CHECK(sj__pages_unguard(base + 2 * page, page));
    CHECK(sj__pages_unguard(base, page));
    CHECK_EQ(sj__pages_protected_guards(), 0);
    base[0] = 1;
    base[2 * page] = 1;
    CHECK(sj__pages_unmap(base, 4 * page));
}

static void platform_pages__advice_is_not_believed_when_it_does_nothing(void)
{
    advise_result = 0;
    start_on(&lying);
    char *base = map_pages(3);

    REQUIRE(base != NULL);
    CHECK(!sj__pages_have_guard_markers());
    CHECK(!sj__pages_release(base, sj__page_bytes()));
    REQUIRE(sj__pages_guard(base, sj__page_bytes()));
    CHECK(touching_faults(base, false));
    CHECK(sj__pages_unguard(base, sj__page_bytes()));
    CHECK(sj__pages_unmap(base, 3 * sj__page_bytes()));
    start_on(NULL);
}

static void platform_pages__refusals_are_answers_and_keep_errno(void)
{
    size_t page = sj__page_bytes();
    struct sj_pages_counters before;
    struct sj_pages_counters after;
    char *base = map_pages(4);

    REQUIRE(base != NULL);
    sj__pages_read_counters(&before);
    sj__pages_set_source(&refusing);
    calls_until_refusal = 0;
    errno = 4242;
    CHECK(!sj__pages_map_at(base + 1024 * page, page));
    CHECK(sj__pages_map_anywhere(page, true) == NULL);
    CHECK(!sj__pages_map_over(base, page));
    CHECK(!sj__pages_unmap(base, page));
    CHECK(!sj__pages_move(base, page, base + 2 * page));
    CHECK(!sj__pages_move_out(base, page, base + 2 * page));
    CHECK(!sj__pages_protect(base, page));
    CHECK(!sj__pages_unprotect(base, page));
    CHECK(!sj__pages_seal_readonly(base, page));
    CHECK(!sj__pages_release(base, page));
    CHECK(!sj__pages_guard(base, page));
    CHECK(!sj__pages_unguard(base, page));
    CHECK_EQ(errno, 4242);
    CHECK_EQ(sj__pages_protected_guards(), 0);
    sj__pages_set_source(NULL);
    base[0] = 1;
    sj__pages_read_counters(&after);
    CHECK(after.refused - before.refused >= 11);
    CHECK_EQ(after.maps - before.maps, 0);
    CHECK(sj__pages_unmap(base, 4 * page));
}

static void platform_pages__wish_for_no_huge_pages_changes_nothing_else(void)
{
    size_t page = sj__page_bytes();
    struct sj_pages_counters before;
    struct sj_pages_counters after;
    char *base = map_pages(2);

    REQUIRE(base != NULL);
    base[0] = 1;
    sj__pages_read_counters(&before);
    errno = 4242;
    sj__pages_no_huge(base, 2 * page);
    sj__pages_set_source(&refusing);
    calls_until_refusal = 0;
    sj__pages_no_huge(base, page);
    sj__pages_set_source(NULL);
    sj__pages_read_counters(&after);
    CHECK_EQ(errno, 4242);
    CHECK_EQ(base[0], 1);
    CHECK_EQ(after.refused - before.refused, 0); /* a wish that is refused is no loss */
    CHECK(sj__pages_unmap(base, 2 * page));
}

static void platform_pages__later_calls_fail_when_nth_is_refused(void)
{
    size_t page = sj__page_bytes();

    sj__pages_set_source(&refusing);
    calls_until_refusal = 2;
    char *first = sj__pages_map_anywhere(page, true);
    char *second = sj__pages_map_anywhere(page, true);
    CHECK(first != NULL && second != NULL);
    CHECK(sj__pages_map_anywhere(page, true) == NULL);
    sj__pages_set_source(NULL);
    if (first != NULL)
        CHECK(sj__pages_unmap(first, page));
    if (second != NULL)
        CHECK(sj__pages_unmap(second, page));
}

static void platform_pages__counters_count_what_was_done(void)
{
    size_t page = sj__page_bytes();
    struct sj_pages_counters before;
    struct sj_pages_counters after;

    sj__pages_read_counters(&before);
    char *base = map_pages(2);
    REQUIRE(base != NULL);
    CHECK(sj__pages_release(base, page));
    CHECK(sj__pages_guard(base, page));
    CHECK(sj__pages_unguard(base, page));
    CHECK(sj__pages_unmap(base, 2 * page));
    sj__pages_read_counters(&after);
    CHECK_EQ(after.maps - before.maps, 1);
    CHECK_EQ(after.unmaps - before.unmaps, 1);
    CHECK(after.releases - before.releases >= 1);
    CHECK_EQ(after.guards - before.guards, 1);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    sj__pages_start();
    RUN(platform_pages__page_size_is_the_systems);
    RUN(platform_pages__map_at_takes_free_range_and_refuses_taken_one);
    RUN(platform_pages__map_at_gives_back_a_range_elsewhere);
    RUN(platform_pages__inaccessible_mapping_faults_until_unprotected);
    RUN(platform_pages__map_over_and_release_read_as_zero);
    RUN(platform_pages__move_keeps_contents_and_leaves_a_hole);
    RUN(platform_pages__move_out_keeps_contents_and_leaves_the_place_mapped);
    RUN(platform_pages__move_out_leaves_locked_memory_alone);
    RUN(platform_pages__guard_faults_until_unguarded);
    RUN(platform_pages__guard_is_by_mprotect_when_kernel_has_no_markers);
    RUN(platform_pages__unguard_fails_when_a_marker_cannot_be_removed);
    RUN(platform_pages__guards_by_mprotect_stop_at_their_budget);
    RUN(platform_pages__guard_falls_back_when_memory_is_locked);
    RUN(platform_pages__advice_is_not_believed_when_it_does_nothing);
    RUN(platform_pages__refusals_are_answers_and_keep_errno);
    RUN(platform_pages__wish_for_no_huge_pages_changes_nothing_else);
    RUN(platform_pages__later_calls_fail_when_nth_is_refused);
    RUN(platform_pages__counters_count_what_was_done);
    sj__pages_use_libc();
    RUN(platform_pages__guard_faults_until_unguarded);
    return unit_end();
}
