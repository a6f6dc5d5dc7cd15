/* SPDX-License-Identifier: MIT
 *
 * What: blocks larger than the largest size class: whole pages in whole granules of the window.
 *
 *     granules  |........|........|........|
 *     no guards |BBBBBBBBBBBBBB----|                    B block, in pages; - slack, never touched
 *     guards     G|BBBBBBBBBBBBBB|G                     G one guard page before and behind
 *
 * Why this way: everything about a block lies in its record, out of line; the block takes its pages and not a byte
 * more, since the rest of its last granule is address space only. Living in the window means that one lookup serves
 * small and large, and that a free needs no tree and no hash. Growing first takes the granules behind, then moves the
 * pages (not the bytes) with room to grow again, so that a block grown step by step is copied never. Where the kernel
 * moves no pages the bytes are copied, and the room makes that five bytes a byte grown at most, however small the steps.
 *
 * With align_end=on a block ends where its pages end, as far as its alignment allows, so that the first byte behind it is the
 * guard's. A block that is resized keeps its place in its first page, since pages are what moves; it ends at its guard again
 * when it is copied.
 *
 *     align_end  G|--BBBBBBBBBBBB|G
 *
 * With trap=on a freed block can't be touched before it is reused: see doc/adr/0054.
 *
 * Invariants: the granule that contains `start` names the record in the map, also while the block is kept in the cache;
 * the block's other granules do not. `live` is 1 from hand-out to free. Records are recycled only as records of large blocks.
 *
 * Concurrency: a block belongs to whoever holds the pointer. Two frees that race are told apart by the exchange on
 * `live`. Records are pooled under a lock of rank LARGE.
 */
#ifndef SJ_SPAN_LARGE_H
#define SJ_SPAN_LARGE_H

#include "base/bits.h"
#include "meta/window.h"
#include "platform/pages.h"
#include "policy/policy.h"
#include "span/size_class.h"

struct sj_large {
    struct sj_span span; /* owner NULL, kind SJ_SPAN_LARGE while the block lives */
    char *start;
    size_t
        usable_bytes; /* from there to the end of its pages; of a block in the cache: whole pages, from their start */
    size_t requested_bytes; /* as asked for */
    size_t first_granule;
    size_t granules;
    struct sj_atomic_u32 live;
    uint32_t shift_bytes; /* of its first page, before `start`: with align_end */
    struct sj_atomic_u32
        changes; /* odd while a live block is being changed; another number after each change and in each life:
                                   * who finds it even and the same before and after has read what belongs together */
    uint8_t guarded_front; /* bool: a guard page stands there */
    uint8_t guarded_back;
    uint8_t unusable;    /* bool: of 0 bytes, at an alignment no slot has; its one page faults */
    uint8_t slack_dirty; /* bool: pages of its granules outside the block may hold old bytes */
    uint8_t canary;      /* bool: one lies from what was asked for to the end of its pages */
    uint8_t family;      /* enum sj_family, see family.h */
    uint8_t moved;       /* bool: its pages were moved here, so its mapping can't join its neighbours' */
    uint8_t dirty;       /* bool, of a block in the cache: its pages may hold old bytes */
    uint8_t owes;        /* bool, of a block in the cache: and the policy wants them gone before anybody reads them */
    uint8_t cold;        /* bool, of a block in the cache: its pages were given back */
    uint8_t trapped;     /* enum sj_trap, of a block in the cache */
    uint8_t shard;       /* of a block in the cache: in which of its parts */
    struct sj_atomic_u32 account; /* whose it is, see heap/account.h; 0: nobody's, and of a freed block */
    struct sj_large *next;        /* in the pool, or in a chain out of the cache */
    struct sj_large *next_of_arena, *previous_of_arena; /* while it is an arena's, under that one's lock */

    /* In the cache, see cache.c: */
    uint64_t freed_ms;
    struct sj_large *older, *newer;             /* of all kept blocks, warm or cold */
    struct sj_large *older_alike, *newer_alike; /* of those whose sizes share a bucket */
};

/* Where in its first page a new block of `size_bytes` starts that takes whole pages of `pages_bytes`. */
SJ_ALWAYS_INLINE size_t sj_large_shift(const struct sj_policy *policy, size_t pages_bytes, size_t size_bytes,
                                       size_t alignment)
{
    if (alignment < SJ_SMALL_STEP_BYTES)
        alignment = SJ_SMALL_STEP_BYTES;
    bool shifts = policy->align_end && alignment < sj__page_bytes() && size_bytes > 0;
    return shifts ? pages_bytes - sj_round_up(size_bytes, alignment) : 0;
}

/* A block of 0 bytes is distinct and faults.
 * A block of at least `size_bytes` at a multiple of `alignment`; zeroed if `zero`, and if the policy scrubs (then no
 * block shows old bytes). NULL if there is no memory. */
void *sj__large_malloc(const struct sj_policy *policy, size_t size_bytes, size_t alignment, bool zero);

/* Frees the block that starts at `block` and that `large` was found to be. False if it was not live any more. */
bool sj__large_free(const struct sj_policy *policy, struct sj_large *large, const void *block);

/* Bytes that the program may use: to the end of its pages, or as many as it asked for if a canary lies behind them. */
size_t sj__large_usable(const struct sj_large *large);

/* The first byte behind a live block that has changed; NULL if none has, or nothing is known of them. */
const char *sj__large_changed(const struct sj_large *large);

/* Changes the size in place, or moves the pages. The block's (possibly new) start, or NULL: nothing was changed. */
void *sj__large_resize(const struct sj_policy *policy, struct sj_large *large, size_t size_bytes);

/* Counts a resize that was a copy to a new block. */
void sj__large_count_copy(size_t bytes);

/* The live block that contains `pointer`, also inside of it; NULL if none does. For reports: may take long. */
struct sj_large *sj__large_containing(const void *pointer);

/* Gives all blocks kept for reuse back to the runs, and their pages to the system. Returns the bytes of these. */
size_t sj__large_drain(void);

/* Gives the pages of kept blocks freed before `before_ms` back, as sj__run_release_aged; the blocks stay kept. */
uint64_t sj__large_release_aged(uint64_t before_ms, size_t *budget_bytes);

struct sj_large_counts {
    uint64_t allocated_blocks;
    uint64_t freed_blocks;
    uint64_t allocated_bytes; /* whole pages */
    uint64_t freed_bytes;
    uint64_t scrubbed_bytes; /* written with zeros at free */
    uint64_t reused_bytes;   /* written with zeros when the block was taken again */
    uint64_t released_bytes; /* paid by the kernel */
    uint64_t forgone_bytes;  /* owed by a kept block that an arena with scrub=off took */
    uint64_t guards_refused;
    uint64_t traps_refused, traps_skipped;
    uint64_t moved_bytes;  /* of blocks that grew by having their pages moved */
    uint64_t copied_bytes; /* by copying */
};
void sj__large_read_counts(struct sj_large_counts *out);

void sj__large_lock_for_fork(void);
void sj__large_unlock_after_fork(bool in_child);

#endif
