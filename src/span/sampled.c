/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see sampled.h.
 */
#include "span/sampled.h"

#include "base/bits.h"
#include "platform/clock.h"
#include "platform/lock.h"
#include "platform/pages.h"
#include "span/run.h"

#include <string.h>

enum { MIN_ALIGNMENT = 16, MS_A_SECOND = 1000 };

static struct sj_lock pool_lock = SJ_LOCK_INIT(SJ_RANK_LARGE);
char *sj__sampled_base;
struct sj_sampled *sj__sampled_records;
/* What the map names. Aligned as a slab: the fast paths look at it as at one. */
SJ_CACHE_ALIGNED static struct sj_span pool_span;
static bool pool_refused;                         /* there was no memory for it; it is not asked for again */
static struct sj_sampled *free_first, *free_last; /* pages that nobody has, freed longest ago first */
static uint64_t rate_second;                      /* the second that is counted */
static uint32_t rate_count;

static struct sj_atomic_u64 allocated_blocks, freed_blocks, allocated_bytes, freed_bytes, skipped, guards_refused;

/* ---- The pool --------------------------------------------------------------------------------------------------- */

static char *page_of(const struct sj_sampled *sampled)
{
    return sj__sampled_base + (2 * (size_t)(sampled - sj__sampled_records) + 1) * sj__page_bytes();
}

static void put(struct sj_sampled *sampled)
{
    sampled->next = NULL;
    *(free_first != NULL ? &free_last->next : &free_first) = sampled;
    free_last = sampled;
}

static bool guard(char *page)
{
    bool guarded = sj__pages_guard(page, sj__page_bytes());
    if (!guarded)
        (void)sj_fetch_add_relaxed_u64(&guards_refused, 1);
    return guarded;
}

/* The first sample makes it: most little programs never come so far. */
static bool open_pool(void)
{
    size_t page_bytes = sj__page_bytes(), first_granule;
    size_t bytes = sj_round_up((2 * SJ_SAMPLED_PAGES + 1) * page_bytes, SJ_GRANULE_BYTES);
    enum sj_run_content content;
    sj__sampled_records = sj__run_record(SJ_SAMPLED_PAGES * sizeof *sj__sampled_records);
    if (sj__sampled_records == NULL || !sj__run_take(bytes >> SJ_GRANULE_SHIFT, &first_granule, &content))
        return false;
    sj__sampled_base = sj_window_address(first_granule);
    if (content == SJ_RUN_DIRTY)
        memset(sj__sampled_base, 0, bytes);
    for (size_t i = 0; i < SJ_SAMPLED_PAGES; i++) {
        (void)guard(sj__sampled_base + 2 * i * page_bytes);
        sj__sampled_records[i].guarded = guard(page_of(&sj__sampled_records[i]));
        put(&sj__sampled_records[i]);
    }
    (void)guard(sj__sampled_base + (size_t)2 * SJ_SAMPLED_PAGES * page_bytes);
    sj_store_relaxed_u32(&pool_span.kind, SJ_SPAN_SAMPLED);
    for (size_t i = 0; i < bytes >> SJ_GRANULE_SHIFT; i++)
        sj_window_set(first_granule + i, &pool_span);
    return true;
}

static bool is_within_rate(uint32_t rate)
{
    uint64_t second = sj__clock_ms() / MS_A_SECOND;
    if (second != rate_second) {
        rate_second = second;
        rate_count = 0;
    }
    return rate == 0 || rate_count++ < rate;
}

/* A page that nobody has, made accessible. */
static struct sj_sampled *take(uint32_t rate)
{
    sj__lock(&pool_lock);
    struct sj_sampled *sampled = NULL;
    if (is_within_rate(rate)) {
        if (sj__sampled_base == NULL && !pool_refused)
            pool_refused = !open_pool();
        sampled = pool_refused ? NULL : free_first;
    }
    if (sampled != NULL) {
        free_first = sampled->next;
        if (sampled->guarded && !sj__pages_unguard(page_of(sampled), sj__page_bytes())) {
            put(sampled);
            sampled = NULL;
        }
    }
    sj__unlock(&pool_lock);
    return sampled;
}

/* ---- Allocation and free ---------------------------------------------------------------------------------------- */

static void place(struct sj_sampled *sampled, const struct sj_sample_request *request)
{
    size_t page_bytes = sj__page_bytes();
    size_t alignment = request->alignment > MIN_ALIGNMENT ? request->alignment : MIN_ALIGNMENT;
    size_t offset = request->to_the_right ? sj_round_down(page_bytes - request->size_bytes, alignment) : 0;
    size_t end = offset + request->size_bytes;
    char *page = page_of(sampled);
    memset(page, SJ_SAMPLED_PATTERN, offset);
    memset(page + offset, 0, request->size_bytes);
    memset(page + end, SJ_SAMPLED_PATTERN, page_bytes - end);
    sampled->start = page + offset;
    sampled->usable_bytes = (uint32_t)request->size_bytes;
    sampled->class_index = request->class_index;
    sampled->family = request->family;
}

void *sj__sampled_malloc(const struct sj_sample_request *request, uint32_t rate)
{
    bool fits = request->size_bytes <= sj__page_bytes() && request->alignment <= sj__page_bytes();
    struct sj_sampled *sampled = fits ? take(rate) : NULL;
    if (sampled == NULL) {
        (void)sj_fetch_add_relaxed_u64(&skipped, 1);
        return NULL;
    }
    place(sampled, request);
    sj__trace_take(&sampled->allocated, request->caller);
    sj_store_release_u32(&sampled->state, SJ_SAMPLED_LIVE); /* pairs with the exchange at free */
    (void)sj_fetch_add_relaxed_u64(&allocated_blocks, 1);
    (void)sj_fetch_add_relaxed_u64(&allocated_bytes, request->size_bytes);
    return page_of(sampled) + (sampled->start - page_of(sampled));
}

/* The byte of the page outside of the block, nearest to it, that is not as it was left; those behind it first. */
static const char *find_changed(const struct sj_sampled *sampled)
{
    const char *page = page_of(sampled), *end = page + sj__page_bytes();
    for (const char *at = sampled->start + sampled->usable_bytes; at < end; at++)
        if ((unsigned char)*at != SJ_SAMPLED_PATTERN)
            return at;
    for (const char *at = sampled->start; at-- > page;)
        if ((unsigned char)*at != SJ_SAMPLED_PATTERN)
            return at;
    return NULL;
}

bool sj__sampled_free(struct sj_sampled *sampled, const void *caller, const char **changed)
{
    *changed = NULL;
    /* Pairs with itself in another thread that frees the block too, and with the store at allocation. */
    if (sj_exchange_acq_rel_u32(&sampled->state, SJ_SAMPLED_FREED) != SJ_SAMPLED_LIVE)
        return false;
    sj__trace_take(&sampled->freed, caller);
    *changed = find_changed(sampled);
    if (*changed != NULL)
        return true;
    (void)sj_fetch_add_relaxed_u64(&freed_blocks, 1);
    (void)sj_fetch_add_relaxed_u64(&freed_bytes, sampled->usable_bytes);
    char *page = page_of(sampled);
    memset(page, 0, sj__page_bytes()); /* a guard made by mprotect keeps what is there */
    sampled->guarded = guard(page);
    sj__lock(&pool_lock);
    put(sampled);
    sj__unlock(&pool_lock);
    return true;
}

/* ---- Lookup and counts ------------------------------------------------------------------------------------------ */

static bool was_used(size_t index)
{
    return index < SJ_SAMPLED_PAGES &&
           sj_load_acquire_u32(&sj__sampled_records[index].state) != SJ_SAMPLED_NEVER; /* pairs with the store */
}

struct sj_sampled *sj__sampled_at(const void *address)
{
    size_t offset = (size_t)((const char *)address - sj__sampled_base);
    size_t page = offset / sj__page_bytes(), index = page / 2;
    if (page % 2 == 0 && index > 0) { /* a guard: behind the block before it, or before the one behind it */
        bool is_nearer_to_the_left = offset % sj__page_bytes() < sj__page_bytes() / 2;
        if (was_used(index - 1) && (is_nearer_to_the_left || !was_used(index)))
            index--;
    }
    return was_used(index) ? &sj__sampled_records[index] : NULL;
}

size_t sj__sampled_room(const void *pointer)
{
    const struct sj_sampled *sampled = sj__sampled_at(pointer);
    if (sampled == NULL || sj_load_acquire_u32(&sampled->state) != SJ_SAMPLED_LIVE) /* pairs with the store */
        return 0;
    size_t offset = (size_t)((const char *)pointer - sampled->start);
    return offset < sampled->usable_bytes ? sampled->usable_bytes - offset : 0;
}

const struct sj_span *sj__sampled_span(void)
{
    return &pool_span;
}

void sj__sampled_read_counts(struct sj_sampled_counts *out)
{
    out->allocated_blocks = sj_load_relaxed_u64(&allocated_blocks);
    out->freed_blocks = sj_load_relaxed_u64(&freed_blocks);
    out->allocated_bytes = sj_load_relaxed_u64(&allocated_bytes);
    out->freed_bytes = sj_load_relaxed_u64(&freed_bytes);
    out->skipped = sj_load_relaxed_u64(&skipped);
    out->guards_refused = sj_load_relaxed_u64(&guards_refused);
}

void sj__sampled_lock_for_fork(void)
{
    sj__lock(&pool_lock);
}

void sj__sampled_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&pool_lock);
    else
        sj__unlock(&pool_lock);
}
