/* SPDX-License-Identifier: MIT
 *
 * What: the pool of sampled blocks, each on a page of its own between pages that fault.
 *
 *     window   | guard | page 0 | guard | page 1 | guard | ...        a page faults too while nobody has it
 *     arena    struct sj_sampled[]: a record a page: the block on it, who allocated it and who freed it
 *
 *     a page   |PPPPPPPP|block ....|      right-aligned: as far as its alignment, at least 16 bytes, allows
 *              |block ....|PPPPPPPP|      left-aligned; P a pattern that must be unchanged when the block is freed
 *
 * Why this way: what an access outside of a block, or after its end, touches faults at once, and the record says whose
 * block it was. A few hundred pages: sampling goes on for ever, on pages that are free again; those freed longest ago
 * are taken first, so a stale pointer faults for long. A block may be a page at most: larger ones would make the pool
 * large, and those over 32 KiB have guards of their own. Which end of the page a block touches is random, so that in
 * the long run both overflows and underflows fault at the first byte.
 *
 * Invariants: a page that nobody has is inaccessible, unless the system refused; then it reads as zero. All granules of the
 * pool name it in the map, for good.
 *
 * Concurrency: one lock of rank LARGE. What the record of a live block says about it changes only when it is freed, so
 * whoever holds the block reads it without the lock; others see it approximately, for a report.
 */
#ifndef SJ_SPAN_SAMPLED_H
#define SJ_SPAN_SAMPLED_H

#include "meta/window.h"
#include "report/trace.h"

enum sj_sampled_state { SJ_SAMPLED_NEVER, SJ_SAMPLED_LIVE, SJ_SAMPLED_FREED };

enum { SJ_SAMPLED_PATTERN = 0xb7, SJ_SAMPLED_PAGES = 256 };

struct sj_sampled {
    struct sj_atomic_u32 state; /* enum sj_sampled_state */
    uint32_t usable_bytes;      /* as asked for */
    uint8_t class_index;        /* the size class it would have had */
    uint8_t family;             /* enum sj_family, see family.h */
    bool guarded;               /* its page is inaccessible */
    const char *start;          /* of the block */
    struct sj_sampled *next;    /* in the queue of pages that nobody has */
    struct sj_trace allocated;
    struct sj_trace freed; /* if its state is SJ_SAMPLED_FREED */
};

extern SJ_HIDDEN char *sj__sampled_base; /* of the pool: its first guard; NULL before the first sample */
extern SJ_HIDDEN struct sj_sampled *sj__sampled_records;

/* What is asked for, and by whom. */
struct sj_sample_request {
    size_t size_bytes; /* not 0 */
    size_t alignment;  /* a power of two */
    uint8_t class_index;
    uint8_t family;
    bool to_the_right;  /* at which end of its page the block is to lie */
    const void *caller; /* return address in the program */
};

/* A block of at most a page, reading as zero. NULL: it is larger, `rate` (0: any number) were made this second, no page is
 * free, or the system gives no memory; then the sample is skipped, and counted. */
void *sj__sampled_malloc(const struct sj_sample_request *request, uint32_t rate);

/* Frees a block. False if it was not live. If bytes of its page outside of it have been changed, *changed is the first of
 * them, seen from the block, and it is not freed for good: that is to be reported. Else *changed is NULL. */
bool sj__sampled_free(struct sj_sampled *sampled, const void *caller, const char **changed);

/* The record of the page that `address`, of a granule of the pool, lies in; of a guard, the nearest page's that has had a
 * block. NULL if there is none. */
struct sj_sampled *sj__sampled_at(const void *address);

/* What the map names for all granules of the pool. */
const struct sj_span *sj__sampled_span(void);

/* Bytes from `pointer` to the end of its live block; 0 if it is in none. */
size_t sj__sampled_room(const void *pointer);

struct sj_sampled_counts {
    uint64_t allocated_blocks;
    uint64_t freed_blocks;
    uint64_t allocated_bytes;
    uint64_t freed_bytes;
    uint64_t skipped; /* samples not taken, see sj__sampled_malloc */
    uint64_t guards_refused;
};
void sj__sampled_read_counts(struct sj_sampled_counts *out);

void sj__sampled_lock_for_fork(void);
void sj__sampled_unlock_after_fork(bool in_child);

#endif
