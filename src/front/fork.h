/* SPDX-License-Identifier: MIT
 *
 * What: fork in a process with threads.
 *
 * Why this way: the handlers take every lock in rank order, so that the child finds each structure whole; what another
 * thread was doing on a fast path is at most one slot that stays neither live nor available. In the child the other
 * threads' heaps are abandoned, to be adopted, and every heap draws a new key. While the locks are held signals wait: a
 * handler that allocates would wait for its own thread.
 *
 * Invariants: once a report has begun the handlers take nothing: it may have begun with locks held. Nor do they when
 * the fork comes from a signal handler that interrupted a slow path of this very thread: the child may use what it has
 * and exec, but what it allocates may end in a report.
 *
 * Concurrency: the handlers run on the forking thread.
 */
#ifndef SJ_FRONT_FORK_H
#define SJ_FRONT_FORK_H

/* Registers the handlers. May allocate. */
void sj__fork_start(void);

#endif
