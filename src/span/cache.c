/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see cache.h.
 */
#include "span/cache.h"

#include "base/bits.h"
#include "platform/lock.h"
#include "platform/pages.h"
#include "platform/process.h"

enum {
    SHARDS = 16,
    MEETINGS = 16, /* of threads in a shard until one moves on */
    BUCKETS = 64,
    SEARCH_LIMIT = 16, /* blocks of a bucket that are looked at */
    GUARD_CALLS = 4    /* two guards set and lifted */
};

struct ends {
    struct sj_large *oldest, *newest;
};

struct shard {
    SJ_CACHE_ALIGNED struct sj_atomic_u64
        full; /* the buckets that have a block; this and the next ones are written under the lock */
    struct sj_atomic_u64 kept_blocks;
    struct sj_atomic_size bytes[2];    /* of warm blocks, of cold ones */
    struct sj_atomic_u64 oldest_ms[2]; /* the same: since when the oldest is free; SJ_NEVER_MS if there is none */
    struct ends ages[2];
    struct sj_cache_counts counts; /* but for what is summed up when they are read */
    struct ends buckets[BUCKETS];
};
_Static_assert(BUCKETS == 64, "a bit of `full` each");

/* Apart from the shards, so that neither their ranks nor a fork, which takes them all, touch shards that are not used. */
struct shard_lock {
    SJ_CACHE_ALIGNED struct sj_lock lock;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* for the range */
static struct shard_lock locks[SHARDS] = { [0 ... SHARDS - 1] = { SJ_LOCK_INIT(SJ_RANK_LARGE) } };
#pragma GCC diagnostic pop
static struct shard shards[SHARDS];
static struct sj_atomic_u32 shards_used = { 1 }; /* a bit each */
static struct sj_atomic_u64 misses;
static _Thread_local unsigned home; /* the shard the calling thread puts to and takes from */
static _Thread_local unsigned meetings;

/* The first of the shards in use, or the next; NULL after the last. Those that were never used stay untouched memory. */
static struct shard *next_shard(const struct shard *shard)
{
    unsigned from = shard == NULL ? 0 : (unsigned)(shard - shards) + 1;
    uint32_t rest = sj_load_relaxed_u32(&shards_used) >> from;
    return rest != 0 ? &shards[from + sj_lowest_bit(rest)] : NULL;
}

static struct sj_lock *lock_of(const struct shard *shard)
{
    return &locks[shard - shards].lock;
}

/* Shards that are of use: as many threads can be at work at once. */
static unsigned most_shards(void)
{
    unsigned cpus = sj__process_cpus();
    return cpus < SHARDS ? cpus : SHARDS;
}

static void move_home(void)
{
    home = (home + 1) % most_shards();
    (void)sj_fetch_or_acq_rel_u32(&shards_used, (uint32_t)1 << home); /* pairs with nothing: all zero is ready */
}

/* The calling thread's shard, locked. A thread that keeps meeting others there moves next door. */
static struct shard *enter(void)
{
    if (sj__try_lock(&locks[home].lock))
        return &shards[home];
    if (++meetings % MEETINGS == 0)
        move_home();
    sj__lock(&locks[home].lock);
    return &shards[home];
}

/* ---- The two orders a block stands in, under the lock ----------------------------------------------------------- */

static struct ends *bucket_of(struct shard *shard, size_t usable_bytes)
{
    return &shard->buckets[usable_bytes / sj__page_bytes() % BUCKETS];
}

static uint64_t bucket_bit(size_t usable_bytes)
{
    return (uint64_t)1 << usable_bytes / sj__page_bytes() % BUCKETS;
}

static void age_link(struct ends *ends, struct sj_large *large)
{
    large->newer = NULL;
    large->older = ends->newest;
    *(ends->newest != NULL ? &ends->newest->newer : &ends->oldest) = large;
    ends->newest = large;
}

static void age_unlink(struct ends *ends, struct sj_large *large)
{
    *(large->older != NULL ? &large->older->newer : &ends->oldest) = large->newer;
    *(large->newer != NULL ? &large->newer->older : &ends->newest) = large->older;
}

static void bucket_link(struct ends *ends, struct sj_large *large)
{
    large->newer_alike = NULL;
    large->older_alike = ends->newest;
    *(ends->newest != NULL ? &ends->newest->newer_alike : &ends->oldest) = large;
    ends->newest = large;
}

static void bucket_unlink(struct ends *ends, struct sj_large *large)
{
    *(large->older_alike != NULL ? &large->older_alike->newer_alike : &ends->oldest) = large->newer_alike;
    *(large->newer_alike != NULL ? &large->newer_alike->older_alike : &ends->newest) = large->older_alike;
}

/* Only the lock's holder writes these, so no locked instruction is needed. */
static void count_kept(struct shard *shard, const struct sj_large *large, bool more)
{
    struct sj_atomic_size *bytes = &shard->bytes[large->cold];
    size_t block_bytes = large->usable_bytes;
    sj_store_relaxed_u64(&shard->kept_blocks, sj_load_relaxed_u64(&shard->kept_blocks) + (more ? 1 : UINT64_MAX));
    sj_store_relaxed_size(bytes, sj_load_relaxed_size(bytes) + (more ? block_bytes : -block_bytes));
    shard->counts.owed_bytes += large->owes ? (more ? block_bytes : -block_bytes) : 0;
}

static void note_oldest(struct shard *shard, bool cold)
{
    const struct sj_large *oldest = shard->ages[cold].oldest;
    sj_store_relaxed_u64(&shard->oldest_ms[cold], oldest != NULL ? oldest->freed_ms : SJ_NEVER_MS);
}

static void link_block(struct shard *shard, struct sj_large *large)
{
    size_t usable_bytes = large->usable_bytes;
    large->shard = (uint8_t)(shard - shards);
    age_link(&shard->ages[large->cold], large);
    bucket_link(bucket_of(shard, usable_bytes), large);
    sj_store_relaxed_u64(&shard->full, sj_load_relaxed_u64(&shard->full) | bucket_bit(usable_bytes));
    note_oldest(shard, large->cold);
    count_kept(shard, large, true);
}

static void unlink_block(struct shard *shard, struct sj_large *large)
{
    struct ends *alike = bucket_of(shard, large->usable_bytes);
    age_unlink(&shard->ages[large->cold], large);
    bucket_unlink(alike, large);
    if (alike->oldest == NULL)
        sj_store_relaxed_u64(&shard->full, sj_load_relaxed_u64(&shard->full) & ~bucket_bit(large->usable_bytes));
    note_oldest(shard, large->cold);
    count_kept(shard, large, false);
}

static void sum_books(struct shard *shard, uint64_t now_ms)
{
    sj_books_sum(&shard->counts.books, sj_load_relaxed_size(&shard->bytes[0]), now_ms);
}

/* ---- Taking ----------------------------------------------------------------------------------------------------- */

static bool fits(const struct sj_large *large, size_t usable_bytes, bool guarded)
{
    return large->usable_bytes == usable_bytes && large->guarded_front == guarded && large->guarded_back == guarded;
}

static struct sj_large *find(struct shard *shard, size_t usable_bytes, bool guarded, bool rests)
{
    const struct ends *ends = bucket_of(shard, usable_bytes);
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

/* Takes a block that fits out of a locked shard, and unlocks it. */
static struct sj_large *take_from(struct shard *shard, const struct sj_cache_wish *wish)
{
    struct sj_large *found = find(shard, wish->usable_bytes, wish->guarded, wish->rests);
    if (found != NULL) {
        uint64_t now_ms = sj__clock_ms();
        struct sj_cache_counts *counts = &shard->counts;
        sum_books(shard, now_ms);
        sj_books_note_reuse(&counts->books, found->freed_ms, now_ms, wish->usable_bytes);
        unlink_block(shard, found);
        counts->hits++;
        counts->hit_bytes += wish->usable_bytes;
        counts->cold_hits += found->cold;
        counts->cold_hit_bytes += found->cold ? wish->usable_bytes : 0;
        counts->scrubbed_bytes += found->dirty && wish->scrubbed ? wish->usable_bytes : 0;
        counts->forgone_bytes += found->owes && !wish->scrubbed ? wish->usable_bytes : 0;
        counts->calls_avoided += wish->guarded ? GUARD_CALLS : 0;
    }
    sj__unlock(lock_of(shard));
    return found;
}

static bool may_have(const struct shard *shard, size_t usable_bytes)
{
    return (sj_load_relaxed_u64(&shard->full) & bucket_bit(usable_bytes)) != 0;
}

struct sj_large *sj__cache_take(const struct sj_cache_wish *wish)
{
    struct sj_large *found = NULL;
    if (may_have(&shards[home], wish->usable_bytes))
        found = take_from(enter(), wish);
    for (struct shard *other = NULL; found == NULL && (other = next_shard(other)) != NULL;)
        if (other != &shards[home] && may_have(other, wish->usable_bytes) && sj__try_lock(lock_of(other)))
            found = take_from(other, wish);
    if (found == NULL)
        (void)sj_fetch_add_relaxed_u64(&misses, 1);
    return found;
}

/* ---- Keeping ---------------------------------------------------------------------------------------------------- */

struct held {
    uint64_t blocks;
    size_t bytes[2]; /* warm, cold */
};

static struct held held_by(const struct shard *shard)
{
    return (struct held){ sj_load_relaxed_u64(&shard->kept_blocks),
                          { sj_load_relaxed_size(&shard->bytes[0]), sj_load_relaxed_size(&shard->bytes[1]) } };
}

static struct held held_by_all(void)
{
    struct held sum = { 0 };
    for (const struct shard *shard = NULL; (shard = next_shard(shard)) != NULL;) {
        struct held held = held_by(shard);
        sum.blocks += held.blocks;
        sum.bytes[0] += held.bytes[0];
        sum.bytes[1] += held.bytes[1];
    }
    return sum;
}

/* What has to go: 1 cold blocks, 0 warm ones, -1 nothing. */
static int find_surplus(const struct held *allowed)
{
    struct held held = held_by_all();
    if (held.bytes[1] > allowed->bytes[1] || (held.blocks > allowed->blocks && held.bytes[1] > 0))
        return 1;
    return held.bytes[0] > allowed->bytes[0] || held.blocks > allowed->blocks ? 0 : -1;
}

static struct shard *shard_of_oldest(bool cold)
{
    struct shard *found = NULL;
    uint64_t oldest_ms = SJ_NEVER_MS;
    for (struct shard *shard = NULL; (shard = next_shard(shard)) != NULL;) {
        uint64_t shards_ms = sj_load_relaxed_u64(&shard->oldest_ms[cold]);
        if (held_by(shard).bytes[cold] > 0 && shards_ms < oldest_ms) {
            oldest_ms = shards_ms;
            found = shard;
        }
    }
    return found;
}

static struct sj_large *chain(struct sj_large *large, struct sj_large *rest)
{
    large->next = rest;
    return large;
}

static struct sj_large *evict_oldest(struct shard *shard, bool cold, struct sj_large *rest)
{
    struct sj_large *large = shard->ages[cold].oldest;
    if (large == NULL)
        return rest;
    unlink_block(shard, large);
    shard->counts.evictions++;
    return chain(large, rest);
}

static struct sj_large *evict_beyond(const struct held *allowed, struct sj_large *rest)
{
    for (int cold; (cold = find_surplus(allowed)) >= 0;) {
        struct shard *shard = shard_of_oldest(cold == 1);
        if (shard == NULL)
            break;
        sj__lock(lock_of(shard));
        rest = evict_oldest(shard, cold == 1, rest);
        sj__unlock(lock_of(shard));
    }
    return rest;
}

struct sj_large *sj__cache_put(struct sj_large *large, size_t allowed_bytes)
{
    const struct held allowed = { sj_load_relaxed_u64(&sj__release_limits.cache_count),
                                  { allowed_bytes, allowed_bytes } };
    size_t bytes = large->usable_bytes;
    bool keeps = bytes <= allowed_bytes && allowed.blocks > 0;
    uint64_t now_ms = sj__clock_ms();
    large->freed_ms = now_ms;
    struct shard *shard = enter();
    sum_books(shard, now_ms);
    shard->counts.offered_blocks++;
    shard->counts.offered_bytes += bytes;
    if (keeps)
        link_block(shard, large); /* once unlocked it may be another thread's */
    sj__unlock(lock_of(shard));
    if (keeps)
        sj_release_note_held(now_ms);
    return evict_beyond(&allowed, keeps ? NULL : chain(large, NULL));
}

bool sj__cache_is_beyond_limits(void)
{
    uint64_t bytes = sj_load_relaxed_u64(&sj__release_limits.cache_bytes);
    uint64_t blocks = bytes > 0 ? sj_load_relaxed_u64(&sj__release_limits.cache_count) : 0;
    struct held held = held_by_all();
    return held.bytes[0] > bytes || held.blocks > blocks;
}

/* ---- By age, and all -------------------------------------------------------------------------------------------- */

struct sj_large *sj__cache_take_aged(uint64_t before_ms)
{
    struct sj_large *large = NULL;
    for (struct shard *shard = NULL; large == NULL && (shard = next_shard(shard)) != NULL;) {
        sj__lock(lock_of(shard));
        large = shard->ages[0].oldest;
        if (large != NULL && large->freed_ms > before_ms)
            large = NULL;
        if (large != NULL) {
            sum_books(shard, sj__clock_ms());
            unlink_block(shard, large);
        }
        sj__unlock(lock_of(shard));
    }
    return large;
}

void sj__cache_put_back(struct sj_large *large, bool cold)
{
    struct shard *shard = &shards[large->shard];
    uint64_t now_ms = sj__clock_ms();
    large->cold = cold;
    sj__lock(lock_of(shard));
    if (cold) {
        shard->counts.books.aged_bytes += large->usable_bytes;
        shard->counts.books.aged_calls++;
    } else {
        large->freed_ms = now_ms;
        sum_books(shard, now_ms);
    }
    link_block(shard, large);
    sj__unlock(lock_of(shard));
}

uint64_t sj__cache_oldest_ms(void)
{
    const struct shard *shard = shard_of_oldest(false);
    return shard != NULL ? sj_load_relaxed_u64(&shard->oldest_ms[0]) : SJ_NEVER_MS;
}

struct sj_large *sj__cache_drain(void)
{
    struct sj_large *drained = NULL;
    for (struct shard *shard = NULL; (shard = next_shard(shard)) != NULL;) {
        sj__lock(lock_of(shard));
        sum_books(shard, sj__clock_ms());
        while (held_by(shard).blocks > 0)
            drained = evict_oldest(shard, shard->ages[1].oldest != NULL, drained);
        sj__unlock(lock_of(shard));
    }
    return drained;
}

bool sj__cache_is_empty(void)
{
    return held_by_all().blocks == 0;
}

size_t sj__cache_bytes(void)
{
    return held_by_all().bytes[0];
}

static void add_counts(struct sj_cache_counts *sum, const struct sj_cache_counts *counts)
{
    sum->hits += counts->hits;
    sum->hit_bytes += counts->hit_bytes;
    sum->cold_hits += counts->cold_hits;
    sum->cold_hit_bytes += counts->cold_hit_bytes;
    sum->offered_blocks += counts->offered_blocks;
    sum->offered_bytes += counts->offered_bytes;
    sum->scrubbed_bytes += counts->scrubbed_bytes;
    sum->forgone_bytes += counts->forgone_bytes;
    sum->evictions += counts->evictions;
    sum->owed_bytes += counts->owed_bytes;
    sum->calls_avoided += counts->calls_avoided;
    sum->books.held_byte_ms += counts->books.held_byte_ms;
    sum->books.aged_bytes += counts->books.aged_bytes;
    sum->books.aged_calls += counts->books.aged_calls;
    for (unsigned i = 0; i < SJ_GAP_BUCKETS; i++) {
        sum->books.gap_count[i] += counts->books.gap_count[i];
        sum->books.gap_bytes[i] += counts->books.gap_bytes[i];
    }
}

void sj__cache_read_counts(struct sj_cache_counts *out)
{
    *out = (struct sj_cache_counts){ .misses = sj_load_relaxed_u64(&misses) };
    for (struct shard *shard = NULL; (shard = next_shard(shard)) != NULL;) {
        sj__lock(lock_of(shard));
        sum_books(shard, sj__clock_ms());
        add_counts(out, &shard->counts);
        out->kept_blocks += held_by(shard).blocks;
        out->warm_bytes += held_by(shard).bytes[0];
        sj__unlock(lock_of(shard));
    }
}

void sj__cache_lock_for_fork(void)
{
    for (unsigned i = 0; i < SHARDS; i++)
        sj__lock(&locks[i].lock);
}

void sj__cache_unlock_after_fork(bool in_child)
{
    for (unsigned i = 0; i < SHARDS; i++) {
        if (in_child)
            sj__lock_reset(&locks[i].lock);
        else
            sj__unlock(&locks[i].lock);
    }
}
