/* SPDX-License-Identifier: MIT
 *
 * What: unpredictable bytes from the kernel.
 *
 * Why this way: getrandom(2) without blocking; where it is refused (seccomp, old kernels), AT_RANDOM, the clock and
 * addresses are stirred together, and the weakness is counted so that it can be shown.
 *
 * Invariants: always fills the whole buffer.
 *
 * Concurrency: any thread; async-signal-safe.
 */
#ifndef SJ_PLATFORM_ENTROPY_H
#define SJ_PLATFORM_ENTROPY_H

#include "base/compiler.h"

/* Fills `buffer`. Returns true if the bytes came from the kernel's generator. */
bool sj__entropy_fill(void *buffer, size_t bytes);

/* How many fills had to do without the kernel's generator, for the statistics. */
uint64_t sj__entropy_weak_count(void);

#endif
