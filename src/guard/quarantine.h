/* SPDX-License-Identifier: MIT
 *
 * What: a bounded store that what goes in leaves again late, and nobody can say when.
 *
 *     in -> [ random places ] -> [ queue ] -> out
 *
 * Why this way: an entry takes the place of a random other, which goes on into a queue, so each stays for at least the length of
 * the queue, and for how much longer is not known. Two exchanges and no loop: every free makes them. Entries are numbers,
 * so the store lies out of line and knows nothing of what it keeps.
 *
 * Invariants: 0 is no entry. There are a power of two of places, and of lengths of the queue.
 *
 * Concurrency: one thread. A signal handler of it that comes between the two exchanges may have an entry lost, or let out twice.
 */
#ifndef SJ_GUARD_QUARANTINE_H
#define SJ_GUARD_QUARANTINE_H

#include "base/compiler.h"

enum { SJ_QUARANTINE_PLACES_MAX = 256 };

struct sj_quarantine {
    uint64_t *entries; /* the places, then the queue; NULL: it has no store yet */
    uint8_t place_mask;
    uint8_t rest; /* refusals: so often no store is asked for */
    uint16_t queue_mask;
    uint16_t next; /* of the queue: the one that leaves next */
    uint16_t unused_too;
};

/* How many entries a store has that should hold about `wanted`, at least 2 and at most 65536. */
SJ_ALWAYS_INLINE size_t sj_quarantine_lay_out(struct sj_quarantine *quarantine, size_t wanted)
{
    size_t half = 1;
    while (half * 4 <= wanted)
        half *= 2;
    size_t places = half < SJ_QUARANTINE_PLACES_MAX ? half : SJ_QUARANTINE_PLACES_MAX;
    quarantine->place_mask = (uint8_t)(places - 1);
    quarantine->queue_mask = (uint16_t)(half - 1);
    quarantine->next = 0;
    return places + half;
}

SJ_ALWAYS_INLINE size_t sj_quarantine_length(const struct sj_quarantine *quarantine)
{
    return quarantine->entries != NULL ? (size_t)quarantine->place_mask + quarantine->queue_mask + 2 : 0;
}

/* Puts an entry in. Returns the one that leaves for it, or 0. */
SJ_ALWAYS_INLINE uint64_t sj_quarantine_exchange(struct sj_quarantine *quarantine, uint64_t entry, uint8_t random)
{
    uint64_t *place = &quarantine->entries[random & quarantine->place_mask];
    uint64_t *end = &quarantine->entries[(size_t)quarantine->place_mask + 1 + quarantine->next];
    uint64_t moved = *place;
    *place = entry;
    quarantine->next = (quarantine->next + 1) & quarantine->queue_mask;
    uint64_t leaving = *end;
    *end = moved;
    return leaving;
}

#endif
