/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see account.h.
 */
#include "heap/account.h"

#include "base/bits.h"
#include "platform/lock.h"
#include "platform/thread.h"
#include "span/run.h"

#include <string.h>

enum { CHUNKS = (SJ_ACCOUNTS_MAX + SJ_ACCOUNT_CHUNK) / SJ_ACCOUNT_CHUNK };
#define HASH_START  0x811c9dc5u /* FNV-1a */
#define HASH_FACTOR 0x01000193u

static struct sj_lock account_lock = SJ_LOCK_INIT(SJ_RANK_ACCOUNTS);
struct sj_atomic_ptr sj__account_chunks[CHUNKS];
static struct sj_atomic_u32 count;

/* ---- Names ------------------------------------------------------------------------------------------------------ */

static bool is_kept(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == ':' ||
           c == '/' || c == '+' || c == '-';
}

uint32_t sj__account_name(char *kept, const char *name)
{
    uint32_t hash = HASH_START;
    unsigned length = 0;
    for (; name != NULL && name[length] != '\0' && length < SJ_NAME_BYTES - 1; length++) {
        kept[length] = is_kept(name[length]) ? name[length] : '_';
        hash = (hash ^ (uint8_t)kept[length]) * HASH_FACTOR;
    }
    kept[length] = '\0';
    return hash;
}

/* ---- Finding and opening ---------------------------------------------------------------------------------------- */

struct sj_account *sj__account_at(uint32_t number)
{
    struct sj_account *chunk =
        sj_load_acquire_ptr(&sj__account_chunks[number / SJ_ACCOUNT_CHUNK]); /* pairs with open_account */
    return &chunk[number % SJ_ACCOUNT_CHUNK];
}

uint32_t sj__account_count(void)
{
    return sj_load_acquire_u32(&count); /* pairs with open_account */
}

static uint32_t find(const struct sj_atomic_u32 *bucket, const char *label)
{
    uint32_t number = sj_load_acquire_u32(bucket); /* pairs with open_account */
    while (number != SJ_NO_ACCOUNT && strcmp(sj__account_at(number)->label, label) != 0)
        number = sj__account_at(number)->next;
    return number;
}

/* A new account at the head of its chain; SJ_NO_ACCOUNT if there can't be one more. Under the lock. */
static uint32_t open_account(struct sj_book *book, struct sj_atomic_u32 *bucket, const char *label)
{
    uint32_t number = sj_load_relaxed_u32(&count) + 1;
    if (number > SJ_ACCOUNTS_MAX)
        return SJ_NO_ACCOUNT;
    struct sj_atomic_ptr *chunk = &sj__account_chunks[number / SJ_ACCOUNT_CHUNK];
    if (sj_load_relaxed_ptr(chunk) == NULL)
        sj_store_release_ptr(chunk,
                             sj__run_record(SJ_ACCOUNT_CHUNK * sizeof(struct sj_account))); /* see sj__account_at */
    if (sj_load_relaxed_ptr(chunk) == NULL)
        return SJ_NO_ACCOUNT;
    struct sj_account *account = sj__account_at(number);
    account->book = book;
    account->next = sj_load_relaxed_u32(bucket);
    memcpy(account->label, label, strlen(label) + 1);
    sj_store_release_u32(bucket, number); /* pairs with find */
    sj_store_release_u32(&count, number); /* pairs with sj__account_count */
    return number;
}

static uint32_t find_or_open(struct sj_book *book, const char *label, uint32_t hash)
{
    struct sj_atomic_u32 *bucket = &book->buckets[hash % SJ_BOOK_BUCKETS];
    uint32_t number = find(bucket, label);
    if (number != SJ_NO_ACCOUNT)
        return number;
    sj__lock(&account_lock);
    number = find(bucket, label);
    if (number == SJ_NO_ACCOUNT)
        number = open_account(book, bucket, label);
    sj__unlock(&account_lock);
    return number;
}

uint32_t sj__account_find(const struct sj_book *book, const char *label)
{
    char kept[SJ_NAME_BYTES];
    uint32_t hash = sj__account_name(kept, label);
    return find(&book->buckets[hash % SJ_BOOK_BUCKETS], kept);
}

uint32_t sj__account_get(struct sj_book *book, const char *label)
{
    char kept[SJ_NAME_BYTES];
    uint32_t number = find_or_open(book, kept, sj__account_name(kept, label));
    return number != SJ_NO_ACCOUNT || kept[0] == '\0' ? number : find_or_open(book, "", HASH_START);
}

/* ---- Counting --------------------------------------------------------------------------------------------------- */

/* A locked instruction takes as long as all else here together: only where there are other threads. */
static void add(struct sj_atomic_u64 *sum, uint64_t value)
{
    if (sj_thread_is_alone())
        sj_word_add(&sum->value, value);
    else
        (void)sj_fetch_add_relaxed_u64(sum, value);
}

static void raise_peak(struct sj_counts *counts, uint64_t live_bytes)
{
    uint64_t peak = sj_load_relaxed_u64(&counts->peak_bytes);
    while (live_bytes > peak && !sj_compare_exchange_acq_rel_u64(&counts->peak_bytes, &peak, live_bytes))
        ; /* pairs with itself */
}

static void add_live(struct sj_counts *counts, size_t bytes)
{
    if (!sj_thread_is_alone()) {
        raise_peak(counts, sj_fetch_add_relaxed_u64(&counts->live_bytes, bytes) + bytes);
        return;
    }
    sj_word_add(&counts->live_bytes.value, bytes);
    raise_peak(counts, sj_load_relaxed_u64(&counts->live_bytes));
}

static void remove_live(struct sj_counts *counts, size_t bytes)
{
    add(&counts->live_bytes, -(uint64_t)bytes);
    add(&counts->freed_bytes, bytes);
}

void sj__account_add(uint32_t number, size_t bytes)
{
    struct sj_account *account = sj__account_at(number);
    struct sj_counts *totals = account->book->totals;
    add_live(&account->counts, bytes);
    add(&account->counts.allocated_blocks, 1);
    if (totals == NULL)
        return;
    add(&totals->allocated_blocks, 1);
    raise_peak(totals, sj_load_relaxed_u64(&totals->live_bytes));
}

void sj__account_remove(uint32_t number, size_t bytes)
{
    struct sj_account *account = sj__account_at(number);
    struct sj_counts *totals = account->book->totals;
    remove_live(&account->counts, bytes);
    add(&account->counts.freed_blocks, 1);
    if (totals == NULL)
        return;
    remove_live(totals, bytes);
    add(&totals->freed_blocks, 1);
}

void sj__account_resize(uint32_t number, size_t old_bytes, size_t new_bytes)
{
    struct sj_account *account = sj__account_at(number);
    if (new_bytes >= old_bytes) {
        add_live(&account->counts, new_bytes - old_bytes);
        if (account->book->totals != NULL)
            raise_peak(account->book->totals, sj_load_relaxed_u64(&account->book->totals->live_bytes));
        return;
    }
    remove_live(&account->counts, old_bytes - new_bytes);
    if (account->book->totals != NULL)
        remove_live(account->book->totals, old_bytes - new_bytes);
}

void sj__account_forget(struct sj_book *book)
{
    for (unsigned b = 0; b < SJ_BOOK_BUCKETS; b++) {
        uint32_t number = sj_load_acquire_u32(&book->buckets[b]); /* pairs with open_account */
        for (; number != SJ_NO_ACCOUNT; number = sj__account_at(number)->next)
            memset(&sj__account_at(number)->counts, 0, sizeof(struct sj_counts));
    }
}

/* ---- Fork ------------------------------------------------------------------------------------------------------- */

void sj__account_lock_for_fork(void)
{
    sj__lock(&account_lock);
}

void sj__account_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&account_lock);
    else
        sj__unlock(&account_lock);
}
