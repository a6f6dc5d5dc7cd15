/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see cache.h.
 */
#include "span/cache.h"

#include "platform/lock.h"
#include "platform/pages.h"

enum {
    BUCKETS = 64,
    SEARCH_LIMIT = 16, /* blocks of a bucket that are looked at */
    GUARD_CALLS = 4    /* two guards set and lifted */
};

struct ends {
    struct sj_large *oldest, *newest;
};

static struct sj_lock cache_lock = SJ_LOCK_INIT(SJ_RANK_LARGE);
static struct ends ages[2]; /* of warm blocks, of cold ones */
static struct ends buckets[BUCKETS];
static size_t cold_bytes;
static struct sj_atomic_size warm_bytes; /* written under the lock */
static struct sj_atomic_u64 kept_blocks; /* the same */
static struct sj_atomic_u64 misses;
static struct sj_cache_counts counts; /* but for what stands above */

static struct ends *bucket_of(size_t usable_bytes)
{
    return &buckets[usable_bytes / sj__page_bytes() % BUCKETS];
}

/* ---- The two orders a block stands in, under the lock ----------------------------------------------------------- */

static void age_link(struct sj_large *large)
{
    struct ends *ends = &ages[large->cold];
    large->newer = NULL;
    large->older = ends->newest;
    *(ends->newest != NULL ? &ends->newest->newer : &ends->oldest) = large;
    ends->newest = large;
}

static void age_unlink(struct sj_large *large)
{
    struct ends *ends = &ages[large->cold];
    *(large->older != NULL ? &large->older->newer : &ends->oldest) = large->newer;
    *(large->newer != NULL ? &large->newer->older : &ends->newest) = large->older;
}

static void bucket_link(struct sj_large *large)
{
    struct ends *ends = bucket_of(large->usable_bytes);
    large->newer_alike = NULL;
    large->older_alike = ends->newest;
    *(ends->newest != NULL ? &ends->newest->newer_alike : &ends->oldest) = large;
    ends->newest = large;
}

static void bucket_unlink(struct sj_large *large)
{
    struct ends *ends = bucket_of(large->usable_bytes);
    *(large->older_alike != NULL ? &large->older_alike->newer_alike : &ends->oldest) = large->newer_alike;
    *(large->newer_alike != NULL ? &large->newer_alike->older_alike : &ends->newest) = large->older_alike;
}

static void put_locked(struct sj_large *large)
{
    age_link(large);
    bucket_link(large);
    (void)sj_fetch_add_relaxed_u64(&kept_blocks, 1);
    if (large->cold)
        cold_bytes += large->usable_bytes;
    else
        (void)sj_fetch_add_relaxed_size(&warm_bytes, large->usable_bytes);
    counts.owed_bytes += large->owes ? large->usable_bytes : 0;
}

static void remove_locked(struct sj_large *large)
{
    age_unlink(large);
    bucket_unlink(large);
    (void)sj_fetch_sub_relaxed_u64(&kept_blocks, 1);
    if (large->cold)
        cold_bytes -= large->usable_bytes;
    else
        (void)sj_fetch_sub_relaxed_size(&warm_bytes, large->usable_bytes);
    counts.owed_bytes -= large->owes ? large->usable_bytes : 0;
}

static void sum_books(uint64_t now_ms)
{
    sj_books_sum(&counts.books, sj_load_relaxed_size(&warm_bytes), now_ms);
}

/* ---- Taking ----------------------------------------------------------------------------------------------------- */

static bool fits(const struct sj_large *large, size_t usable_bytes, bool guarded)
{
    return large->usable_bytes == usable_bytes && large->guarded_front == guarded && large->guarded_back == guarded;
}

static struct sj_large *find(size_t usable_bytes, bool guarded, bool rests)
{
    struct ends *ends = bucket_of(usable_bytes);
    struct sj_large *found = NULL;
    struct sj_large *large = rests ? ends->oldest : ends->newest;
    for (unsigned looked = 0; large != NULL && looked < SEARCH_LIMIT; looked++) {
        if (fits(large, usable_bytes, guarded)) {
            if (!rests || found != NULL)
                return found != NULL ? found : large;
            found = large; /* only if there is another */
        }
        large = rests ? large->newer_alike : large->older_alike;
    }
    return NULL;
}

struct sj_large *sj__cache_take(size_t usable_bytes, bool guarded, bool rests)
{
    if (sj_load_relaxed_u64(&kept_blocks) == 0) {
        (void)sj_fetch_add_relaxed_u64(&misses, 1);
        return NULL;
    }
    uint64_t now_ms = sj__clock_ms();
    sj__lock(&cache_lock);
    struct sj_large *found = find(usable_bytes, guarded, rests);
    if (found != NULL) {
        sum_books(now_ms);
        sj_books_note_reuse(&counts.books, found->freed_ms, now_ms, usable_bytes);
        remove_locked(found);
        counts.hits++;
        counts.cold_hits += found->cold;
        counts.cold_hit_bytes += found->cold ? usable_bytes : 0;
        counts.calls_avoided += guarded ? GUARD_CALLS : 0;
    }
    sj__unlock(&cache_lock);
    if (found == NULL)
        (void)sj_fetch_add_relaxed_u64(&misses, 1);
    return found;
}

/* ---- Keeping ---------------------------------------------------------------------------------------------------- */

static struct sj_large *chain(struct sj_large *large, struct sj_large *rest)
{
    large->next = rest;
    return large;
}

/* Takes out the oldest of the warm or the cold blocks, whichever there are; cold ones first if both will do. */
static struct sj_large *evict(bool cold, struct sj_large *rest)
{
    struct sj_large *large = ages[cold].oldest != NULL ? ages[cold].oldest : ages[!cold].oldest;
    remove_locked(large);
    counts.evictions++;
    return chain(large, rest);
}

static struct sj_large *evict_beyond(uint64_t allowed_blocks, size_t warm_allowed_bytes, size_t cold_allowed_bytes)
{
    struct sj_large *evicted = NULL;
    while (sj_load_relaxed_u64(&kept_blocks) > allowed_blocks)
        evicted = evict(true, evicted);
    while (sj_load_relaxed_size(&warm_bytes) > warm_allowed_bytes)
        evicted = evict(false, evicted);
    while (cold_bytes > cold_allowed_bytes)
        evicted = evict(true, evicted);
    return evicted;
}

struct sj_large *sj__cache_put(struct sj_large *large, size_t allowed_bytes)
{
    uint64_t allowed_blocks = sj_load_relaxed_u64(&sj__release_limits.cache_count);
    size_t bytes = large->usable_bytes;
    bool keeps = bytes <= allowed_bytes && allowed_blocks > 0;
    if (!keeps && sj__cache_is_empty())
        return chain(large, NULL);
    uint64_t now_ms = sj__clock_ms();
    large->freed_ms = now_ms;
    sj__lock(&cache_lock);
    sum_books(now_ms);
    struct sj_large *evicted =
        evict_beyond(allowed_blocks - keeps, keeps ? allowed_bytes - bytes : allowed_bytes, allowed_bytes);
    if (keeps)
        put_locked(large); /* once unlocked it may be another thread's */
    sj__unlock(&cache_lock);
    if (!keeps)
        return chain(large, evicted);
    sj_release_note_held(now_ms);
    return evicted;
}

bool sj__cache_is_beyond_limits(void)
{
    uint64_t bytes = sj_load_relaxed_u64(&sj__release_limits.cache_bytes);
    uint64_t blocks = bytes > 0 ? sj_load_relaxed_u64(&sj__release_limits.cache_count) : 0;
    return sj_load_relaxed_size(&warm_bytes) > bytes || sj_load_relaxed_u64(&kept_blocks) > blocks;
}

struct sj_large *sj__cache_take_aged(uint64_t before_ms)
{
    sj__lock(&cache_lock);
    struct sj_large *large = ages[0].oldest;
    if (large != NULL && large->freed_ms > before_ms)
        large = NULL;
    if (large != NULL) {
        sum_books(sj__clock_ms());
        remove_locked(large);
    }
    sj__unlock(&cache_lock);
    return large;
}

void sj__cache_put_back(struct sj_large *large, bool cold)
{
    uint64_t now_ms = sj__clock_ms();
    large->cold = cold;
    sj__lock(&cache_lock);
    if (cold) {
        counts.books.aged_bytes += large->usable_bytes;
        counts.books.aged_calls++;
    } else {
        large->freed_ms = now_ms;
        sum_books(now_ms);
    }
    put_locked(large);
    sj__unlock(&cache_lock);
}

uint64_t sj__cache_oldest_ms(void)
{
    sj__lock(&cache_lock);
    uint64_t oldest_ms = ages[0].oldest != NULL ? ages[0].oldest->freed_ms : SJ_NEVER_MS;
    sj__unlock(&cache_lock);
    return oldest_ms;
}

struct sj_large *sj__cache_drain(void)
{
    struct sj_large *drained = NULL;
    sj__lock(&cache_lock);
    sum_books(sj__clock_ms());
    while (ages[0].oldest != NULL || ages[1].oldest != NULL)
        drained = evict(false, drained);
    sj__unlock(&cache_lock);
    return drained;
}

bool sj__cache_is_empty(void)
{
    return sj_load_relaxed_u64(&kept_blocks) == 0;
}

size_t sj__cache_bytes(void)
{
    return sj_load_relaxed_size(&warm_bytes);
}

void sj__cache_read_counts(struct sj_cache_counts *out)
{
    sj__lock(&cache_lock);
    sum_books(sj__clock_ms());
    *out = counts;
    out->misses = sj_load_relaxed_u64(&misses);
    out->kept_blocks = sj_load_relaxed_u64(&kept_blocks);
    out->warm_bytes = sj_load_relaxed_size(&warm_bytes);
    sj__unlock(&cache_lock);
}

void sj__cache_lock_for_fork(void)
{
    sj__lock(&cache_lock);
}

void sj__cache_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&cache_lock);
    else
        sj__unlock(&cache_lock);
}
