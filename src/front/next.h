/* SPDX-License-Identifier: MIT
 *
 * What: SCRUBJAY_DISABLE: every call goes to the next allocator in search order, as if the library were not there.
 *
 * Why this way: the next allocator's functions are looked up by name after ours, as the loader would without us. libc's
 * second names are no way out: our own __libc_malloc hides libc's. A look-up may allocate; what it gets then comes from
 * a small arena of its own, whose blocks are told by their address for ever after: a free ignores them, a realloc copies
 * them. The pointers found are sealed together with the dispatch table.
 *
 * Invariants: once sj__next_start has returned true nothing of ours hands out memory any more. These are in the shared
 * library only: a program that has us linked in has no next allocator, and the references to them are weak.
 *
 * Concurrency: sj__next_start runs under the start lock. The arena is taken from with an atomic addition.
 */
#ifndef SJ_FRONT_NEXT_H
#define SJ_FRONT_NEXT_H

#include "base/compiler.h"

/* Finds the next allocator and puts it into the sealed page, which is still writable. False if there is none; then the
 * page is as it was. Calls of this thread may come in meanwhile and are served. */
bool sj__next_start(void) SJ_WEAK;

/* The function called `name` that comes after ours, or NULL. */
void *sj__next_find(const char *name) SJ_WEAK;

#endif
