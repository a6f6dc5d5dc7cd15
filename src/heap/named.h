/* SPDX-License-Identifier: MIT
 *
 * What: named arenas: heaps that the program makes, each with a name, a policy of its own, a limit, and accounts; and the
 * heaps that blocks with a label come from.
 *
 * Why this way: an arena is a heap like a thread's, used under its lock, so all that slabs, bins and remote frees can do holds for
 * it. Its slabs are no thread's, so a free never takes a fast path, and finds the account and the arena's policy on the way.
 * Large blocks are in a list, slabs too: what an arena has goes in one walk. The handle that the program has is the record's
 * address with the arena's generation in the low bits: a handle of an arena that was destroyed, or that never was one, is told
 * from a good one without being followed. Blocks with a label in no arena come from a few heaps that threads share by turns.
 *
 * Invariants: a record is an arena's for ever, ended or not. An arena's large blocks are in its list from their allocation to
 * their free. live_bytes of `counts` is raised before a block is taken, so the limit is never passed.
 *
 * Concurrency: any thread. Who resets or ends an arena is the only one to use it, or its blocks, then.
 */
#ifndef SJ_HEAP_NAMED_H
#define SJ_HEAP_NAMED_H

#include "heap/account.h"
#include "heap/heap.h"
#include "span/large.h"

struct sj_named {
    struct sj_heap heap;
    struct sj_policy policy;
    uint64_t limit_bytes; /* of counts.live_bytes; 0: none */
    uint8_t exhausted;    /* enum sj_exhausted */
    uint64_t magic;
    struct sj_atomic_u32 state; /* its generation, and whether it is in use: see named.c */
    struct sj_counts counts;
    struct sj_book book;
    struct sj_large *large; /* all it has; under the heap's lock */
    struct sj_named *next_of_all;
    struct sj_named *next_ended;
    char name[SJ_NAME_BYTES];
};

/* Makes an arena. The settings are the program's own, with what the arena was asked to have. NULL: no memory. */
struct sj_named *sj__named_create(const char *name, const struct sj_settings *settings);

/* What is asked of each block that goes with its arena: whether what lies behind it is as it was left. */
struct sj_named_checks {
    void (*slot)(const struct sj_slab *slab, unsigned slot_index, const void *caller);
    void (*large)(const struct sj_large *large, const void *caller);
    const void *caller;
};

/* Frees all its blocks. */
void sj__named_reset(struct sj_named *named, const struct sj_named_checks *checks);

/* The same, and the arena is no more. */
void sj__named_end(struct sj_named *named, const struct sj_named_checks *checks);

/* What the program knows it by, and back; NULL if that is no arena, or not any more. */
void *sj__named_handle(const struct sj_named *named);
struct sj_named *sj__named_find(const void *handle);

/* All that ever were, linked by next_of_all; whether one is now. */
struct sj_named *sj__named_all(void);
bool sj__named_is_live(const struct sj_named *named);

/* Raises an arena's live bytes before a block is taken. False: the limit does not allow it. */
bool sj__named_reserve(struct sj_named *named, size_t bytes);
/* Takes that back: there was no memory. */
void sj__named_unreserve(struct sj_named *named, size_t bytes);

/* The arena of an account, NULL if it is of none; and its policy, or `policy`. */
struct sj_named *sj__named_of(uint32_t account);
const struct sj_policy *sj__named_policy_of(uint32_t account, const struct sj_policy *policy);

/* Where blocks with a label of the calling thread come from; NULL if there is no memory. */
struct sj_heap *sj__named_labelled_heap(void);
/* The accounts of those. */
extern struct sj_book sj__named_no_arena;

/* Frees a large block of an account, by its arena's policy or `policy`, as sj__large_free. It goes to whoever asks next, so it
 * owes a scrub if the program's blocks do. */
bool sj__named_free_large(const struct sj_policy *policy, uint32_t account, struct sj_large *large, const void *block);

/* A large block has been allocated for an account, for which `reserved_bytes` were; or is about to be freed. The latter gives
 * the account, of two threads to one only, and SJ_NO_ACCOUNT if the block has none. */
void sj__named_attach_large(uint32_t account, struct sj_large *large, size_t reserved_bytes);
uint32_t sj__named_detach_large(struct sj_large *large);

/* What a large block counts for. */
size_t sj__named_large_bytes(const struct sj_large *large);

/* A block of an account is going to be resized: may it grow by so much? Then, what has become of it. */
bool sj__named_expect(uint32_t account, size_t more_bytes);
void sj__named_resized_large(uint32_t account, const struct sj_large *large, size_t before_bytes, size_t more_bytes);

void sj__named_lock_for_fork(void);
void sj__named_unlock_after_fork(bool in_child);

#endif
