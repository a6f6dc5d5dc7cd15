/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see region.h.
 */
#include "meta/region.h"

#include "base/bits.h"
#include "platform/pages.h"

/* Where a stretch may begin and how long it may become, in 1/128 of the address space a process has: on x86-64 (47
 * bits) one unit is 1 TiB. Programs, their heap and the sanitizers' shadows lie below and above these. */
struct placement {
    unsigned first_unit; /* the base lies in [first_unit, first_unit + base_units) */
    unsigned base_units;
    unsigned limit_units; /* the stretch never grows past this many units */
    size_t reserve_bytes; /* what is asked for where the kernel chooses */
};

static const struct placement placements[SJ_REGION_PLACES] = {
    [SJ_REGION_WINDOW] = { 17, 15, 16, (size_t)1 << 36 },
    [SJ_REGION_MAP] = { 49, 3, 1, (size_t)1 << 24 },
    [SJ_REGION_META] = { 54, 6, 4, (size_t)1 << 32 },
};

enum { REGION_UNITS_SHIFT = 7, REGION_ALIGN_BYTES = 1 << 16 };

/* The smallest power of two above an address near the top of this process's address space: the stack's. */
static size_t address_space_bytes(void)
{
    char on_stack;
    return (size_t)2 << sj_highest_bit((uintptr_t)&on_stack);
}

static bool open_chosen(struct sj_region *region, const struct placement *place, uint64_t random)
{
    size_t unit_bytes = address_space_bytes() >> REGION_UNITS_SHIFT;
    size_t spread_bytes = place->base_units * unit_bytes;
    uintptr_t base = place->first_unit * unit_bytes + sj_round_down(random % spread_bytes, REGION_ALIGN_BYTES);
    region->base = (char *)base;
    region->mapped_bytes = 0;
    region->limit_bytes = place->limit_units * unit_bytes;
    region->reserved = false;
    return sj__region_grow(region, REGION_ALIGN_BYTES);
}

/* The kernel chooses: ask for less until it agrees. */
static bool open_anywhere(struct sj_region *region, const struct placement *place)
{
    for (size_t bytes = place->reserve_bytes; bytes >= 4 * (size_t)REGION_ALIGN_BYTES; bytes /= 2) {
        char *start = sj__pages_map_anywhere(bytes, false);
        if (start == NULL)
            continue;
        /* The rounding leaves at least one inaccessible page before the base. */
        uintptr_t base = sj_round_up((uintptr_t)start + 1, REGION_ALIGN_BYTES);
        region->base = (char *)base;
        region->mapped_bytes = 0;
        region->limit_bytes = sj_round_down((size_t)(start + bytes - region->base), REGION_ALIGN_BYTES);
        region->reserved = true;
        return sj__region_grow(region, REGION_ALIGN_BYTES);
    }
    return false;
}

bool sj__region_open(struct sj_region *region, enum sj_region_place place, uint64_t random)
{
    const struct placement *placement = &placements[place];
    return (!SJ_UNDER_TSAN && open_chosen(region, placement, random)) || open_anywhere(region, placement);
}

bool sj__region_grow(struct sj_region *region, size_t bytes)
{
    if (bytes > region->limit_bytes - region->mapped_bytes)
        return false;
    char *end = region->base + region->mapped_bytes;
    bool grown = region->reserved ? sj__pages_unprotect(end, bytes) : sj__pages_map_at(end, bytes);
    if (!grown)
        return false;
    region->mapped_bytes += bytes;
    if (region->no_huge) /* each step anew: it then joins the mapping of those before */
        sj__pages_no_huge(end, bytes);
    if (region->tagged)
        (void)sj__pages_tag(end, bytes); /* refused: memory without tags, to which every pointer fits */
    return true;
}

bool sj__region_skip(struct sj_region *region, size_t bytes)
{
    if (region->reserved || bytes > region->limit_bytes - region->mapped_bytes)
        return false;
    region->mapped_bytes += bytes;
    return true;
}

void sj__region_shrink(struct sj_region *region, size_t bytes)
{
    char *start = region->base + (region->mapped_bytes - bytes);
    if (region->reserved ? sj__pages_protect(start, bytes) : sj__pages_unmap(start, bytes))
        region->mapped_bytes -= bytes;
}
