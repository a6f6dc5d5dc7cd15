/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see cache.h.
 */
#include "span/cache.h"

#include "platform/lock.h"
#include "platform/pages.h"

enum { CACHE_SETS = 64, CACHE_WAYS = 4 };

static struct sj_lock cache_lock = SJ_LOCK_INIT(SJ_RANK_LARGE);
static struct sj_large *sets[CACHE_SETS][CACHE_WAYS]; /* the most recently freed first */
static struct sj_atomic_size kept_bytes;              /* written under the lock */
static unsigned sweep;                                /* the set that gives a block up next */

static struct sj_large **set_of(size_t usable_bytes)
{
    return sets[usable_bytes / sj__page_bytes() % CACHE_SETS];
}

static struct sj_large *remove_way(struct sj_large **set, unsigned way)
{
    struct sj_large *large = set[way];
    for (; way + 1 < CACHE_WAYS; way++)
        set[way] = set[way + 1];
    set[CACHE_WAYS - 1] = NULL;
    (void)sj_fetch_sub_relaxed_size(&kept_bytes, large->usable_bytes);
    return large;
}

static struct sj_large *chain(struct sj_large *large, struct sj_large *rest)
{
    large->next = rest;
    return large;
}

/* Gives up the oldest block of the next set that has one, for at most one round. */
static struct sj_large *sweep_one(struct sj_large *rest)
{
    for (unsigned looked = 0; looked < CACHE_SETS; looked++) {
        struct sj_large **set = sets[sweep++ % CACHE_SETS];
        for (unsigned way = CACHE_WAYS; way-- > 0;)
            if (set[way] != NULL)
                return chain(remove_way(set, way), rest);
    }
    return rest;
}

static bool fits(const struct sj_large *large, size_t usable_bytes, bool guarded)
{
    return large->usable_bytes == usable_bytes && large->guarded_front == guarded && large->guarded_back == guarded;
}

struct sj_large *sj__cache_take(size_t usable_bytes, bool guarded, bool rests)
{
    struct sj_large **set = set_of(usable_bytes);
    struct sj_large *found = NULL;
    if (sj_load_relaxed_size(&kept_bytes) < usable_bytes)
        return NULL;
    sj__lock(&cache_lock);
    unsigned fitting = 0, choice = 0;
    for (unsigned way = 0; way < CACHE_WAYS && set[way] != NULL; way++)
        if (fits(set[way], usable_bytes, guarded) && (fitting++ == 0 || rests))
            choice = way;
    if (fitting > (rests ? 1 : 0))
        found = remove_way(set, choice);
    sj__unlock(&cache_lock);
    return found;
}

struct sj_large *sj__cache_put(struct sj_large *large, size_t allowed_bytes)
{
    struct sj_large **set = set_of(large->usable_bytes);
    struct sj_large *evicted = NULL;
    if (large->usable_bytes > allowed_bytes)
        return chain(large, NULL);
    sj__lock(&cache_lock);
    if (set[CACHE_WAYS - 1] != NULL)
        evicted = chain(remove_way(set, CACHE_WAYS - 1), evicted);
    while (sj_load_relaxed_size(&kept_bytes) + large->usable_bytes > allowed_bytes)
        evicted = sweep_one(evicted);
    for (unsigned way = CACHE_WAYS - 1; way > 0; way--)
        set[way] = set[way - 1];
    set[0] = large;
    (void)sj_fetch_add_relaxed_size(&kept_bytes, large->usable_bytes);
    sj__unlock(&cache_lock);
    return evicted;
}

struct sj_large *sj__cache_drain(void)
{
    struct sj_large *drained = NULL;
    sj__lock(&cache_lock);
    for (unsigned i = 0; i < CACHE_SETS; i++)
        while (sets[i][0] != NULL)
            drained = chain(remove_way(sets[i], 0), drained);
    sj__unlock(&cache_lock);
    return drained;
}

size_t sj__cache_bytes(void)
{
    return sj_load_relaxed_size(&kept_bytes);
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
