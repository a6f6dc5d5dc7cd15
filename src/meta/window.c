/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see window.h.
 */
#include "meta/window.h"

#include "base/bits.h"
#include "meta/region.h"
#include "platform/pages.h"
#include "platform/process.h"

enum {
    WINDOW_STEP_MIN_BYTES = 1 << 20,  /* the first steps: little programs stay little */
    WINDOW_STEP_MAX_BYTES = 32 << 20, /* later: an eighth of what is there, up to this */
    WINDOW_STEP_FRACTION = 8,
    WINDOW_SKIP_BYTES = 64 << 20, /* how far to go on behind somebody who sits in the way */
    WINDOW_SKIP_TRIES = 4,
    WINDOW_PIECE_SHIFT = 30 /* a mapping that is this long is not made longer: fork asks for each whole, and is refused
                             * one that is larger than the machine's memory */
};

uintptr_t sj__window_base;
struct sj_atomic_size sj__window_limit_bytes;
struct sj_span **sj__window_map;
struct sj_span *sj__window_unused;
struct sj_span *sj__window_freed;

static struct sj_region window_region;
static struct sj_region map_region;
static size_t piece_start_bytes; /* the mapping at the window's end begins here */

static void fill_map(size_t first_granule, size_t granules)
{
    for (size_t granule = first_granule; granule < first_granule + granules; granule++)
        sj_window_set(granule, sj__window_unused);
}

void sj__window_tag(void)
{
    window_region.tagged = true;
}

bool sj__window_start(uint64_t random_window, uint64_t random_map, uint64_t random_arena, bool huge_pages)
{
    window_region.no_huge = !huge_pages;
    if (!sj__arena_start(random_arena) || !sj__region_open(&map_region, SJ_REGION_MAP, random_map) ||
        !sj__region_open(&window_region, SJ_REGION_WINDOW, random_window))
        return false;
    sj__window_unused = sj__arena_alloc(SJ_RECORD_BYTES);
    sj__window_freed = sj__arena_alloc(SJ_RECORD_BYTES);
    if (sj__window_unused == NULL || sj__window_freed == NULL)
        return false;
    sj_store_relaxed_u32(&sj__window_freed->kind, SJ_SPAN_FREED);
    sj__window_map = (struct sj_span **)(void *)map_region.base;
    fill_map(0, window_region.mapped_bytes >> SJ_GRANULE_SHIFT);
    sj__window_base = (uintptr_t)window_region.base;
    /* The first granule stays nobody's: a block at the very base could be reached by a wild offset of zero. */
    sj_store_relaxed_size(&sj__window_limit_bytes, window_region.mapped_bytes);
    return true;
}

static bool map_covers(size_t window_bytes)
{
    size_t need_bytes = sj_round_up((window_bytes >> SJ_GRANULE_SHIFT) * sizeof(struct sj_span *), sj__page_bytes());
    return need_bytes <= map_region.mapped_bytes ||
           sj__region_grow(&map_region, sj_round_up(need_bytes - map_region.mapped_bytes, SJ_GRANULE_BYTES));
}

/* The window first: a request that no system can grant must not leave its map behind. */
static bool grow_by(size_t bytes)
{
    if (!sj__region_grow(&window_region, bytes))
        return false;
    if (map_covers(window_region.mapped_bytes))
        return true;
    sj__region_shrink(&window_region, bytes);
    return false;
}

/* True if somebody else sits at the window's end: the kernel gives as much elsewhere, but not there. */
static bool end_is_taken(size_t bytes)
{
    void *elsewhere = window_region.reserved ? NULL : sj__pages_map_anywhere(bytes, true);
    if (elsewhere != NULL)
        (void)sj__pages_unmap(elsewhere, bytes);
    return elsewhere != NULL;
}

/* Leaves a granule out, so that the next ones are a mapping of their own. */
static bool begin_piece(void)
{
    if ((window_region.mapped_bytes - piece_start_bytes) >> WINDOW_PIECE_SHIFT == 0 ||
        !sj__region_skip(&window_region, SJ_GRANULE_BYTES))
        return false;
    piece_start_bytes = window_region.mapped_bytes;
    return true;
}

bool sj__window_grow(size_t granules, size_t adjoining, size_t *first_granule, size_t *grown_granules)
{
    size_t whole_bytes = granules << SJ_GRANULE_SHIFT;
    if (whole_bytes >> SJ_GRANULE_SHIFT != granules || whole_bytes > window_region.limit_bytes)
        return false;
    bool apart = begin_piece() || window_region.mapped_bytes != sj_load_relaxed_size(&sj__window_limit_bytes);
    size_t need_bytes = apart ? whole_bytes : (granules - adjoining) << SJ_GRANULE_SHIFT;
    size_t step_bytes = sj_round_down(window_region.mapped_bytes / WINDOW_STEP_FRACTION, SJ_GRANULE_BYTES);
    step_bytes = step_bytes < WINDOW_STEP_MIN_BYTES ? WINDOW_STEP_MIN_BYTES : step_bytes;
    step_bytes = step_bytes > WINDOW_STEP_MAX_BYTES ? WINDOW_STEP_MAX_BYTES : step_bytes;
    if (step_bytes < need_bytes)
        step_bytes = need_bytes;

    for (unsigned tries = 0; tries < WINDOW_SKIP_TRIES; tries++) {
        size_t start_bytes = window_region.mapped_bytes;
        /* Under a tight limit the step may be refused where the bare need is not. */
        size_t grown_bytes = grow_by(step_bytes) ? step_bytes : grow_by(need_bytes) ? need_bytes : 0;
        if (grown_bytes != 0) {
            *first_granule = start_bytes >> SJ_GRANULE_SHIFT;
            *grown_granules = grown_bytes >> SJ_GRANULE_SHIFT;
            /* From the old limit on: what was skipped is nobody's too. */
            size_t old_end = sj_load_relaxed_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT;
            fill_map(old_end, *first_granule + *grown_granules - old_end);
            /* Release: a reader that sees the new limit sees the map behind it mapped. */
            sj_store_release_size(&sj__window_limit_bytes, window_region.mapped_bytes);
            return true;
        }
        if (!end_is_taken(need_bytes) || !map_covers(window_region.mapped_bytes + WINDOW_SKIP_BYTES) ||
            !sj__region_skip(&window_region, WINDOW_SKIP_BYTES))
            return false;
        need_bytes = whole_bytes;
        step_bytes = step_bytes < need_bytes ? need_bytes : step_bytes;
    }
    return false;
}

/* A new mapping is not marked; marked, it joins its neighbours again. */
static void mark_new(void *address, size_t bytes)
{
    if (window_region.no_huge)
        sj__pages_no_huge(address, bytes);
    if (window_region.tagged)
        (void)sj__pages_tag(address, bytes);
}

bool sj__window_renew(void *address, size_t bytes)
{
    if (!sj__pages_map_over(address, bytes))
        return false;
    mark_new(address, bytes);
    return true;
}

bool sj__window_remap(void *address, size_t bytes)
{
    if (!sj__pages_map_at(address, bytes))
        return false;
    mark_new(address, bytes);
    return true;
}

bool sj__window_move(void *from, size_t bytes, void *to, bool *place_kept)
{
    *place_kept = true;
    if (sj__pages_move_out(from, bytes, to))
        return true;
    if (!sj__pages_move(from, bytes, to))
        return false;
    *place_kept = sj__window_remap(from, bytes);
    return true;
}

size_t sj__window_resident(void)
{
    size_t limit_bytes = sj_load_acquire_size(&sj__window_limit_bytes); /* pairs with the growth */
    uintptr_t map = (uintptr_t)map_region.base, arena = (uintptr_t)sj__arena_base();
    size_t records_bytes, mapped_bytes;
    sj__arena_bytes(&records_bytes, &mapped_bytes);
    const struct sj_stretch stretches[] = {
        { sj__window_base, sj__window_base + limit_bytes },
        { map, map + (limit_bytes >> SJ_GRANULE_SHIFT) * sizeof(struct sj_span *) },
        { arena, arena + mapped_bytes },
    };
    return sj__process_resident_within(stretches, sizeof stretches / sizeof stretches[0]);
}

struct sj_span *sj__window_find(const void *pointer)
{
    return sj_window_contains(pointer) ? sj_window_lookup(sj_window_granule(pointer)) : sj__window_unused;
}
