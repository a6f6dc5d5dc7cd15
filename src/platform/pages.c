/* SPDX-License-Identifier: MIT
 *
 * What: pages from the kernel, their guards, and the test seam.
 *
 * Why this way: until our constructor has run, calls go straight to the kernel: a tool that interposes mmap may not be
 * ready, or may itself allocate to get ready. Afterwards they go through libc's symbols, so that such a tool sees every
 * one. Both are tables; which is in force is a number, so that no writable pointer to code lies about for the kernel's
 * own. Guards are markers in the page tables (MADV_GUARD_INSTALL, Linux 6.13), which cost no mapping; else mprotect,
 * on a budget, because each splits a mapping and the kernel stops at vm.max_map_count, after which even free could
 * fail. Release and markers are tried out at start and believed only if they did what they promise: emulators and
 * sandboxes answer "done" to advice they don't know.
 *
 * Invariants: errno is preserved. Nothing is mapped with MAP_NORESERVE: memory that is granted is accounted for. A
 * range that was given an mprotect guard is unguarded before it is unmapped, else its share of the budget is lost.
 *
 * Concurrency: counters are relaxed atomics; what is found at start is read-only afterwards.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "platform/pages.h"

#include "base/atomic.h"
#include "platform/process.h"
#include "platform/tags.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Names that older headers lack. */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#define PAGES_COLD          20  /* MADV_COLD */
#define PAGES_GUARD_INSTALL 102 /* MADV_GUARD_INSTALL */
#define PAGES_GUARD_REMOVE  103 /* MADV_GUARD_REMOVE */

#define PAGES_ANONYMOUS            (MAP_PRIVATE | MAP_ANONYMOUS)
#define PAGES_READ_WRITE           (PROT_READ | PROT_WRITE)
#define PAGES_GUARD_BUDGET_DEFAULT 16000u /* guards, where vm.max_map_count can't be read */
#define PAGES_GUARD_BUDGET_SHARE   4u     /* of vm.max_map_count; a guard takes up to two mappings, so half at most */
#define PAGES_GUARD_MANY_SHARE     5u     /* of the budget: so that three million objects make under 8,000 mappings */

/* --- The two ways to the kernel, and the tests' own. --- */

static void *pages_direct_map(void *address, size_t bytes, int protection, int flags)
{
#if defined(SYS_mmap2)
    return (void *)syscall(SYS_mmap2, address, bytes, protection, flags, -1, 0L);
#else
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, -1, 0L);
#endif
}

static int pages_direct_unmap(void *address, size_t bytes)
{
    return (int)syscall(SYS_munmap, address, bytes);
}

static int pages_direct_protect(void *address, size_t bytes, int protection)
{
    return (int)syscall(SYS_mprotect, address, bytes, protection);
}

static int pages_direct_advise(void *address, size_t bytes, int advice)
{
    return (int)syscall(SYS_madvise, address, bytes, advice);
}

static void *pages_direct_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return (void *)syscall(SYS_mremap, from, from_bytes, to_bytes, flags, to);
}

static void *pages_libc_map(void *address, size_t bytes, int protection, int flags)
{
    return mmap(address, bytes, protection, flags, -1, 0);
}

static void *pages_libc_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return mremap(from, from_bytes, to_bytes, flags, to);
}

enum pages_way { PAGES_DIRECT, PAGES_LIBC, PAGES_TEST };

static const struct sj_page_source pages_direct = { pages_direct_map, pages_direct_unmap, pages_direct_protect,
                                                    pages_direct_advise, pages_direct_move };
static const struct sj_page_source pages_libc = { pages_libc_map, munmap, mprotect, madvise, pages_libc_move };
static const struct sj_page_source *pages_test;
static enum pages_way pages_way = PAGES_DIRECT;

static inline const struct sj_page_source *pages_source(void)
{
    if (sj_likely(pages_way == PAGES_LIBC))
        return &pages_libc;
    return pages_way == PAGES_TEST ? pages_test : &pages_direct;
}

void sj__pages_use_libc(void)
{
    if (pages_way == PAGES_DIRECT)
        pages_way = PAGES_LIBC;
}

void sj__pages_set_source(const struct sj_page_source *source)
{
    pages_test = source;
    pages_way = source != NULL ? PAGES_TEST : PAGES_LIBC;
}

/* --- What was found at start, and the books. --- */

static size_t pages_bytes = 4096;
static bool pages_markers;               /* the kernel has guard markers, and they guard */
static bool pages_release_zeroes = true; /* MADV_DONTNEED gives zero pages; false in some emulators */

static struct sj_atomic_u64 pages_maps;
static struct sj_atomic_u64 pages_unmaps;
static struct sj_atomic_u64 pages_releases;
static struct sj_atomic_u64 pages_protects;
static struct sj_atomic_u64 pages_guards;
static struct sj_atomic_u64 pages_moves;
static struct sj_atomic_u64 pages_refused;

static struct sj_atomic_size pages_protected_guards; /* guards made by mprotect and not yet taken away */
static struct sj_atomic_size pages_traps;            /* ranges trapped by mprotect, on the same budget */
static struct sj_atomic_size pages_guard_budget;     /* how many there may be; 0 until first needed */

/* Counts a call and passes its outcome on. */
static bool pages_count(struct sj_atomic_u64 *counter, bool done)
{
    (void)sj_fetch_add_relaxed_u64(done ? counter : &pages_refused, 1);
    return done;
}

static inline void pages_assert_range(const void *address, size_t bytes)
{
    sj_assert(((uintptr_t)address & (pages_bytes - 1)) == 0);
    sj_assert(bytes != 0 && (bytes & (pages_bytes - 1)) == 0);
}

size_t sj__page_bytes(void)
{
    return pages_bytes;
}

bool sj__pages_have_guard_markers(void)
{
    return pages_markers;
}

void sj__pages_read_counters(struct sj_pages_counters *out)
{
    out->maps = sj_load_relaxed_u64(&pages_maps);
    out->unmaps = sj_load_relaxed_u64(&pages_unmaps);
    out->releases = sj_load_relaxed_u64(&pages_releases);
    out->protects = sj_load_relaxed_u64(&pages_protects);
    out->guards = sj_load_relaxed_u64(&pages_guards);
    out->moves = sj_load_relaxed_u64(&pages_moves);
    out->refused = sj_load_relaxed_u64(&pages_refused);
}

/* --- The calls. --- */

bool sj__pages_map_at(void *address, size_t bytes)
{
    int saved_errno = errno;
    const struct sj_page_source *source = pages_source();

    pages_assert_range(address, bytes);
    void *got = source->map(address, bytes, PAGES_READ_WRITE, PAGES_ANONYMOUS | MAP_FIXED_NOREPLACE);
    bool done = got == address;

    if (!done && got != MAP_FAILED) /* kernels before 4.17 take the address as a hint */
        (void)source->unmap(got, bytes);
    errno = saved_errno;
    return pages_count(&pages_maps, done);
}

void *sj__pages_map_anywhere(size_t bytes, bool writable)
{
    int saved_errno = errno;

    sj_assert(bytes != 0 && (bytes & (pages_bytes - 1)) == 0);
    void *got = pages_source()->map(NULL, bytes, writable ? PAGES_READ_WRITE : PROT_NONE, PAGES_ANONYMOUS);

    errno = saved_errno;
    return pages_count(&pages_maps, got != MAP_FAILED) ? got : NULL;
}

bool sj__pages_map_over(void *address, size_t bytes)
{
    int saved_errno = errno;

    pages_assert_range(address, bytes);
    void *got = pages_source()->map(address, bytes, PAGES_READ_WRITE, PAGES_ANONYMOUS | MAP_FIXED);

    errno = saved_errno;
    return pages_count(&pages_maps, got == address);
}

bool sj__pages_unmap(void *address, size_t bytes)
{
    int saved_errno = errno;

    pages_assert_range(address, bytes);
    int failed = pages_source()->unmap(address, bytes);

    errno = saved_errno;
    return pages_count(&pages_unmaps, failed == 0);
}

static bool pages_move(void *from, size_t bytes, void *to, int flags)
{
    int saved_errno = errno;

    pages_assert_range(from, bytes);
    pages_assert_range(to, bytes);
    void *got = pages_source()->move(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | flags, to);

    errno = saved_errno;
    return pages_count(&pages_moves, got == to);
}

bool sj__pages_move(void *from, size_t bytes, void *to)
{
    return pages_move(from, bytes, to, 0);
}

static bool pages_set_protection(void *address, size_t bytes, int protection)
{
    int saved_errno = errno;

    pages_assert_range(address, bytes);
    int failed = pages_source()->protect(address, bytes, protection);

    errno = saved_errno;
    return pages_count(&pages_protects, failed == 0);
}

bool sj__pages_protect(void *address, size_t bytes)
{
    return pages_set_protection(address, bytes, PROT_NONE);
}

bool sj__pages_unprotect(void *address, size_t bytes)
{
    return pages_set_protection(address, bytes, PAGES_READ_WRITE);
}

bool sj__pages_seal_readonly(void *address, size_t bytes)
{
    return pages_set_protection(address, bytes, PROT_READ);
}

bool sj__pages_tag(void *address, size_t bytes)
{
    return pages_set_protection(address, bytes, PAGES_READ_WRITE | SJ_TAGS_PROTECTION);
}

static bool pages_advise(void *address, size_t bytes, int advice)
{
    int saved_errno = errno;

    pages_assert_range(address, bytes);
    int failed = pages_source()->advise(address, bytes, advice);

    errno = saved_errno;
    return failed == 0;
}

bool sj__pages_release(void *address, size_t bytes)
{
    return pages_count(&pages_releases, pages_release_zeroes && pages_advise(address, bytes, MADV_DONTNEED));
}

bool sj__pages_see_resident(const void *address, size_t bytes, unsigned char *pages)
{
    int saved_errno = errno;

    pages_assert_range(address, bytes);
    bool done = syscall(SYS_mincore, address, bytes, pages) == 0;

    errno = saved_errno;
    return done;
}

/* MREMAP_DONTUNMAP takes the lock off the whole mapping that the old range lies in, so locked memory is not for it. The
 * advice that a page is cold is refused there, and otherwise changes no content. */
bool sj__pages_move_out(void *from, size_t bytes, void *to)
{
    return pages_advise(from, pages_bytes, PAGES_COLD) && pages_move(from, bytes, to, MREMAP_DONTUNMAP);
}

void sj__pages_no_huge(void *address, size_t bytes)
{
    (void)pages_advise(address, bytes, MADV_NOHUGEPAGE);
}

/* --- Guards. --- */

/* True if the kernel can read a word at `address`, and so could we: asks with a call that refuses its other argument,
 * so that it changes nothing. */
static bool pages_is_readable(const void *address)
{
    int saved_errno = errno;
    long answer = syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8); /* EFAULT, or EINVAL once the word was read */
    bool readable = answer == 0 || errno != EFAULT;

    errno = saved_errno;
    return readable;
}

static size_t pages_read_guard_budget(void)
{
    char text[32];
    size_t budget = 0;

    if (sj__process_read_file("/proc/sys/vm/max_map_count", false, text, sizeof text) <= 0)
        return PAGES_GUARD_BUDGET_DEFAULT;
    for (const char *at = text; *at >= '0' && *at <= '9'; at++)
        budget = budget * 10 + (size_t)(*at - '0');
    return budget / PAGES_GUARD_BUDGET_SHARE + 1;
}

static size_t pages_budget(void)
{
    size_t budget = sj_load_relaxed_size(&pages_guard_budget);

    if (budget == 0) { /* two threads may both read it; they read the same */
        budget = pages_read_guard_budget();
        sj_store_relaxed_size(&pages_guard_budget, budget);
    }
    return budget;
}

static bool pages_take_from_budget(struct sj_atomic_size *taken, size_t budget)
{
    (void)sj_fetch_add_relaxed_size(taken, 1);
    if (sj_load_relaxed_size(&pages_protected_guards) + sj_load_relaxed_size(&pages_traps) <= budget)
        return true;
    (void)sj_fetch_sub_relaxed_size(taken, 1);
    return false;
}

static bool pages_guard_by_marker(void *address, size_t bytes)
{
    if (!pages_markers)
        return false;
    if (pages_advise(address, bytes, PAGES_GUARD_INSTALL))
        return true;
    (void)pages_advise(address, bytes, PAGES_GUARD_REMOVE); /* it may have got half way */
    return false;
}

static bool pages_guard_by_protection(void *address, size_t bytes, size_t share)
{
    if (!pages_take_from_budget(&pages_protected_guards, pages_budget() / share))
        return false;
    (void)sj__pages_release(address, bytes);
    if (sj__pages_protect(address, bytes))
        return true;
    (void)sj_fetch_sub_relaxed_size(&pages_protected_guards, 1);
    return false;
}

/* `share`: by protection only while no more than that part of the budget is used. */
static bool pages_guard(void *address, size_t bytes, size_t share)
{
    /* Markers are refused in locked memory, and where the page tables can't be had. */
    bool done = pages_guard_by_marker(address, bytes) || pages_guard_by_protection(address, bytes, share);

    return pages_count(&pages_guards, done);
}

bool sj__pages_guard(void *address, size_t bytes)
{
    return pages_guard(address, bytes, 1);
}

bool sj__pages_can_guard_many(void)
{
    return pages_markers || sj_load_relaxed_size(&pages_protected_guards) < pages_budget() / PAGES_GUARD_MANY_SHARE;
}

bool sj__pages_guard_many(void *address, size_t bytes)
{
    return pages_guard(address, bytes, PAGES_GUARD_MANY_SHARE);
}

bool sj__pages_unguard(void *address, size_t bytes)
{
    bool by_marker = pages_markers && pages_advise(address, bytes, PAGES_GUARD_REMOVE);

    /* Where both kinds are about, the page itself says which it was. */
    if (by_marker && (sj_load_relaxed_size(&pages_protected_guards) == 0 || pages_is_readable(address)))
        return true;
    if (!sj__pages_unprotect(address, bytes))
        return false;
    /* A marker whose removal is refused outlives that: a filter on system calls may have come after the start. */
    if (pages_markers && !by_marker && !pages_is_readable(address))
        return false;
    if (sj_load_relaxed_size(&pages_protected_guards) > 0)
        (void)sj_fetch_sub_relaxed_size(&pages_protected_guards, 1);
    return true;
}

bool sj__pages_trap(void *address, size_t bytes, enum sj_trap how)
{
    if (how == SJ_TRAP_EMPTYING)
        return pages_count(&pages_guards, pages_guard_by_marker(address, bytes));
    if (!pages_take_from_budget(&pages_traps, pages_budget()))
        return false;
    if (sj__pages_protect(address, bytes))
        return true;
    sj__pages_forget_trap();
    return false;
}

bool sj__pages_untrap(void *address, size_t bytes, enum sj_trap how)
{
    if (how == SJ_TRAP_EMPTYING)
        return pages_advise(address, bytes, PAGES_GUARD_REMOVE);
    if (!sj__pages_unprotect(address, bytes))
        return false;
    sj__pages_forget_trap();
    return true;
}

void sj__pages_forget_trap(void)
{
    (void)sj_fetch_sub_relaxed_size(&pages_traps, 1);
}

void sj__pages_forget_guards(size_t guards)
{
    if (pages_markers) /* most were markers, and which were not nobody knows any more */
        return;
    size_t standing = sj_load_relaxed_size(&pages_protected_guards);
    (void)sj_fetch_sub_relaxed_size(&pages_protected_guards, guards < standing ? guards : standing);
}

size_t sj__pages_protected_guards(void)
{
    return sj_load_relaxed_size(&pages_protected_guards);
}

void sj__pages_set_guard_budget(size_t guards)
{
    sj_store_relaxed_size(&pages_guard_budget, guards);
}

/* --- Start. --- */

/* Tries release and markers out on a page of its own. */
static void pages_probe(void)
{
    unsigned char *page = sj__pages_map_anywhere(pages_bytes, true);

    if (page == NULL)
        return;
    *(volatile unsigned char *)page = 1;
    if (pages_advise(page, pages_bytes, MADV_DONTNEED))
        pages_release_zeroes = *(volatile unsigned char *)page == 0;
    pages_markers = pages_advise(page, pages_bytes, PAGES_GUARD_INSTALL) && !pages_is_readable(page);
    (void)sj__pages_unmap(page, pages_bytes);
}

void sj__pages_start(void)
{
    int saved_errno = errno;
    unsigned long bytes = getauxval(AT_PAGESZ);

    if (bytes >= 4096 && (bytes & (bytes - 1)) == 0)
        pages_bytes = bytes;
    pages_markers = false;
    pages_release_zeroes = true;
    pages_probe();
    errno = saved_errno;
}
