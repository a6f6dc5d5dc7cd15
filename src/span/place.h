/* SPDX-License-Identifier: MIT
 *
 * What: where a large block lies in its granules: the place it takes and gives back, its guards, its trap, and what its pages hold
 * once it is freed. For large.c and resize.c only.
 *
 * Why this way: a block's life (large.c) and its growth (resize.c) take the same steps.
 *
 * Invariants: a guard, a trap or a place stands as the record says, whatever was refused.
 *
 * Concurrency: the block is the caller's, live or not.
 */
#ifndef SJ_SPAN_PLACE_H
#define SJ_SPAN_PLACE_H

#include "span/large.h"
#include "span/run.h"

enum { SJ_PLACE_LOST = SJ_RUN_CONTENTS /* content of a place that is not the window's any more */ };

/* What struct sj_large_counts is made of, besides the counts of the cache. */
struct sj_place_counts {
    struct sj_atomic_u64 allocated_blocks, freed_blocks, allocated_bytes, freed_bytes;
    struct sj_atomic_u64 scrubbed_bytes, reused_bytes, released_bytes;
    struct sj_atomic_u64 guards_refused, traps_refused, traps_skipped;
    struct sj_atomic_u64 moved_bytes, copied_bytes;
};
extern struct sj_place_counts sj__place_counts;

SJ_ALWAYS_INLINE char *sj_place_granules_start(const struct sj_large *large)
{
    return sj_window_address(large->first_granule);
}

SJ_ALWAYS_INLINE char *sj_place_granules_end(const struct sj_large *large)
{
    return sj_window_address(large->first_granule + large->granules);
}

/* The block's own pages: all of its first one too. */
SJ_ALWAYS_INLINE char *sj_place_pages_start(const struct sj_large *large)
{
    return large->start - large->shift_bytes;
}

SJ_ALWAYS_INLINE size_t sj_place_pages_bytes(const struct sj_large *large)
{
    return large->usable_bytes + large->shift_bytes;
}

SJ_ALWAYS_INLINE size_t sj_place_granules_for(size_t bytes)
{
    return sj_round_up(bytes, SJ_GRANULE_BYTES) >> SJ_GRANULE_SHIFT;
}

/* Makes pages read as zero: given back to the system if there are many, else written. */
enum sj_run_content sj__place_zero_pages(char *start, size_t bytes);

/* Sets where in its first page a new block starts. */
void sj__place_align_to_end(const struct sj_policy *policy, struct sj_large *large, size_t alignment);

/* Sets the canary behind a new block, or a resized one, if the policy wants one. */
void sj__place_set_canary(const struct sj_policy *policy, struct sj_large *large);

/* A freed block is its pages. */
void sj__place_align_to_pages(struct sj_large *large);

/* Sets the guards that the policy wants and that do not stand yet, where there is room for them. */
void sj__place_guard_front(const struct sj_policy *policy, struct sj_large *large);
void sj__place_guard_back(const struct sj_policy *policy, struct sj_large *large);

/* Makes a kept block inaccessible, if the policy wants it now. Its pages stay, which is three times cheaper than to fault
 * them in again; else they go. */
void sj__place_trap_kept(const struct sj_policy *policy, struct sj_large *large);

/* The same for one that was so before. */
void sj__place_trap_again(struct sj_large *large);

/* Makes granules that are free inaccessible, guards or not; their pages go. */
bool sj__place_trap_granules(size_t first, size_t granules);

/* The same for all granules of a freed block. */
bool sj__place_trap(struct sj_large *large);

/* False: the block may still fault. */
bool sj__place_lift_trap(struct sj_large *large);

/* False: the page may still fault. */
bool sj__place_lift_guard_back(struct sj_large *large);

/* Makes all pages of the block's granules accessible again. False: some may still fault; their flags stay set. */
bool sj__place_lift_guards(struct sj_large *large);

/* A live block is going to be changed, or has been: `step` is 1. */
void sj__place_note_change(struct sj_large *large, uint32_t step);

/* What is wrong with the record of a large block that the map names at `granule`; NULL if nothing is, or the block is not live or
 * being changed. For any thread; the record is a large block's. */
const char *sj__place_fault(const struct sj_large *large, size_t granule);

/* The block is live; and the map names it; or names it no more. */
void sj__place_make_live(struct sj_large *large);
void sj__place_publish(struct sj_large *large);
void sj__place_withdraw(struct sj_large *large);

/* Room needed behind a block. */
size_t sj__place_tail_bytes(const struct sj_policy *policy);

/* Gives the granules before and behind [first, end) of a taken stretch back. */
void sj__place_trim(struct sj_large *large, size_t first, size_t end, enum sj_run_content content);

/* Takes granules for a block and decides where in them it starts; `old_granules` it has, and gives once it has moved. */
bool sj__place_take(const struct sj_policy *policy, struct sj_large *large, size_t alignment, size_t old_granules,
                    enum sj_run_content *content);

/* What the block's own pages hold once it is freed: old bytes, which the policy may want gone now, later or never; or
 * nothing, trapped; or SJ_PLACE_LOST. `bytes` is what the program could use. */
unsigned sj__place_content_after_free(const struct sj_policy *policy, struct sj_large *large, size_t bytes);

/* Gives the granules of a block that left `content` there to the runs; it owes `owed_bytes` if it owes. Lost granules may not
 * even be mapped: they are left alone, which is better than handing out pages that fault, and nobody will read what they held. */
void sj__place_give(const struct sj_large *place, unsigned content, size_t owed_bytes);

#endif
