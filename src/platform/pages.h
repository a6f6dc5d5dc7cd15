/* SPDX-License-Identifier: MIT
 *
 * What: pages from the operating system, and what can be done with them.
 *
 * Why this way: the only place that maps, unmaps, protects or releases memory. Failure is an answer (false or NULL),
 * never an abort: the kernel may refuse any of these under limits, locked memory or seccomp, and each caller has a way
 * on. The calls go through one table, so that tests can make the Nth of any kind fail. No call is a cancellation point.
 *
 * Invariants: addresses and lengths are multiples of sj__page_bytes(), lengths not 0. errno is preserved by all of them.
 *
 * Concurrency: all are safe from any thread; the table is set by tests before threads exist.
 */
#ifndef SJ_PLATFORM_PAGES_H
#define SJ_PLATFORM_PAGES_H

#include "base/compiler.h"

/* The system's page size in bytes, a power of two read at start; 4096 before that. */
size_t sj__page_bytes(void);

/* Reads the page size and probes for guard markers. Called once, before any other function here. */
void sj__pages_start(void);

/* From now on calls go through libc's symbols (mmap, munmap, mprotect, madvise, mremap), where a tool may stand; before,
 * straight to the kernel. Called from the library's constructor: the libraries loaded after it are ready by then. */
void sj__pages_use_libc(void);

/* Maps fresh zero pages, readable and writable, at exactly `address` if the range is free. */
bool sj__pages_map_at(void *address, size_t bytes);

/* Maps fresh zero pages wherever the kernel likes, `writable` or inaccessible. NULL on refusal. */
void *sj__pages_map_anywhere(size_t bytes, bool writable);

/* Replaces a range of ours by fresh zero pages (also one that mremap has left unmapped). On false the range may be
 * unchanged or unmapped. */
bool sj__pages_map_over(void *address, size_t bytes);

bool sj__pages_unmap(void *address, size_t bytes);

/* Moves the pages of [from, from + bytes) to `to`; replaces what is mapped there. The old range stays mapped and reads as
 * zero: nobody can come in between. False: not moved, and `to` may be unmapped; refused by kernels before 5.7 and in locked
 * memory, where the kernel would unlock what stays. */
bool sj__pages_move_out(void *from, size_t bytes, void *to);

/* As sj__pages_move_out, on any kernel; but the old range is left unmapped. */
bool sj__pages_move(void *from, size_t bytes, void *to);

/* Makes a range inaccessible, or accessible again, by mprotect: contents stay, costs mappings. */
bool sj__pages_protect(void *address, size_t bytes);
bool sj__pages_unprotect(void *address, size_t bytes);
bool sj__pages_seal_readonly(void *address, size_t bytes);

/* Has accessible memory keep tags, see tags.h, until it is unmapped or mapped over. */
bool sj__pages_tag(void *address, size_t bytes);

/* Gives the contents back: afterwards the range reads as zero. False: refused, the contents are unchanged or unknown
 * and the caller must write the zeros itself. Refused in locked memory (mlock, mlockall), whose owner asked that it stay. */
bool sj__pages_release(void *address, size_t bytes);

/* Tells of each page of the range whether it is in memory: bit 0 of one byte a page. False: the kernel does not say. */
bool sj__pages_see_resident(const void *address, size_t bytes, unsigned char *pages);

/* Asks that the range be given no huge pages, whatever the system's rule. A kernel without them refuses, and means the
 * same. A later madvise(MADV_HUGEPAGE) of the program's own wins. */
void sj__pages_no_huge(void *address, size_t bytes);

/* Makes a range fault on any access: by a guard marker where the kernel has them, else by mprotect within a budget of
 * mappings. False: no guard was made (refused or over budget) and the range is as accessible as before. The contents
 * are discarded, but where release is refused too (locked memory): what must read as zero after sj__pages_unguard()
 * is released or written by the caller. Unguard takes the same range as one guard did; it comes before unmapping, or
 * the budget shrinks by one. False from it: the range may still fault. */
bool sj__pages_guard(void *address, size_t bytes);
bool sj__pages_unguard(void *address, size_t bytes);

/* The same for guards of which there may be thousands: by mprotect only while that leaves most of the budget to others. The
 * first tells whether it is worth while to ask. */
bool sj__pages_can_guard_many(void);
bool sj__pages_guard_many(void *address, size_t bytes);

/* The two ways to make free memory inaccessible: by mprotect, so that its contents and pages stay; it costs up to two mappings,
 * within the budget of guards. Or by guard markers, so that its pages are given back and it reads as zero afterwards. */
enum sj_trap { SJ_TRAP_NONE, SJ_TRAP_KEEPING, SJ_TRAP_EMPTYING };

/* False: refused, beyond the budget, or no markers in this kernel; the range is as it was, but EMPTYING may have discarded some
 * of it. Any part of a range may be made accessible again, if EMPTYING. False from it: the range may still fault. */
bool sj__pages_trap(void *address, size_t bytes, enum sj_trap how);
bool sj__pages_untrap(void *address, size_t bytes, enum sj_trap how);

/* To be called after a range that was trapped KEEPING was mapped over. */
void sj__pages_forget_trap(void);

/* To be called after a range with as many guards was mapped over: they are off the budget. */
void sj__pages_forget_guards(size_t guards);

/* How many guards made by mprotect are standing, and how many may: by default a quarter of vm.max_map_count. */
size_t sj__pages_protected_guards(void);
void sj__pages_set_guard_budget(size_t guards);

/* Counters for the statistics. */
struct sj_pages_counters {
    uint64_t maps;
    uint64_t unmaps;
    uint64_t releases;
    uint64_t protects;
    uint64_t guards;
    uint64_t moves;
    uint64_t refused; /* calls that the kernel refused */
};
void sj__pages_read_counters(struct sj_pages_counters *out);

/* True if the kernel has guard markers (Linux 6.13 and later). */
bool sj__pages_have_guard_markers(void);

/* Test seam: the system calls as a table. */
struct sj_page_source {
    void *(*map)(void *address, size_t bytes, int protection, int flags);
    int (*unmap)(void *address, size_t bytes);
    int (*protect)(void *address, size_t bytes, int protection);
    int (*advise)(void *address, size_t bytes, int advice);
    void *(*move)(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to);
};
/* Replaces the page source; NULL restores the kernel. For tests, before threads exist. */
void sj__pages_set_source(const struct sj_page_source *source);

#endif
