/* SPDX-License-Identifier: MIT
 *
 * What: the paths that the fast ones leave for: refills, large blocks, frees of other threads' slots, misuse.
 *
 * Why this way: they are called with the policy as an argument and are compiled once; whatever they do costs far more
 * than a test on a field of it. errno is set and kept here, so that the floors below need not care.
 *
 * Invariants: a thread is in at most one slow path; a signal handler that allocates and needs one while its own thread is
 * in one gets a report (SJ-009) in place of a deadlock.
 *
 * Concurrency: any thread. Frees of other threads' slots take no lock and are safe in signal handlers.
 */
#ifndef SJ_FRONT_SLOW_H
#define SJ_FRONT_SLOW_H

#include "front/judge.h"
#include "policy/policy.h"

/* NULL and ENOMEM on failure. */
void *sj__slow_malloc(const struct sj_policy *policy, size_t size_bytes, bool zero, struct sj_asker asker);

/* Frees anything, or reports why not. */
void sj__slow_free(const struct sj_policy *policy, void *block, struct sj_asker asker);

/* After a local free that brought its slab to its trigger. */
void sj__slow_after_free(const struct sj_policy *policy, struct sj_slab *slab, struct sj_asker asker);

/* Checks size and alignment as the policy says, then frees. `alignment` 1: none stated. */
void sj__slow_free_sized(const struct sj_policy *policy, void *block, size_t size_bytes, size_t alignment,
                         struct sj_asker asker);

void *sj__slow_aligned(const struct sj_policy *policy, size_t alignment, size_t size_bytes, struct sj_asker asker);
void *sj__slow_realloc(const struct sj_policy *policy, void *block, size_t size_bytes, struct sj_asker asker);
size_t sj__slow_usable_size(void *block, struct sj_asker asker);

/* True while the calling thread is in a slow path: a signal handler has interrupted it. Async-signal-safe. */
bool sj__slow_is_inside(void);

#endif
