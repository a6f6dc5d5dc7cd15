/* SPDX-License-Identifier: MIT
 *
 * What: freed large blocks, kept whole for the next request of the same number of pages.
 *
 * Why this way: setting and lifting the two guard pages of a block costs four system calls, 2 microseconds, each time it
 * comes and goes (git pack-objects: 62,700 calls, 6 % of its time). A block that is kept keeps its guards, its pages and
 * its place. Only an exact fit is taken, so a block never is larger than was asked for and its guard is where it belongs;
 * see doc/adr/0051. A block is *warm* while it holds its pages and *cold* once the release clock has given them back.
 * Both are kept in order of age, and found through a table by page count.
 *
 * The cache is in up to 16 parts, *shards*, as many as there are CPUs, with locks of their own. All threads begin in the
 * first; one that keeps meeting others there moves on to the next, so threads that meet stop meeting, and a program with one
 * thread has one shard. What a thread misses at home it looks for in the others. The limits hold for all shards together,
 * and the oldest block of all goes first, as far as the clock tells. See doc/adr/0053.
 *
 * Invariants: the blocks kept are not live; their map entries still name them. The warm ones hold at most what sj__cache_put
 * allows, and so do the cold ones; in number both together are at most cache_max_count; while several threads put at
 * once, each a block more.
 *
 * Concurrency: locks of rank LARGE, never two at once but in fork, held for a few pointers. Whoever gets a block owns it.
 */
#ifndef SJ_SPAN_CACHE_H
#define SJ_SPAN_CACHE_H

#include "span/large.h"
#include "span/release.h"

struct sj_cache_wish {
    size_t usable_bytes; /* exactly */
    bool guarded;        /* with guards, or without */
    bool rests;    /* delay=run: of a shard's blocks the one freed first, and none if there is but one: a block rests
                          * until another of its size is freed. Else the one freed last */
    bool scrubbed; /* if the block is dirty it will be written with zeros: booked at once */
};

/* A kept block as wished for; NULL if there is none. */
struct sj_large *sj__cache_take(const struct sj_cache_wish *wish);

/* Keeps a freed block. Returns the blocks that have to go, linked by `next`: the oldest, or the block itself; all
 * that are more than is allowed. */
struct sj_large *sj__cache_put(struct sj_large *large, size_t allowed_bytes);

/* Takes a warm block out that was freed by `before_ms`, the oldest of its shard; NULL if there is none. */
struct sj_large *sj__cache_take_aged(uint64_t before_ms);

/* Puts it back: `cold` and as old as it was, or warm and young again. */
void sj__cache_put_back(struct sj_large *large, bool cold);

/* Since when the oldest warm block has been free; SJ_NEVER_MS if there is none. */
uint64_t sj__cache_oldest_ms(void);

/* Takes all blocks out, linked by `next`. */
struct sj_large *sj__cache_drain(void);

bool sj__cache_is_empty(void);

/* True if cache_max_bytes or cache_max_count have been lowered to less than is kept. */
bool sj__cache_is_beyond_limits(void);

/* Bytes that warm blocks hold. */
size_t sj__cache_bytes(void);

struct sj_cache_counts {
    uint64_t hits;
    uint64_t hit_bytes;
    uint64_t cold_hits; /* of them, how many were cold */
    uint64_t cold_hit_bytes;
    uint64_t misses;
    uint64_t offered_blocks; /* freed blocks that came here, kept or not */
    uint64_t offered_bytes;
    uint64_t scrubbed_bytes; /* of hits that were written with zeros */
    uint64_t forgone_bytes;  /* owed by blocks that were taken by who wants no scrub */
    uint64_t evictions;
    uint64_t kept_blocks;
    uint64_t warm_bytes;
    uint64_t owed_bytes;    /* of them, in blocks that owe a scrub */
    uint64_t calls_avoided; /* system calls for guards that hits made unnecessary */
    struct sj_hold_books books;
};
void sj__cache_read_counts(struct sj_cache_counts *out);

void sj__cache_lock_for_fork(void);
void sj__cache_unlock_after_fork(bool in_child);

#endif
