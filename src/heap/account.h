/* SPDX-License-Identifier: MIT
 *
 * What: accounts: what blocks of one arena and one label come to. An account has a number of 16 bits, which is all that is noted
 * of a block, out of line: a slot's in a table of its slab, a large block's in its record.
 *
 * Why this way: the totals of an account are exact at any moment, so that a limit holds and a peak is one. That takes counting
 * at each malloc and free; so only heaps that are used under a lock anyway have accounts, and the threads' own heaps pay nothing.
 * A label is interned by its text: nothing of the program's is read later, when a report or the bill names it.
 *
 * Invariants: an account is never freed; its number, arena and label stay. live = allocated - freed, in blocks and in bytes.
 * Bytes are those that a block may use: what its size class has, or its pages.
 *
 * Concurrency: lookups and counting take no lock; opening an account takes one of rank ACCOUNTS.
 */
#ifndef SJ_HEAP_ACCOUNT_H
#define SJ_HEAP_ACCOUNT_H

#include "base/atomic.h"

enum {
    SJ_NO_ACCOUNT = 0,
    SJ_ACCOUNTS_MAX = UINT16_MAX, /* with SJ_NO_ACCOUNT one more */
    SJ_NAME_BYTES = 48,           /* of an arena or a label, with its NUL */
    SJ_ACCOUNT_CHUNK = 64,        /* records are made so many at a time */
    SJ_BOOK_BUCKETS = 16
};

struct sj_counts {
    struct sj_atomic_u64 live_bytes;
    struct sj_atomic_u64 peak_bytes; /* the most of them there ever were */
    struct sj_atomic_u64 allocated_blocks;
    struct sj_atomic_u64 freed_blocks;
    struct sj_atomic_u64 freed_bytes;
    struct sj_atomic_u64 told_bytes; /* label_peaks: live at the peak that was told last; 0: none yet */
};

/* The accounts of one arena, or of none, by label. */
struct sj_book {
    const char *name;                              /* of the arena; NULL: of none */
    struct sj_counts *totals;                      /* of all of them together; NULL: nobody asks */
    struct sj_atomic_u32 buckets[SJ_BOOK_BUCKETS]; /* number of the first account of each chain; 0: none */
};

struct sj_account {
    SJ_CACHE_ALIGNED struct sj_counts counts;
    struct sj_book *book;
    uint32_t next; /* in its chain */
    char label[SJ_NAME_BYTES];
};

extern SJ_HIDDEN struct sj_atomic_ptr sj__account_chunks[]; /* of so many each */

/* Copies a name as it is kept: cut to SJ_NAME_BYTES, and '_' for what is neither letter nor digit nor one of . : / + -
 * Returns a hash of it. */
uint32_t sj__account_name(char *kept, const char *name);

/* The number of the account of `label` in a book; NULL and "" are a label too, that of blocks without. Where no account can
 * be opened any more it is that one. SJ_NO_ACCOUNT: not even that. */
uint32_t sj__account_get(struct sj_book *book, const char *label);

/* The same, of an account that is open already; else SJ_NO_ACCOUNT. Takes no lock. */
uint32_t sj__account_find(const struct sj_book *book, const char *label);

/* The account of a number that sj__account_get gave. */
struct sj_account *sj__account_at(uint32_t number);

/* How many there are: their numbers are 1 and up. */
uint32_t sj__account_count(void);

/* A block has been allocated, or freed. Of an arena's, live_bytes of the totals have been raised before: see heap/named.h. */
void sj__account_add(uint32_t number, size_t bytes);
void sj__account_remove(uint32_t number, size_t bytes);

/* A block has been resized. If it has grown the totals have been raised before. */
void sj__account_resize(uint32_t number, size_t old_bytes, size_t new_bytes);

/* Sets all accounts of a book, none of which has a live block, to zero. */
void sj__account_forget(struct sj_book *book);

void sj__account_lock_for_fork(void);
void sj__account_unlock_after_fork(bool in_child);

#endif
