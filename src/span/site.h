/* SPDX-License-Identifier: MIT
 *
 * What: sites, or places: the granules that slabs lie in, and the records of slabs that are closed.
 *
 *     place      | slots of one class ............ | guard |       guard: a granule that faults, behind every slab, every
 *                                                                  eighth or none
 *
 * Why this way: a place whose addresses belong to one class for good (isolate), or that has a guard behind it, stays with
 * the record of its slab when that is closed. So an old pointer into it meets objects of its own class or nothing, a slab
 * that comes and goes makes no system call, and its map entries stay as they are. A place that is its class's for good is
 * made of granules that nobody ever had. What its pages hold goes back to the system by age, as all free memory does. Only
 * when address space is short are places given up, which is counted.
 *
 * Invariants: a record that is kept with its place has the kind SJ_SPAN_FREED, no owner, and `content` says what the pages
 * hold. A record is recycled for slabs of the same class only.
 *
 * Concurrency: one lock of rank LARGE, held for list operations. A place on its way back to the system is in no list.
 */
#ifndef SJ_SPAN_SITE_H
#define SJ_SPAN_SITE_H

#include "span/run.h"
#include "span/slab.h"

/* A record with a place for a slab of the class: one that was kept, or a new one. NULL if there is no memory. */
struct sj_slab *sj__site_get(const struct sj_policy *policy, unsigned class_index);

/* Takes back what sj__site_get gave, after the slab was closed; slab->content says what its pages hold. */
void sj__site_put(struct sj_slab *slab);

/* Gives the pages of places kept since before `before_ms` back until *budget_bytes, which it lowers, is spent: the last place
 * may be larger than what is left. Adds to *given_bytes what it gave. Returns since when the oldest that is left has been kept;
 * SJ_NEVER_MS if none is. */
uint64_t sj__site_release_aged(uint64_t before_ms, size_t *budget_bytes, size_t *given_bytes);

/* Gives the pages of all kept places back. Returns the bytes. */
size_t sj__site_purge(void);

/* Gives the kept places of all classes up: anybody may have their addresses. Returns the bytes of them. */
size_t sj__site_give_up(void);

struct sj_site_counts {
    uint64_t guards; /* behind slabs, standing now */
    uint64_t guards_refused;
    uint64_t not_isolated; /* places that were made of common granules, or given up */
};
void sj__site_read_counts(struct sj_site_counts *out);

void sj__site_lock_for_fork(void);
void sj__site_unlock_after_fork(bool in_child);

#endif
