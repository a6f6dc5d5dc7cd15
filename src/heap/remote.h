/* SPDX-License-Identifier: MIT
 *
 * What: frees by a thread that does not own the slab, and their fold into the planes by the owner.
 *
 * Why this way: the freeing thread claims the slot with one atomic OR on a word that only remote frees write, and queues
 * the slab, not the slot: a thousand frees to one slab are one queue entry. The claim returns the old word, so a second
 * remote free of the same slot is found by whoever comes second, at once. The owner's local free has no locked
 * instruction; a local and a remote free of one slot that race may both return, and then the slot has its remote bit
 * set while it is not live, which the fold and every hand-out look for before anybody gets the slot.
 *
 * Invariants: each of these is checked by the model in models/.
 *     - the claim comes after the live check and the live plane is never judged again after the claim: the owner may
 *       have folded it in between, and a legitimate free would be reported;
 *     - the fold clears `queued` before it reads the remote bits, or a wake-up is lost;
 *     - the fold clears live before it clears remote;
 *     - whoever sets `queued` from 0 to 1 pushes the slab, and nobody else touches its link;
 *     - a slab may be closed, and even opened again, between a claim and its push: `queued` and the link outlive that,
 *       and whoever pops a slab that is not its own passes it on to its owner.
 *
 * Concurrency: sj__remote_free from any thread; sj__remote_fold by the heap's owner, with its lock held; sj__remote_check
 * by any thread that holds it.
 */
#ifndef SJ_HEAP_REMOTE_H
#define SJ_HEAP_REMOTE_H

#include "heap/heap.h"

/* onerror=report: a second free is refused, and must not have touched the slot before it has lost the claim. So the owner
 * scrubs when it folds, not the freeing thread before it claims. Set once at the start. */
extern bool sj__remote_claims_first;

enum sj_remote_outcome { SJ_REMOTE_FREED, SJ_REMOTE_NOT_LIVE, SJ_REMOTE_ALREADY_FREED, SJ_REMOTE_OVERRUN };

/* Frees slot `slot_index` of a slab that the calling thread does not own; scrubs first if the policy says so, and nothing else does.
 * Overrun: what lies behind the object has changed, and nothing was done. */
enum sj_remote_outcome sj__remote_free(const struct sj_policy *policy, struct sj_slab *slab, unsigned slot_index);

/* Folds all queued remote frees of `heap` into its planes. Reports a raced double free. */
void sj__remote_fold(const struct sj_policy *policy, struct sj_heap *heap);

/* Folds one slab's remote frees. */
void sj__remote_fold_slab(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab);

/* Reports a raced double free as the fold would, and changes nothing: for a heap whose owner may be running. Under the
 * heap's lock. */
void sj__remote_check(const struct sj_heap *heap);

/* The same for one slab, under its owner's lock. */
void sj__remote_check_slab(const struct sj_slab *slab);

#endif
