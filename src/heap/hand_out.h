/* SPDX-License-Identifier: MIT
 *
 * What: what is done to a slot between being taken and being the program's. verify: it must still be as it was left, or
 * the process ends with a report. canary: a value is written behind the object.
 *
 * Why this way: at hand-out, not at refill: between the two lies as long as the program likes, and the slot's lines are
 * about to be used. What the dirty bit shows as owing is no misuse: the policy was raised after it had been freed, and it
 * is scrubbed now. Fast paths do the same for small slots inline and leave for here, as their last act, with the rest.
 *
 * Invariants: a slot that is not live and not dirty reads as zero, so that is what is expected of it.
 *
 * Concurrency: the slab's owner.
 */
#ifndef SJ_HEAP_HAND_OUT_H
#define SJ_HEAP_HAND_OUT_H

#include "heap/heap.h"

/* Makes the live slot at `start` ready for an object of `size_bytes`, by policy. `caller`: the return address in the program, or NULL.
 * Returns `start`. Not for zero-sized objects. */
void *sj__hand_out(const struct sj_policy *policy, struct sj_heap *heap, char *start, size_t size_bytes, bool zero,
                   const void *caller);

/* A slot that is free and not dirty: is it still as it was left? Else reports; `note` says when that was found. */
void sj__hand_out_check_slot(const struct sj_slab *slab, unsigned slot_index, const char *note);

/* A slab about to be closed: are all of its slots that have been freed still as they were left? Else reports. */
void sj__hand_out_check_slab(const struct sj_slab *slab);

#endif
