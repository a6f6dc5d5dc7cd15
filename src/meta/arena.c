/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see arena.h.
 */
#include "meta/arena.h"

#include "base/bits.h"
#include "meta/region.h"
#include "platform/lock.h"
#include "platform/pages.h"

enum { ARENA_STEP_BYTES = 1 << 18 };

static struct sj_lock arena_lock = SJ_LOCK_INIT(SJ_RANK_META);
static struct sj_region arena_region;
static struct sj_atomic_size arena_used_bytes, arena_mapped_bytes; /* written under the lock */

bool sj__arena_start(uint64_t random)
{
    return sj__region_open(&arena_region, SJ_REGION_META, random);
}

static bool arena_grow(size_t bytes)
{
    size_t step = bytes > ARENA_STEP_BYTES ? sj_round_up(bytes, ARENA_STEP_BYTES) : ARENA_STEP_BYTES;
    return sj__region_grow(&arena_region, step) ||
           sj__region_grow(&arena_region, sj_round_up(bytes, sj__page_bytes())); /* under a limit: what is needed */
}

size_t sj__arena_used_bytes(void)
{
    return sj_load_relaxed_size(&arena_used_bytes);
}

void *sj__arena_alloc(size_t bytes)
{
    bytes = sj_round_up(bytes, SJ_RECORD_BYTES);
    void *record = NULL;
    sj__lock(&arena_lock);
    size_t used_bytes = sj__arena_used_bytes();
    if (used_bytes + bytes <= arena_region.mapped_bytes || arena_grow(bytes)) {
        record = arena_region.base + used_bytes;
        sj_store_relaxed_size(&arena_used_bytes, used_bytes + bytes);
        sj_store_relaxed_size(&arena_mapped_bytes, arena_region.mapped_bytes);
    }
    sj__unlock(&arena_lock);
    return record;
}

bool sj__arena_holds(const void *record, size_t bytes)
{
    size_t offset = (uintptr_t)record - (uintptr_t)arena_region.base, used_bytes = sj__arena_used_bytes();
    return offset % SJ_RECORD_BYTES == 0 && offset < used_bytes && bytes <= used_bytes - offset;
}

void sj__arena_bytes(size_t *used_bytes, size_t *mapped_bytes)
{
    *used_bytes = sj__arena_used_bytes();
    *mapped_bytes = sj_load_relaxed_size(&arena_mapped_bytes);
}

const void *sj__arena_base(void)
{
    return arena_region.base;
}

void sj__arena_lock_for_fork(void)
{
    sj__lock(&arena_lock);
}

void sj__arena_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&arena_lock);
    else
        sj__unlock(&arena_lock);
}
