/* SPDX-License-Identifier: MIT
 *
 * What: allocation for an account: of an arena, or with the label that the calling thread has in force.
 *
 * Why this way: a thread with a label in force has an empty heap for the fast paths, so that its calls come to the slow ones,
 * which look here; a thread without pays nothing, not even a test.
 *
 * Invariants: sj__heap_current is sj__heap_labelled exactly while a label is in force and the thread has not ended; then the
 * thread's own heap is sj__heap_aside.
 *
 * Concurrency: any thread.
 */
#ifndef SJ_FRONT_COUNTED_H
#define SJ_FRONT_COUNTED_H

#include "front/slow.h"
#include "heap/named.h"

/* The account of the label in force; SJ_NO_ACCOUNT if there is none. */
extern SJ_HIDDEN _Thread_local uint32_t sj__counted_label;

/* A block for an account. NULL and ENOMEM on failure, unless the arena's way is to report that. */
void *sj__counted_allocate(uint32_t account, const struct sj_call *request);

/* Ends the process if the calling thread is inside the allocator: this is a signal handler, and would wait for itself. */
void sj__counted_refuse_inside(struct sj_asker asker);

#endif
