/* SPDX-License-Identifier: MIT
 *
 * What: a thread's heap: for each size class the group of slots it hands out next, and the slabs it owns.
 *
 * Why this way: what an allocation or a free of the owner touches is one bin (a cache line), one word of planes, and
 * the slab's first line. No lock and no locked instruction is on that path. Everything else is here: the slow path,
 * under the heap's own lock, so that a fork finds every heap whole.
 *
 * Invariants: only the thread whose current heap it is writes bins and the planes of its slabs, or whoever has taken
 * an abandoned heap off the list. A slab belongs to one heap; it is its bin's current slab, or in its bin's list
 * (partial), or neither (full). Heaps are never freed: a dead thread's heap waits to be adopted, whole.
 *
 * Concurrency: `queue` is written by all; the rest by the owner, in slow paths under `lock`. Readers of statistics take
 * the lock and see fast-path fields approximately.
 */
#ifndef SJ_HEAP_HEAP_H
#define SJ_HEAP_HEAP_H

#include "base/chacha.h"
#include "guard/canary.h"
#include "guard/quarantine.h"
#include "heap/picks.h"
#include "platform/lock.h"
#include "policy/policy.h"
#include "span/scrub.h"
#include "span/slab.h"

/* What a thread hands out next from one class. One cache line. */
struct sj_bin {
    uint64_t bits;        /* slots taken and not yet handed out; bit i is word_start + i * slot_bytes. lifo: none */
    char *word_start;     /* address of the slot of bit 0 */
    struct sj_word *word; /* the planes of these slots; never NULL */
    struct sj_atomic_u64 *remote; /* the remote bits of these slots */
    size_t slot_bytes;
    struct sj_slab *slab; /* the current slab */
    uint8_t window_mask;  /* random picks: size - 1 of the window of neighbours that a pick is made among */
    uint8_t unused[15];
};
_Static_assert(sizeof(struct sj_bin) == 1 << SJ_BIN_SHIFT, "a bin is one cache line, and the class table counts on it");

/* What the next allocation of a class is to be when its bin is used up. */
enum sj_due { SJ_DUE_SLOT, SJ_DUE_SAMPLE, SJ_DUE_PROFILE };

/* The slow side of a bin. */
struct sj_bin_list {
    struct sj_slab *first; /* partial slabs, the next to be taken first */
    struct sj_slab *last;
    struct sj_slab *idle; /* the empty one of them that is kept; NULL if none is */
    uint64_t held_bits;   /* of the bin's word: taken, and handed out after what is due only */
    uint32_t count;
    uint32_t slabs;       /* slabs of this class the heap owns */
    uint8_t due;          /* enum sj_due */
    uint64_t taken_slots; /* slots ever taken to be handed out; of an uncounted slab when the bin leaves it */
};

enum { SJ_POOL_BYTES = 256, SJ_LEVEL_UNSETTLED = 255 };

struct sj_heap {
    SJ_CACHE_ALIGNED struct sj_bin bins[SJ_CLASS_COUNT];
    uint8_t pool_next;          /* next byte of `pool` to use; wraps */
    uint8_t pool_fresh;         /* up to here the pool's bytes are unused */
    uint16_t exit_rounds;       /* how often the thread's exit hook has run */
    uint32_t thread_id;         /* 0: of no thread */
    struct sj_atomic_u32 level; /* in force when its bins were last put back, or when it was attached; or UNSETTLED */
    uint64_t calloc_avoided_bytes;
    uint8_t pool[SJ_POOL_BYTES]; /* random bytes, one a pick, renewed on slow paths */

    struct sj_quarantine quarantines[SJ_CLASS_COUNT]; /* delay=quarantine: freed slots that wait */

    SJ_CACHE_ALIGNED struct sj_atomic_ptr queue; /* struct sj_slab *: slabs with remote frees, pushed by anybody */

    SJ_CACHE_ALIGNED struct sj_lock lock;
    struct sj_heap *next_of_all;
    struct sj_heap *next_abandoned;
    struct sj_bin_list lists[SJ_CLASS_COUNT];
    uint32_t chacha_key[SJ_CHACHA_KEY_WORDS];
    uint64_t chacha_counter;
    uint64_t paid_reuse_bytes;   /* ledger: scrubbed when taken again */
    uint64_t paid_kernel_bytes;  /* ledger: given back to the system */
    uint64_t remote_freed_slots; /* folded remote frees */
    uint64_t until_sample;       /* slots that may be taken before an allocation is sampled; UINT64_MAX: not drawn */
    uint64_t
        until_profile; /* bytes of slots that may be taken before one is a sample of the profile; UINT64_MAX: none ever */
    struct sj_picks picks;           /* random picks, measured */
    uint64_t turns;                  /* delay=run: units taken again */
    uint64_t shortest_rest;          /* the fewest slots of the class handed out in between; if `turns` */
    struct sj_atomic_u32 idle_slabs; /* empty slabs that are kept all the same; written under the lock */
    bool counted; /* all that it hands out has an account; it is no thread's, and used under its lock */
    const struct sj_policy *own_policy; /* an arena's; NULL: the policy in force is its policy too */
    struct sj_slab *slabs;              /* if counted: all it has */
    struct sj_retired {                 /* own_policy: what it came to under policies that it had before; see stats.c */
        uint64_t slots, bytes, hot_bytes, forgone_bytes, paid_bytes;
    } retired;
};

/* The calling thread's heap; never NULL. Before its first allocation it is sj__heap_none, after its end sj__heap_dead:
 * standing heaps with nothing in them, so that the fast paths need no test. */
extern SJ_HIDDEN _Thread_local struct sj_heap *sj__heap_current;
extern SJ_HIDDEN struct sj_heap sj__heap_none;
/* What it is while the thread has a label in force, so that every call comes to the slow paths; its own is then set aside. */
extern SJ_HIDDEN struct sj_heap sj__heap_labelled;
extern SJ_HIDDEN _Thread_local struct sj_heap *sj__heap_aside; /* NULL: no label is in force */
extern SJ_HIDDEN struct sj_heap sj__heap_dead;

/* What a bin that hands out from no word points to: nothing is available there. */
extern SJ_HIDDEN struct sj_word sj__heap_no_word;

/* How far the calling thread is inside the allocator's slow paths, for a signal handler that interrupts it there and
 * allocates: in its heap, it holds that heap's lock and no other, and the shared heap can serve; deeper, it may hold
 * any. */
enum sj_inside { SJ_OUTSIDE, SJ_INSIDE_HEAP, SJ_INSIDE_SPANS };
extern SJ_HIDDEN _Thread_local enum sj_inside sj__heap_inside;

SJ_ALWAYS_INLINE struct sj_heap *sj_heap_own(void)
{
    return sj_unlikely(sj__heap_aside != NULL) ? sj__heap_aside : sj__heap_current;
}

/* Prepares the registry. False if the kernel gives no memory. */
bool sj__heaps_start(const struct sj_settings *settings);

/* Gives the calling thread a heap: an abandoned one, or a new one. NULL if there is no memory. */
struct sj_heap *sj__heap_attach(void);

/* Has the heap given up when the calling thread ends. May allocate: not to be called from within the allocator. */
void sj__heap_arm_exit(struct sj_heap *heap);

/* Makes `bits` of the class non-empty, unless something else is due first, see `due`. False if there is
 * no memory. Owner only; takes the heap's lock. */
bool sj__heap_refill(struct sj_heap *heap, unsigned class_index);

/* Draws how many slots are taken before the next sample. For a heap that has its key. */
void sj__heap_draw_sample(const struct sj_policy *policy, struct sj_heap *heap);

/* After a free that brought slab->until_slow to 0. Owner only; takes the heap's lock. */
void sj__heap_note_free(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab);

/* The same, with the lock already held. */
void sj__heap_settle_slab(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab);

/* Allocates from a heap that is no thread's: the one that all threads share (zero-sized objects, and everything for threads that
 * have ended), or a counted one, for `account`. NULL if there is no memory, or no class for such an object. */
void *sj__heap_locked_malloc(struct sj_heap *heap, size_t size_bytes, size_t alignment, bool zero, uint32_t account);

/* The class that serves a request, which may be for nothing; SJ_CLASS_ZERO, too, if none does and the object is a large one. */
SJ_ALWAYS_INLINE unsigned sj_heap_class_for(const struct sj_policy *policy, size_t size_bytes, size_t alignment)
{
    size_t slot_bytes = size_bytes + sj_canary_least(policy);
    if (size_bytes - 1 >= SJ_SMALL_MAX_BYTES || slot_bytes > SJ_SMALL_MAX_BYTES)
        return SJ_CLASS_ZERO;
    return alignment <= SJ_SMALL_STEP_BYTES ? sj_class_of(slot_bytes) : sj__class_of_aligned(slot_bytes, alignment);
}

/* Gives back what the heap holds empty, taken slots included. Owner only, or under the lock of an abandoned heap. */
void sj__heap_release_idle(const struct sj_policy *policy, struct sj_heap *heap);
/* The same before a purge: pages go to the system rather than being scrubbed. Returns the bytes of them. */
size_t sj__heap_purge_idle(const struct sj_policy *policy, struct sj_heap *heap);

/* A pass over empty slabs: what it may do and what it has come to. */
struct sj_aging {
    uint64_t before_ms; /* what has been kept since then or longer goes */
    size_t budget_bytes;
    size_t budget_slabs;
    uint64_t oldest_ms; /* out: lowered to since when the oldest that is left has been kept */
    size_t given_bytes; /* out */
};

SJ_ALWAYS_INLINE bool sj_aging_is_spent(const struct sj_aging *aging)
{
    return aging->budget_bytes == 0 || aging->budget_slabs == 0;
}

SJ_ALWAYS_INLINE void sj_aging_note_left(struct sj_aging *aging, uint64_t kept_ms)
{
    aging->oldest_ms = kept_ms < aging->oldest_ms ? kept_ms : aging->oldest_ms;
}

/* Gives the heap's slabs to the system that are old enough. Anybody, under the heap's lock: the owner touches an empty slab of
 * its list under the lock only. */
void sj__heap_release_aged(const struct sj_policy *policy, struct sj_heap *heap, struct sj_aging *aging);

/* Puts the slots that were taken for the bins, and not handed out, back into their slabs. Owner only, under the lock. */
void sj__heap_put_back(const struct sj_policy *policy, struct sj_heap *heap);

/* The policy in force; if it has been raised since the heap's bins were filled they are put back first, since what a bin hands
 * out from, and what may be dirty of it, is the policy's. Owner only, or of the shared heap; under the lock. */
const struct sj_policy *sj__heap_settle_locked(struct sj_heap *heap);

/* The same for the calling thread's heap, which is not locked. */
void sj__heap_settle(struct sj_heap *heap);

/* Takes `slab` out of the list of its bin. */
void sj__heap_unlink(struct sj_heap *heap, struct sj_slab *slab);

/* Has the heap's bins hand out nothing. For a heap that is new. */
void sj__heap_start_bins(struct sj_heap *heap);

/* Scrubs the slot at `start`, which is about to be handed out although it owes: delay=lifo gives it no other time. */
void sj__heap_pay_slot(struct sj_heap *heap, const char *start);

/* True if a slot of this size is scrubbed when it is freed. scrub=auto does so at least for what is scrubbed inline. */
SJ_ALWAYS_INLINE bool sj_scrubs_at_free(const struct sj_policy *policy, size_t slot_bytes)
{
    return policy->scrub == SJ_SCRUB_FREE ||
           (policy->scrub == SJ_SCRUB_AUTO &&
            (slot_bytes <= SJ_SCRUB_INLINE_BYTES || slot_bytes <= policy->scrub_free_bytes));
}

/* True if whoever freed slots of this slab remotely has scrubbed them. One that was opened before a raise may hold some that
 * were freed before it too. */
SJ_ALWAYS_INLINE bool sj_heap_remote_is_scrubbed(const struct sj_policy *policy, const struct sj_slab *slab,
                                                 uint32_t level)
{
    return sj_scrubs_at_free(policy, slab->slot_bytes) && (slab->stamp & ~SJ_STAMP_COUNTED) >= (int)level;
}

SJ_ALWAYS_INLINE struct sj_bin *sj_heap_bin_for(struct sj_heap *heap, size_t size_bytes)
{
    return (struct sj_bin *)(void *)((char *)heap + sj_bin_offset_of(size_bytes));
}

/* The word of bits that the bin hands out from, 0 in the end: with delay=lifo the slab's own plane, into which frees go at
 * once. Otherwise the slots that were taken out of the slab, which no free goes back to. */
SJ_ALWAYS_INLINE uint64_t *sj_bin_source(const struct sj_policy *policy, struct sj_bin *bin, struct sj_word *word)
{
    return policy->delay == SJ_DELAY_LIFO ? &word->available : &bin->bits;
}

SJ_ALWAYS_INLINE bool sj_bin_is_empty(const struct sj_policy *policy, struct sj_bin *bin)
{
    return sj_word_read(sj_bin_source(policy, bin, bin->word)) == 0;
}

/* Before a slot is handed out that may owe a scrub all the same. The bin is no help: a signal handler may have moved it on. */
SJ_ALWAYS_INLINE void sj_bin_pay(const struct sj_policy *policy, struct sj_heap *heap, const struct sj_word *word,
                                 uint64_t bit, const char *start)
{
    if (policy->delay == SJ_DELAY_LIFO && policy->scrub != SJ_SCRUB_OFF && sj_unlikely((word->dirty & bit) != 0))
        sj__heap_pay_slot(heap, start);
}

/* Address of the slot whose bit this is. */
SJ_ALWAYS_INLINE char *sj_bin_slot(const struct sj_bin *bin, uint64_t bit)
{
    return bin->word_start + sj_lowest_index(bit) * bin->slot_bytes;
}

/* The bit of the slot to hand out next among `bits`, which are not empty. */
SJ_ALWAYS_INLINE uint64_t sj_pick_bit(const struct sj_policy *policy, struct sj_heap *heap, const struct sj_bin *bin,
                                      uint64_t bits)
{
    return policy->random ? sj_pick_from(bits, heap->pool[heap->pool_next++] & bin->window_mask) : sj_lowest_only(bits);
}

#endif
