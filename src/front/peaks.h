/* SPDX-License-Identifier: MIT
 *
 * What: which labels an arena's memory goes to, as lines: at a new peak (option label_peaks), and when it is exhausted.
 *
 * Why this way: Valgrind says at each new peak of an arena, of a twentieth and more, what it consists of; so does this. Whoever
 * allocates for an account has its counts in the cache already, so finding a peak takes one compare, and none without the option.
 *
 * Invariants: a peak is told once, by whichever thread reached it; each is a twentieth above the one told before. Lines of two
 * threads may come in the other order.
 *
 * Concurrency: any thread. Lines are written with no lock held, so other threads may allocate meanwhile: what is told is no
 * snapshot.
 */
#ifndef SJ_FRONT_PEAKS_H
#define SJ_FRONT_PEAKS_H

#include "front/entry.h"
#include "heap/named.h"

void sj__peaks_look(uint32_t account);

/* More is live for an account than before. For a thread that holds no lock. */
SJ_ALWAYS_INLINE void sj_peaks_note(uint32_t account)
{
    if (sj_unlikely(sj__sealed.settings.label_peaks))
        sj__peaks_look(account);
}

/* The labels of an arena (struct sj_named) that most is live for. Fits struct sj_report_facts. */
void sj__peaks_write_labels(const void *of);

#endif
