/* SPDX-License-Identifier: MIT
 *
 * What: the registry of heaps: attaching one to a thread, abandoning it at the thread's end, and adopting from those.
 *
 * Why this way: a dead thread's heap is handed whole to the next thread that starts: nothing is walked or merged, and
 * the pages it holds stay warm. In the meantime a live thread that needs a slab first looks for a partial one of its
 * class in an abandoned heap, and folds what was freed remotely there, so that the consumers of dead producers pile
 * nothing up.
 *
 * Invariants: an abandoned heap is in the list or held by exactly one thread, which has taken it off. A heap that is
 * being worked on has its lock held, so that fork finds it whole. The list of all heaps only grows.
 *
 * Concurrency: the list of abandoned heaps has a lock of rank ABANDONED that is held for a pointer swap only and inside
 * which nothing else is locked; so it may be taken with a heap's lock held.
 */
#ifndef SJ_HEAP_ADOPT_H
#define SJ_HEAP_ADOPT_H

#include "heap/heap.h"

/* A slab of the class with available slots, taken over from an abandoned heap; NULL if there is none.
 * Called with the lock of `heap` held. */
struct sj_slab *sj__adopt_slab(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index);

/* The heap that belongs to no thread and is used under its lock. */
struct sj_heap *sj__adopt_shared_heap(void);

/* Enters a heap that is no thread's among all heaps, for good. Its own policy and `counted` are set. */
void sj__adopt_enter(struct sj_heap *heap);

/* The policy in force. */
const struct sj_policy *sj__adopt_policy(void);

/* The policy of a heap: an arena's own, or the one in force. */
const struct sj_policy *sj__adopt_policy_of(const struct sj_heap *heap);

/* The level in force, which a slab is stamped with when it is opened. */
uint8_t sj__adopt_level(void);

/* New settings are in force, from which slabs get their stamp and new heaps their level. */
void sj__adopt_raise(const struct sj_settings *settings);

/* True if every thread's heap has been settled since the last raise. A heap may be counted as not settled that just is. */
bool sj__adopt_all_are_settled(void);

/* True if, while the control block says that a raise waits, a heap was settled or lost its thread since that was asked last. */
bool sj__adopt_has_news(void);

/* Threads that have a heap. */
uint32_t sj__adopt_threads(void);

/* All heaps there are, linked by next_of_all. */
struct sj_heap *sj__adopt_all_heaps(void);

/* At process exit: folds and checks the calling thread's heap, the shared and the abandoned ones, and checks those of other
 * threads, which may be running. */
void sj__adopt_check_at_exit(void);

/* Gives back what idle heaps and the calling thread's hold empty. Returns the bytes. */
size_t sj__adopt_release_idle(void);

/* Folds what was freed for threads that have ended, in some of their heaps: nobody else may come along who does. If more are
 * left to look at, the pass is due again soon. */
void sj__adopt_fold_ended(struct sj_aging *aging);

/* Gives back the slabs that any heap has kept empty for long enough, where its lock is free; one whose lock is not free counts
 * as one that has just kept something. */
void sj__adopt_release_aged(struct sj_aging *aging);

void sj__adopt_lock_for_fork(void);
/* In the child all heaps but the calling thread's and the shared one become abandoned. */
void sj__adopt_unlock_after_fork(bool in_child);

#endif
