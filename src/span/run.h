/* SPDX-License-Identifier: MIT
 *
 * What: runs of free granules of the window: given out for slabs and large blocks, taken back, joined with their
 * neighbours, and given back to the system.
 *
 * Why this way: two-level segregated fit by size (a bitmap of non-empty bins, four bins a doubling), so that every
 * request is a few bit operations whatever the number of runs. Runs are kept apart by what their pages hold, because
 * that decides what it costs to hand them out: a zero run is ready, an owing one is scrubbed first, an empty one costs
 * faults. An owing run may go back to the system before anybody wants it; then the system has paid, and nothing was
 * scrubbed for nothing.
 * Runs of different content are never joined but when memory is short; then all are emptied, and all are alike. If that
 * is not enough they are unmapped, which is all that helps under RLIMIT_AS and with locked memory. Where the system charges
 * every process for what it has mapped (vm.overcommit_memory=2) they are unmapped whenever their pages go back: see
 * doc/adr/0102.
 *
 * Runs that hold pages are also linked by age. A joined run has the age and the place in that order of its largest part:
 * so the order stays exact without a search, and a large run does not stay young because small ones keep joining it.
 *
 * Invariants: what was freed owing is handed out as zero, or not at all. A free run's first and last granule name its record in the map; the others name "freed" or "unused".
 * Two neighbouring free runs never have the same content. Records are recycled only as records of runs.
 *
 * Concurrency: one lock of rank RUNS, held for the bit operations; system calls on pages run under it only when
 * memory is short. While the clock gives pages back their granules are nobody's.
 */
#ifndef SJ_SPAN_RUN_H
#define SJ_SPAN_RUN_H

#include "meta/window.h"
#include "span/release.h"

enum sj_run_content {
    SJ_RUN_DIRTY,     /* pages hold whatever was last written; whoever takes them knows what to do */
    SJ_RUN_ZERO,      /* pages are held and all zero */
    SJ_RUN_OWING,     /* pages hold old bytes, which are scrubbed before they are handed out: never handed out so */
    SJ_RUN_EMPTY,     /* no pages are held: reads as zero, costs a fault a page */
    SJ_RUN_UNTOUCHED, /* and nobody ever had it: told apart from EMPTY under isolate, and handed out as that */
    SJ_RUN_TRAPPED,   /* as EMPTY, and inaccessible, by guard markers: a freed large block's; never handed out so */
    SJ_RUN_UNMAPPED, /* not even mapped: given back where address space or locked memory is limited; never handed out so */
    SJ_RUN_CONTENTS
};

/* Takes `granules` granules, those with pages first. On success says where they start and what they hold, and the map
 * entries of the taken granules are the caller's to set. False: the kernel gives no more. */
bool sj__run_take(size_t granules, size_t *first_granule, enum sj_run_content *content);

/* The same for a block that moves there from `old_granules`, which it gives then: under the limit only the growth counts. */
bool sj__run_take_to_move(size_t granules, size_t old_granules, size_t *first_granule, enum sj_run_content *content);

/* Takes exactly the granules [first, first + granules) if all of them are one free run's first part, or that and what the
 * window grows by. */
bool sj__run_take_at(size_t first_granule, size_t granules, enum sj_run_content *content);

/* From now on what gives its pages back gives its addresses back too, if it is a MiB or more: where the system charges for them.
 * Off again for tests. */
void sj__run_give_addresses(bool on);

/* From now on what the window grows by is kept apart from what was handed out before: at the start, or at a raise. */
void sj__run_keep_apart(void);

/* Takes granules that nobody ever had; they are empty. False: there are none, or the limit does not allow it. */
bool sj__run_take_untouched(size_t granules, size_t *first_granule);

/* What granules count as that are out of the runs. */
enum sj_run_use {
    SJ_USE_TAKEN,     /* in use */
    SJ_USE_SET_ASIDE, /* free but their taker's, with pages */
    SJ_USE_BARE,      /* guards, and free but their taker's: without pages */
    SJ_USE_GIVEN,     /* as taken, right before they are given back */
    SJ_USE_LOST       /* nobody's: the kernel left them unmapped, or faulting */
};

/* Granules change their use. False if a limit forbids it: on what is in use, or on what is held. */
bool sj__run_change_use(size_t granules, enum sj_run_use from, enum sj_run_use to);

/* Gives granules back. Their map entries are set to "freed". A run that holds pages is emptied at once while more than
 * the allowed bytes are held. */
void sj__run_give(size_t first_granule, size_t granules, enum sj_run_content content);

/* The same where the pages [start, start + bytes) may hold old bytes and the others read as zero. They owe a scrub of `owed_bytes`,
 * as the ledger counts. */
void sj__run_give_owing(size_t first_granule, size_t granules, const char *start, size_t bytes, size_t owed_bytes);

/* Could `bytes` be handed out if all that is not in use were one free run? False: there is not that much, or limit_bytes
 * forbids it. */
bool sj__run_could_take(size_t bytes);

/* What is wrong with the free run that the map names at `granule`; NULL if nothing is, or the granule is no run's. */
const char *sj__run_fault(size_t granule);

/* True if so much memory is in use that nothing free should be held. Takes no lock. */
bool sj__run_is_pressed(void);

/* Gives all held pages back to the system. Returns the bytes that were given. */
size_t sj__run_purge(void);

/* Gives the pages of runs free since before `before_ms` back, oldest first, at most *budget_bytes, which it lowers. Returns
 * since when the oldest that is left has been free; SJ_NEVER_MS if none is. */
uint64_t sj__run_release_aged(uint64_t before_ms, size_t *budget_bytes);

/* Gives `bytes` back, or what there is, oldest first and whatever its age: not the clock's work, so not in its books. */
void sj__run_release_oldest(size_t bytes);

/* Metadata: as sj__arena_alloc. Under a limit on address space the window's free runs may be all that can make room for the
 * arena; then they are unmapped. Not to be called under the lock of the runs. */
void *sj__run_record(size_t bytes);

struct sj_run_bytes {
    size_t held[SJ_RUN_CONTENTS]; /* bytes of free runs by content */
    size_t window;                /* bytes of the window in all */
    size_t taken;                 /* bytes handed out and not given back */
    size_t set_aside;             /* bytes handed out that are free but their taker's, with pages */
    size_t bare;                  /* bytes handed out that hold no pages */
    size_t lost;                  /* bytes handed out that nobody can use any more */
    size_t peak;                  /* the most that ever counted under limits, with records */
    uint64_t owed;                /* ledger: what owing runs owe */
    uint64_t paid_reuse;          /* ledger: scrubbed before it was handed out */
    uint64_t paid_kernel;         /* ledger: given back to the system while it was owed */
    uint64_t released;            /* bytes ever given back to the system */
    uint64_t refaulted;           /* bytes taken from empty runs that had been handed out before */
    struct sj_hold_books books;
};
void sj__run_read_bytes(struct sj_run_bytes *out);

/* The same; if the lock is not had within *patience_ms, which it lowers, as they stand. */
void sj__run_peek_bytes(struct sj_run_bytes *out, unsigned *patience_ms);

/* Bytes of free runs that hold pages. */
SJ_ALWAYS_INLINE size_t sj_run_held_bytes(const struct sj_run_bytes *bytes)
{
    return bytes->held[SJ_RUN_DIRTY] + bytes->held[SJ_RUN_ZERO] + bytes->held[SJ_RUN_OWING];
}

void sj__run_lock_for_fork(void);
void sj__run_unlock_after_fork(bool in_child);

#endif
