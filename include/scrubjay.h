/* SPDX-License-Identifier: MIT
 *
 * scrubjay.h: the interface of Scrubjay, a hardened drop-in malloc.
 *
 * A program needs none of this: preloaded or linked, the library serves malloc, free and their kin under their standard
 * names. These are the same functions under names of their own, the C23 sized frees, and what the library can tell.
 *
 * Unless a function says otherwise it may be called from any thread, before main and after it, and in the child of a
 * fork. In a signal handler allocation works unless the handler has interrupted the allocator's own slow path on the
 * same thread, which ends the process with report SJ-009 rather than deadlock. Memory is aligned to 16 bytes.
 * On failure functions that return memory return NULL and set errno to ENOMEM (EINVAL for a bad alignment). Functions
 * that free keep errno. Passing a pointer that is not the start of a live block ends the process with a report; see
 * scrubjay-reports(7).
 *
 * A program may bring options of its own: `const char *scrubjay_default_options = "level=1";` at file scope, see
 * scrubjay-options(7).
 */
#ifndef SCRUBJAY_H
#define SCRUBJAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ISO C and POSIX. A block of 0 bytes is distinct and may not be accessed. sj_realloc(block, 0) frees and returns NULL,
 * as in glibc. */
void *sj_malloc(size_t size);
void *sj_calloc(size_t count, size_t size);
void *sj_realloc(void *block, size_t size);
void *sj_reallocarray(void *block, size_t count, size_t size);
void sj_free(void *block);

/* `alignment` is a power of two; `size` need not be a multiple of it. */
void *sj_aligned_alloc(size_t alignment, size_t size);
/* As sj_aligned_alloc, but an alignment that is no power of two is rounded up to one, as in glibc. */
void *sj_memalign(size_t alignment, size_t size);
/* Returns 0, EINVAL (alignment not a power of two multiple of sizeof(void *)) or ENOMEM; does not set errno, and leaves
 * *block alone on failure. */
int sj_posix_memalign(void **block, size_t alignment, size_t size);

/* C23: `size` (and `alignment`) must be what was asked for. Checked from level 1 on (option sized). */
void sj_free_sized(void *block, size_t size);
void sj_free_aligned_sized(void *block, size_t alignment, size_t size);

/* Bytes that may be used at `block`: at least what was asked for, all of them writable. 0 for NULL. */
size_t sj_malloc_usable_size(void *block);

/* What other allocators and the BSDs have; also exported without the prefix, see scrubjay(3).
 *
 * jemalloc: the usable size that an allocation of `size` bytes would have, 0 if there can't be one; the low six bits of
 * `flags` are the binary logarithm of an alignment. The sized free with such flags, sj_sdallocx, is checked as sj_free_sized. */
size_t sj_nallocx(size_t size, int flags);

/* jemalloc's other calls with such flags, so that a block is the same heap's whichever way it came. 64 in `flags` asks for zeroes
 * up to the usable size (sj_rallocx: behind the old one); tcaches and arenas are ignored. sj_xallocx never resizes. */
void *sj_mallocx(size_t size, int flags);
void *sj_rallocx(void *block, size_t size, int flags);
size_t sj_xallocx(void *block, size_t size, size_t extra, int flags);
size_t sj_sallocx(const void *block, int flags);
void sj_dallocx(void *block, int flags);
void sj_sdallocx(void *block, size_t size, int flags);

/* OpenBSD: overwrites the first `size` bytes, then frees. More than the block has is reported (SJ-006), at every level. */
void sj_freezero(void *block, size_t size);

/* OpenBSD: as sj_reallocarray of a block of `old_count` objects, but what is added reads as zero, and what is dropped, or
 * left behind by a move, is overwritten. NULL and EINVAL if old_count * size overflows; the block is left alone on failure. */
void *sj_recallocarray(void *block, size_t old_count, size_t count, size_t size);

/* FreeBSD: as sj_realloc, but frees the block if it fails. */
void *sj_reallocf(void *block, size_t size);

/* NetBSD: `pointer` is the address of a pointer to a block, which is changed in place. Returns 0, EOVERFLOW or ENOMEM, and
 * keeps errno; the pointer is left alone on failure. Of 0 bytes: the block is freed and the pointer becomes NULL. */
int sj_reallocarr(void *pointer, size_t count, size_t size);

/* The live object that `pointer` points into, at its start or anywhere inside. Returns 1, with its start and usable size
 * (either may be NULL), or 0: a pointer that is not ours, or to freed memory, or between objects. */
int sj_object_bounds(const void *pointer, void **start, size_t *size);

/* hardened_malloc: bytes from `pointer` to the end of the object it points into; 0 if that is not live, SIZE_MAX if the
 * pointer is not ours. */
size_t sj_malloc_object_size(const void *pointer);

/* Gives free memory back to the system, as sj_purge(1). Returns 1 if anything was given back, else 0. `pad` is ignored: it is
 * glibc's for the top of its heap, which there is none of here. */
int sj_malloc_trim(size_t pad);

/* Gives free memory back to the system at once: kept large blocks, free runs, empty slabs of the calling thread and of
 * threads that have ended; with `all` those that other threads keep too. Returns 1 if anything was given back, else 0. */
int sj_purge(int all);

/* Checks the heap for damage: whether the map and the records of blocks, slabs and free memory agree, whether what was freed by two
 * threads at once is still free, and, with verify=on, whether free slots of up to 32 KiB are still as they were left. Damage ends the
 * process with a report (SJ-008, SJ-004, SJ-013), also under onerror=report. `budget` is in bytes of the address space that the heap
 * has, rounded up to 64 KiB: so much is looked at, from where the call before, or a step of option walk, ended. 0, or as much as there is
 * (SIZE_MAX), is the whole. Returns 1 if the end has been reached, and the next call begins anew; 0 if there is more; or -1, with
 * errno ENOTSUP where SCRUBJAY_DISABLE passes all calls on to another allocator, ENOMEM if the library could not start,
 * EAGAIN in a signal handler that has interrupted the allocator. Threads may go on allocating meanwhile: locks are held for 64 KiB at a
 * time, and signals of the calling thread wait for a MiB; of a heap whose thread stands still inside the allocator nothing is
 * checked. The child of a fork may call it. Takes locks: not for signal handlers. */
int sj_check(size_t budget);

/* Arenas: heaps of the program's own, with a name, a policy and a limit, whose blocks can all be freed at once.
 *
 * `name` is not empty; 47 bytes of it are kept, with _ for what is neither letter nor digit nor one of . : / + -
 * Names need not differ. `options`, which may be NULL, is a text as SCRUBJAY_OPTIONS has it, applied on top of the options in force:
 * those of the ladder ("level=3", "scrub=off"); limit_bytes, the most that the arena's blocks may have together, in bytes that can be
 * used (a size class's, or whole pages; without it there is no limit); and exhausted, what follows a call that can't give a block: null
 * (NULL and ENOMEM) or report (SJ-020, which has what each label holds and ends the process). A floor of /etc/scrubjay.conf
 * holds here too. A raise of the program's level changes no arena that there is. Options that hold for a whole process (copy, walk) do
 * nothing here, and an arena's blocks are not sampled.
 * Returns NULL with errno EINVAL (no name, or an option that is unknown, has no such value, or is not for arenas), ENOMEM, or
 * ENOTSUP where SCRUBJAY_DISABLE passes all calls on to another allocator.
 *
 * The functions of arenas and labels may be called from any thread, at once, and in the child of a fork, which has the arenas as they
 * were. In a signal handler that has interrupted the allocator they end the process (SJ-009). An arena that was destroyed, or is
 * none, is reported (SJ-019). An arena takes one lock for each allocation; frees take none. */
struct sj_arena;
struct sj_arena *sj_arena_create(const char *name, const char *options);

/* As sj_malloc and its kin. `label` says what the block is for, in the arena's books and in reports; NULL: the label that
 * the thread has in force, if any. Only its text counts, which is kept as a name is; it may be gone afterwards. A program may have
 * 65,535 labels, an arena's counted anew; what is beyond counts as without label. sj_arena_realloc looks at the label
 * only if the block is NULL: others keep theirs. */
void *sj_arena_malloc(struct sj_arena *arena, const char *label, size_t size);
void *sj_arena_calloc(struct sj_arena *arena, const char *label, size_t count, size_t size);
void *sj_arena_aligned_alloc(struct sj_arena *arena, const char *label, size_t alignment, size_t size);
void *sj_arena_realloc(struct sj_arena *arena, const char *label, void *block, size_t size);

/* Frees a block of this arena; of another, or of none, is reported (SJ-018). free and realloc take blocks of any arena too, which stay in
 * theirs. */
void sj_arena_free(struct sj_arena *arena, void *block);

/* Frees all blocks of the arena, which stays; or all blocks and the arena, whose handle means nothing from then on. What a free would
 * report is reported (SJ-016). No other thread may use the arena or its blocks meanwhile. A pointer from before is one to a freed block
 * (SJ-004, SJ-005), until its memory has another owner. sj_arena_destroy(NULL) does nothing. errno is kept. */
void sj_arena_reset(struct sj_arena *arena);
void sj_arena_destroy(struct sj_arena *arena);

/* From here to the matching sj_label_pop what the calling thread gets from malloc and its kin is counted under `label`, also when it is
 * freed later and elsewhere. Labels nest; the innermost counts, but of more than 32 the 32nd. Returns 0, or -1 with errno ENOMEM or ENOTSUP,
 * and then there is nothing to pop. Such blocks cost more than others (a lock that few share, and counting), are not sampled, and
 * a thread that ends has no label. sj_label_pop without a label does nothing. Not for signal handlers. */
int sj_label_push(const char *label);
void sj_label_pop(void);

/* What the blocks of one arena and one label come to. Exact when no other thread is inside the allocator. */
#define SJ_ACCOUNT_NAME_BYTES 48
struct sj_account_stats {
    char arena[SJ_ACCOUNT_NAME_BYTES]; /* "": in no arena */
    char label[SJ_ACCOUNT_NAME_BYTES]; /* "": without label */
    uint64_t live_bytes;               /* that can be used: a size class's, or whole pages */
    uint64_t live_blocks;
    uint64_t peak_bytes;      /* the most of live_bytes there ever was */
    uint64_t allocated_bytes; /* all that ever were, blocks that realloc has enlarged counted for what they grew by */
    uint64_t allocated_blocks;
    uint64_t limit_bytes; /* sj_arena_read: the arena's; 0: none */
};

/* All of an arena's labels together. Returns 0. */
int sj_arena_read(const struct sj_arena *arena, struct sj_account_stats *stats);

/* An arena's part in the memory bill: its slabs, and its live large blocks; committed_bytes is their sum. Returns 0, or -1 with errno as
 * sj_bill_read. */
struct sj_bill;
int sj_arena_bill(const struct sj_arena *arena, struct sj_bill *bill, size_t bytes);

/* One arena and label after another, from index 0 up, in the order in which they were first used. Those of an arena that was destroyed come
 * with zeroes. Returns 0, or -1 with errno ENOENT at the end. Takes no lock; may be used in signal handlers. */
int sj_account_read(size_t index, struct sj_account_stats *stats);

/* The arena and label of the live block that `pointer` points to or into. Returns 1; or 0, with *stats all zero, if it has neither, or there
 * is no such block. */
int sj_account_of(const void *pointer, struct sj_account_stats *stats);

/* Reads and sets an option by its name, see scrubjay-options(7). If `old` is not NULL the value in force is written there,
 * NUL-terminated and cut after `old_size` bytes. If `value` is not NULL it comes into force. Returns 0, or -1 with errno
 * ENOENT (no such option), EPERM (it is fixed when the program starts; a level can be raised only, and not with live=off),
 * EINVAL (no value of this option), EAGAIN (tick: no thread could be made; level: the call interrupted the allocator), ENOMEM
 * (level: the kernel did not let the settings be changed) or ENOTSUP (level: the library was built for one). Calls that set
 * must not run at the same time. Not for signal handlers. A name "stats.TOPIC.NAME" reads one number of the statistics, as
 * stats=on writes them: "stats.calls.allocated", "stats.bill.live"; EPERM to set it. */
int sj_ctl(const char *name, const char *value, char *old, size_t old_size);

/* What the allocator holds. All in bytes unless named otherwise. Exact when no other thread is inside the allocator. */
struct sj_stats {
    uint32_t version; /* SJ_STATS_VERSION of the library */
    uint32_t level;
    uint64_t allocations;          /* calls that returned memory */
    uint64_t frees;                /* of them, how many have been freed */
    uint64_t live_bytes;           /* slots and blocks that the program has */
    uint64_t freed_bytes;          /* ever freed */
    uint64_t scrubbed_at_free;     /* ledger: freed bytes overwritten at once */
    uint64_t scrubbed_at_reuse;    /* ledger: overwritten before they were handed out again */
    uint64_t scrubbed_by_kernel;   /* ledger: given back to the system, which returns zeros */
    uint64_t owed_bytes;           /* ledger: freed and still to be scrubbed; with scrub=off all that was freed */
    uint64_t calloc_avoided_bytes; /* calloc of memory known to be zero */
    uint64_t remote_frees;         /* frees by a thread that does not own the memory */
    uint64_t slabs;                /* number of slabs in use */
    uint64_t slab_bytes;           /* their size */
    uint64_t large_live_blocks;    /* number of live large blocks */
    uint64_t large_live_bytes;
    uint64_t free_held_bytes;      /* free memory that still holds pages */
    uint64_t window_bytes;         /* address space in use for user memory */
    uint64_t metadata_bytes;       /* records, map and heaps */
    uint64_t heaps;                /* thread heaps ever made */
    uint64_t guards_refused;       /* guards that could not be made */
    uint64_t traps_refused;        /* freed large blocks that could not be made inaccessible */
    uint64_t system_calls_refused; /* memory calls that the kernel refused */
    uint64_t weak_seeds;           /* seeds made without the kernel's generator */
    uint64_t realloc_moved_bytes;  /* large blocks that realloc enlarged elsewhere by moving their pages */
    uint64_t realloc_copied_bytes; /* and by copying their bytes */
    uint64_t turns;                /* delay=run: groups of freed slots that were taken again */
    uint64_t shortest_rest;  /* in slots of the class: at least so many others were handed out before what had been
                                    * freed when its group was used up; UINT64_MAX without a turn */
    uint64_t pick_millibits; /* random=on: mean entropy of a pick, in 1/1000 bit, over sampled refills */

    /* Free memory that is held for reuse: see doc/release.md. A gap is the time between free and reuse; in the histograms
     * entry 0 is under 1 ms, entry i from 2^(i-1) ms to under 2^i, and the last one all above. */
    uint64_t cache_hits;         /* large blocks that came out of the cache of freed ones */
    uint64_t cache_cold_hits;    /* of them, those whose pages had been given back */
    uint64_t cache_misses;       /* large blocks that did not */
    uint64_t cache_evictions;    /* kept blocks that had to go before they were reused */
    uint64_t cache_kept_blocks;  /* kept now */
    uint64_t cache_kept_bytes;   /* and what they hold */
    uint64_t cache_held_byte_ms; /* bytes held, summed over milliseconds */
    uint64_t run_held_byte_ms;   /* the same of free runs of pages */
    uint64_t release_passes;     /* of the release clock */
    uint64_t released_by_age;    /* bytes that it gave back */
    uint64_t faults_avoided;     /* pages reused while they were held; at most so many faults */
    uint64_t faults_caused;      /* pages reused after they were given back */
    uint64_t calls_avoided;      /* system calls for guards, by hits */
    uint64_t calls_caused;       /* system calls that gave blocks and runs back by age */
    uint64_t cache_gap_count[24];
    uint64_t cache_gap_bytes[24];
    uint64_t run_gap_bytes[24]; /* gaps as far as they were held: a run that was given back is of unknown age */

    uint64_t
        forgone_bytes; /* ledger: freed under scrub=off: reused before a raise of the level brought scrub, or in an arena */
    uint64_t slab_guards;         /* guards that stand behind slabs */
    uint64_t places_not_isolated; /* isolate=on: slabs that got common memory, and places that classes had to give up */
    uint64_t sampled;             /* allocations that were sampled; see the option sample */
    uint64_t samples_skipped;     /* samples not taken: sample_rate, all pages taken, larger than a page, no memory */
    uint64_t traps_skipped;       /* trap=auto: kept large blocks that stayed accessible, to save time */
};
#define SJ_STATS_VERSION 5

/* Fills *stats. Returns 0; or -1, with errno ENOTSUP where SCRUBJAY_DISABLE passes all calls on to another allocator,
 * ENOMEM if the library could not start. Takes locks: not for signal handlers. */
int sj_stats_read(struct sj_stats *stats);

/* The memory bill: where the bytes are that the library has from the system. A block's bytes are on one line each. */
enum sj_bill_line {
    SJ_BILL_LIVE,         /* the program's: of small blocks what it may use, of large ones what it asked for */
    SJ_BILL_SLACK,        /* behind the last slot of a slab, and from a large block's size to the end of its pages */
    SJ_BILL_CANARIES,     /* values behind live blocks, and what surrounds sampled ones */
    SJ_BILL_GUARDS,       /* pages that fault: of large, zero-sized and sampled blocks */
    SJ_BILL_QUARANTINE,   /* freed slots that wait */
    SJ_BILL_CACHED_SLOTS, /* slots that a thread has taken to hand out next */
    SJ_BILL_REMOTE,       /* freed by another thread than their slab's, which has not taken them back yet */
    SJ_BILL_FREE_DIRTY,   /* free slots that may hold old bytes */
    SJ_BILL_FREE_CLEAN,   /* free slots that read as zero */
    SJ_BILL_UNOPENED,     /* slots of a slab that nobody has had yet */
    SJ_BILL_KEPT_PLACES,  /* closed slabs whose pages are kept for their size class */
    SJ_BILL_CACHED_LARGE, /* freed large blocks kept whole, with their pages */
    SJ_BILL_CACHED_COLD,  /* freed large blocks kept whole, whose pages have gone back */
    SJ_BILL_ROOM,         /* the rest of the 64 KiB pieces that large blocks lie in: room to grow */
    SJ_BILL_RUNS_DIRTY,   /* free runs of pages that may hold old bytes */
    SJ_BILL_RUNS_CLEAN,   /* free runs of pages that read as zero */
    SJ_BILL_RECORDS,      /* records of slabs, blocks and heaps */
    SJ_BILL_MAP,          /* the map from addresses to records */
    SJ_BILL_LINES,        /* how many there are */
    SJ_BILL_LINES_MAX = 32
};

/* Address space beside it, which holds no pages. */
enum sj_reserve_line {
    SJ_RESERVE_EMPTY,     /* free addresses without pages */
    SJ_RESERVE_UNTOUCHED, /* free addresses that nobody has had yet */
    SJ_RESERVE_TRAPPED,   /* free addresses that fault until they are reused */
    SJ_RESERVE_UNMAPPED,  /* free addresses given back to the system */
    SJ_RESERVE_BARE,      /* guards behind slabs, and places kept for a size class, without pages */
    SJ_RESERVE_LOST,      /* addresses that the system left in a state nobody can use */
    SJ_RESERVE_RECORDS,   /* mapped for records to come */
    SJ_RESERVE_LINES,     /* how many there are */
    SJ_RESERVE_LINES_MAX = 16
};

struct sj_bill {
    uint32_t version;         /* SJ_BILL_VERSION of the library */
    uint32_t bytes;           /* of this struct that were filled */
    uint64_t committed_bytes; /* what may hold pages: as limit_bytes counts, and the map */
    int64_t in_flight_bytes;  /* committed_bytes less the sum of line[]: 0 while no thread is inside the allocator */
    uint64_t peak_bytes;      /* the most that was ever committed */
    uint64_t resident_bytes;  /* of the library's mappings, as the kernel says; 0 if it does not */
    uint64_t untouched_bytes; /* committed and not resident: never touched, or swapped out */
    uint64_t line[SJ_BILL_LINES_MAX];       /* by enum sj_bill_line */
    uint64_t reserve[SJ_RESERVE_LINES_MAX]; /* by enum sj_reserve_line */
};
#define SJ_BILL_VERSION 1

/* Makes the bill: at most `bytes` of *bill are filled, so that a program built with an older header may ask. With what
 * other threads do meanwhile it is as exact as can be: what a call that is under way has between two lines is in_flight_bytes.
 * A stopped thread does not stop it: it waits for locks for 20 ms at most, in all. It takes some milliseconds for a
 * GiB of small blocks, and reads /proc/self/smaps. Returns 0, or -1 with errno as sj_stats_read, or EAGAIN in a signal handler
 * that has interrupted the allocator. */
int sj_bill_read(struct sj_bill *bill, size_t bytes);

/* "0.1.0" */
const char *sj_version(void);

/* Writes the options in force as key=value text, NUL-terminated; returns the length it has or would have had. Nothing is
 * in force, and the text empty, under SCRUBJAY_DISABLE. */
size_t sj_policy_text(char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
