/* SPDX-License-Identifier: MIT
 *
 * What: a slab, a run of equal slots, and its state, which lies in the metadata arena.
 *
 *     struct sj_slab          one cache line that every free of its slots, and every copy into them, reads
 *                             one cache line that only slow paths read
 *     struct sj_word[words]   four planes for each 64 slots: live, available, dirty, freed     written by the owner only
 *     struct sj_remote        link, queued flag, one word of remote bits for each 64 slots     written by anybody
 *
 * Why this way: nothing of the allocator's lies in or next to user memory, so nothing a program overflows can reach
 * it, and an untouched slot stays untouched. The four planes of a word share one half cache line: an allocation or
 * a free touches one line of state. What other threads write lies in lines of its own.
 *
 * The planes, for a slot:
 *     live       the program has it. Set at hand-out, cleared at free or at the fold of a remote free.
 *     available  it can be taken by the owner. A slot a thread has taken but not handed out is neither, and so is one
 *                that was never opened: a slab is opened group by group, no further than needed.
 *     dirty      it owes a scrub: free, and may hold old bytes. Not dirty and not live: it reads as zero.
 *     freed      it has been freed since the slab was opened. For the reports: tells a double free from a wild one.
 *
 * Invariants: live and available are never both set, but where a signal handler has allocated within a fast path of
 * its own thread; therefore a slot that is live is never taken, scrubbed or handed out, whatever the other planes say.
 * until_slow + trigger slots are not available (sj_slab_used), unless the slab is uncounted. Remote bits are zero when a
 * slab is closed. A record is recycled for slabs of the same class only; its link and queued flag live on (a thread may
 * still be about to queue it, see heap/remote.h).
 *
 * Concurrency: the owner's thread writes slab and planes, its slow paths under the heap's lock. Other threads read
 * owner, base, reciprocal, slot_bytes, slots, class_index and the live plane, and write struct sj_remote by atomics.
 */
#ifndef SJ_SPAN_SLAB_H
#define SJ_SPAN_SLAB_H

#include "meta/window.h"
#include "policy/policy.h"
#include "span/size_class.h"

struct sj_word {
    uint64_t live;
    uint64_t available;
    uint64_t dirty;
    uint64_t freed;
};

struct sj_slab;

struct sj_remote {
    struct sj_atomic_ptr next;   /* struct sj_slab *: link in an owner's queue; whoever set `queued` writes it */
    struct sj_atomic_u32 queued; /* 1 while the slab is in a queue, or about to be */
    uint32_t unused;
    struct sj_atomic_u64 bits[]; /* 1: freed by another thread and not yet folded */
};

enum sj_slab_place {
    SJ_SLAB_CURRENT, /* its owner takes from it */
    SJ_SLAB_PARTIAL, /* in its bin's list */
    SJ_SLAB_FULL     /* in no list; comes back when enough of its slots are free */
};

/* In a slab's stamp. `counted`: each slot that is handed out has an account, and its owner is used under its lock. `own`: of a
 * heap with a policy of its own, which no raise changes: in place of the level. */
enum { SJ_STAMP_COUNTED = 128, SJ_STAMP_OWN = 127 };

/* Where `until_slow` of an uncounted slab begins: far from 0. */
enum { SJ_SLAB_UNCOUNTED = 1 << 30 };

struct sj_slab {
    struct sj_span span; /* owner: struct sj_heap * */
    char *base;
    uint64_t reciprocal;
    uint32_t slot_bytes;
    uint8_t class_index;
    uint8_t stamp;      /* level of the policy it was opened under; and SJ_STAMP_COUNTED */
    uint8_t place;      /* enum sj_slab_place */
    bool released;      /* its pages were given back, and nothing handed out since: it is about to be closed */
    int32_t until_slow; /* slots not available, less `trigger`: the free that brings it to 0 takes the slow path */
    uint32_t trigger;
    struct sj_remote *remote;
    uint32_t slots;
    bool uncounted;       /* a bin hands out from its planes and does not count: until_slow has the frees only */
    uint8_t canary;       /* enum sj_canary: what its slots have behind the objects in them, see tail.h */
    uint16_t plain_slots; /* `slots` if that is nothing, else 0: a copy then takes a closer look */

    SJ_CACHE_ALIGNED struct sj_slab *next; /* in its bin's list, or in the pool of records */
    struct sj_slab *previous;
    size_t first_granule;
    uint16_t words;
    uint16_t groups;      /* groups of fresh_slots neighbours, the last may be smaller */
    uint16_t first_group; /* the group that was opened first; the others follow, round the end */
    uint16_t opened;      /* groups that have been opened */
    uint16_t cursor;      /* the unit the next search begins at: the one longest without a take */
    bool clean_start;     /* its pages were zero when it was opened */
    bool stays;           /* its place stays its class's, see site.h */
    bool guarded;         /* a granule that faults lies behind it */
    uint8_t content;      /* closed: enum sj_run_content */
    uint8_t use;          /* closed, with a place that stays: enum sj_run_use */
    uint32_t *left_at;    /* of each unit: slots its heap had taken of the class when it took this one; 0: not yet */
    uint32_t used_before; /* if uncounted: slots not available when it became so */
    uint64_t idle_ms;     /* since when it, or its place, has been kept although it is empty, if it is */
    uint16_t *notes;      /* of each slot, with canary=exact: see tail.h; NULL if it never had any */
    uint8_t *families;    /* of each slot, with types: see family.h; NULL if it was opened without */
    /* What that leads to, or led to; NULL if it never had any. */
    uint8_t *families_room;
    uint16_t *accounts; /* of each slot, if its stamp says counted: see heap/account.h; NULL if it never was */
    struct sj_slab *next_of_heap; /* if it is counted: of all slabs of its heap */
    struct sj_slab *previous_of_heap;

    SJ_CACHE_ALIGNED struct sj_word planes[];
};

_Static_assert(offsetof(struct sj_slab, next) == SJ_CACHE_LINE_BYTES, "a free reads one line of the slab");

/* Number of slots that are not available: live, taken, or freed by others and not folded. */
SJ_ALWAYS_INLINE uint32_t sj_slab_used(const struct sj_slab *slab)
{
    return (uint32_t)slab->until_slow + slab->trigger;
}

SJ_ALWAYS_INLINE void sj_slab_set_trigger(struct sj_slab *slab, uint32_t trigger)
{
    slab->until_slow = (int32_t)(sj_slab_used(slab) - trigger);
    slab->trigger = trigger;
}

/* Slots taken out of a slab: some of a word. */
struct sj_group {
    uint64_t bits;
    unsigned word_index;
    unsigned first_slot; /* of the neighbours, within the word */
    unsigned slots;      /* how many neighbours these are: a power of two */
    bool fresh;          /* they were never handed out */
};

/* The one slot of the slab that `start` lies in. */
SJ_ALWAYS_INLINE struct sj_group sj_slab_slot_at(const struct sj_slab *slab, const char *start)
{
    unsigned slot_index = sj_slot_of(slab->reciprocal, (size_t)(start - slab->base));
    return (struct sj_group){ .bits = (uint64_t)1 << (slot_index % SJ_WORD_BITS),
                              .word_index = slot_index / SJ_WORD_BITS };
}

/* How slots are to be taken. */
struct sj_take {
    unsigned unit_slots; /* neighbours taken at once for reuse: at most 64, a power of two */
    unsigned rich_slots; /* a unit with fewer is not taken while a fuller one is there */
    size_t rest_bytes;   /* groups are opened before any is reused until they span this */
    bool rich_only;      /* rather nothing than a poor unit */
};

SJ_ALWAYS_INLINE bool sj_slab_is_counted(const struct sj_slab *slab)
{
    return (slab->stamp & SJ_STAMP_COUNTED) != 0;
}

/* Opens a slab of a class for `owner`. NULL if there is no memory. Pages of zero-sized objects fault. */
struct sj_slab *sj__slab_open(const struct sj_policy *policy, unsigned class_index, void *owner, uint8_t stamp);

/* Closes a slab that has no live slot; its memory goes back to the runs, or stays its class's. */
void sj__slab_close(struct sj_slab *slab);

/* Forgets when its units were taken: another heap counts from elsewhere. */
void sj__slab_forget_turns(struct sj_slab *slab);

/* What is wrong with the record of an open slab, measured by its class and by the map; NULL if nothing is. Under the owner's
 * lock. */
const char *sj__slab_fault(const struct sj_slab *slab);

/* Those slots of a word of planes that have been opened. Under the owner's lock. */
uint64_t sj__slab_opened_of(const struct sj_slab *slab, unsigned word_index);

/* How many of its slots are live. */
uint32_t sj__slab_live(const struct sj_slab *slab);

/* Of an uncounted slab: how many of its slots have been handed out since it became so. */
uint32_t sj__slab_handed(const struct sj_slab *slab);

/* True if no slot is live and no remote bit is set. */
bool sj__slab_is_idle(const struct sj_slab *slab);

/* Takes available slots: the first rich unit after the last one taken; else a group never opened, as long as there is
 * one; else the fullest unit. False if there is nothing, or nothing rich enough. */
bool sj__slab_take(struct sj_slab *slab, const struct sj_take *how, struct sj_group *group);

/* Scrubs those of a group's slots that are dirty, in address order. Returns the bytes paid. */
size_t sj__slab_pay(struct sj_slab *slab, const struct sj_group *group);

/* Gives the pages of a slab without a live slot back to the system; it must be closed then. False: the kernel refused. On
 * success *paid_bytes are those of the dirty slots, which the system has paid for. */
bool sj__slab_release(struct sj_slab *slab, size_t *paid_bytes);

#endif
