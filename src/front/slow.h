/* SPDX-License-Identifier: MIT
 *
 * What: the paths that the fast ones leave for: refills, large blocks, frees of other threads' slots, misuse.
 *
 * Why this way: they read the policy in force at run time and are compiled once; whatever they do costs far more than a
 * test on a field of it. A fast path only ever jumps here, as its last act, so it saves no registers, and the return
 * address found here is the program's. errno is set and kept here, so that the floors below need not care.
 *
 * Invariants: a signal handler that allocates while its own thread is in the slow path of its heap is served from the
 * heap that all threads share; while its thread is deeper, where shared locks may be held, it gets a report (SJ-009) in
 * place of a deadlock.
 *
 * Concurrency: any thread. Frees of other threads' slots take no lock and are safe in signal handlers.
 */
#ifndef SJ_FRONT_SLOW_H
#define SJ_FRONT_SLOW_H

#include "front/judge.h"
#include "heap/heap.h"
#include "span/family.h"

/* What an allocation asks for. */
struct sj_call {
    size_t size_bytes;
    size_t alignment;
    bool zero;
    enum sj_family family;
    struct sj_asker asker;
};

/* NULL and ENOMEM on failure. */
void *sj__slow_malloc(size_t size_bytes);
void *sj__slow_calloc(size_t size_bytes); /* zeroed */
void *sj__slow_new(size_t size_bytes);    /* operator new's family, and that of arrays */
void *sj__slow_new_array(size_t size_bytes);
void *sj__slow_aligned(size_t alignment, size_t size_bytes);
void *sj__slow_realloc(void *block, size_t size_bytes);

/* The rest of a hand-out: `start` is a live slot of the calling thread's own, for an object of `size_bytes`. Returns it. */
void *sj__slow_hand_out(char *start, size_t size_bytes, bool zero);

/* A large block, by a policy. NULL and ENOMEM on failure. */
void *sj__slow_large(const struct sj_policy *policy, const struct sj_call *request);

/* Memory is short: makes room for `bytes`, in one of the ways from 0 to under SJ_WAYS_TO_ROOM, to be tried in this order. True if
 * that has given anything. */
enum { SJ_WAYS_TO_ROOM = 2 };
bool sj__slow_make_room(unsigned way, size_t bytes);

/* Frees a live block of any kind. */
void sj__slow_free_judged(const struct sj_judgement *judgement, void *block, struct sj_asker asker);

/* Resizes a live block, which keeps its account. The block is as it was on failure: NULL and ENOMEM. */
void *sj__slow_resize(const struct sj_judgement *judgement, void *block, size_t size_bytes, struct sj_asker asker);

/* Ends the process if what lies behind a live block has changed. */
void sj__slow_check_slot(const struct sj_slab *slab, unsigned slot_index, struct sj_asker asker);
void sj__slow_check_large(const struct sj_large *large, struct sj_asker asker);

/* Moves a valid block of `old_bytes` to a new one. The old one stays as it is if there is no memory. */
void *sj__slow_move(void *block, size_t old_bytes, size_t size_bytes);

/* Frees anything, or reports why not. */
void sj__slow_free(void *block);
void sj__slow_delete(void *block);
void sj__slow_delete_array(void *block);

/* Frees a valid slot of the calling thread's own, where that takes a call. */
void sj__slow_free_own(void *block, struct sj_slab *slab, unsigned slot_index);

/* After a local free that brought its slab to its trigger. */
void sj__slow_after_free(struct sj_slab *slab);

/* Check size and alignment if the policy says so, then free. */
void sj__slow_free_sized(void *block, size_t size_bytes);
void sj__slow_delete_sized(void *block, size_t size_bytes);
void sj__slow_delete_array_sized(void *block, size_t size_bytes);
void sj__slow_free_aligned_sized(void *block, size_t alignment, size_t size_bytes);

/* With types: a new block, or NULL, of an allocation that knew of no family is operator new's. */
void *sj__slow_mark(void *block, enum sj_family family);

/* With types: may this family give a block back? Else reports. Then it is malloc's. `caller`: return address in the program. */
void sj__slow_unmark(void *block, enum sj_family family, const void *caller);

size_t sj__slow_usable_size(void *block);

/* Bracket what takes locks elsewhere: in between the calling thread is in a slow path. Enter reports a signal handler that
 * has interrupted such a stretch of its own thread; leave restores what enter returned. */
enum sj_inside sj__slow_enter(struct sj_asker asker);
void sj__slow_leave(enum sj_inside outer);

/* True while the calling thread is in a slow path: a signal handler has interrupted it. Async-signal-safe. */
bool sj__slow_is_inside(void);

#endif
