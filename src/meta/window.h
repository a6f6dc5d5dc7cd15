/* SPDX-License-Identifier: MIT
 *
 * What: the window, the one stretch of address space that all user memory comes from, and the map that tells for each
 * 64 KiB granule of it whose it is.
 *
 *     window   | granule 0 | granule 1 | granule 2 | ...          user memory, nothing else
 *     map      |  pointer  |  pointer  |  pointer  | ...          8 bytes a granule
 *     arena    | unused | freed | record | record | ...           the owners
 *
 * Why this way: any pointer, ours or not, is judged without being followed: one subtraction and compare against the
 * window, one shift, one load from the map. Granules that belong to nobody point to one of two standing records,
 * "unused" and "freed", so the lookup has no NULL to test for. Indices of half the size were tried: two instructions more
 * a free, to save 64 bytes a mebibyte.
 *
 * Invariants: map entries below the window's limit point to a record. A record named by an entry is never recycled as
 * another type. Only the first granule of a large block names it; all granules of a slab do; the first and last granule
 * of a free run do.
 *
 * Concurrency: lookups take no lock. An entry is stored with release after its record is complete and loaded with
 * acquire-by-dependency; a pointer legitimately held by the program was published after both. A stale entry leads to a
 * record that is still of its type, and its fields say whether it still covers the address.
 */
#ifndef SJ_META_WINDOW_H
#define SJ_META_WINDOW_H

#include "base/atomic.h"
#include "meta/arena.h"

enum { SJ_GRANULE_SHIFT = 16, SJ_GRANULE_BYTES = 1 << SJ_GRANULE_SHIFT };

enum sj_span_kind {
    SJ_SPAN_UNUSED, /* standing record 0: never used */
    SJ_SPAN_FREED,  /* standing record 1, and retired slab and large records */
    SJ_SPAN_RUN,    /* a free run */
    SJ_SPAN_FRESH,  /* a free run, none of which was ever handed out */
    SJ_SPAN_SLAB,
    SJ_SPAN_LARGE,
    SJ_SPAN_SAMPLED /* the pool of sampled blocks; see span/sampled.h */
};

/* What every record that the map can name begins with. */
struct sj_span {
    struct sj_atomic_ptr owner; /* the heap whose slab this is; NULL for everything else. Written by that heap only */
    struct sj_atomic_u32 kind;  /* enum sj_span_kind */
    uint32_t record_of;         /* SJ_SPAN_SLAB or SJ_SPAN_LARGE: what its record is for, whatever its state; else 0 */
};

/* Read by every free. Written at start; only the limit changes later, upwards. */
extern SJ_HIDDEN uintptr_t sj__window_base;
extern SJ_HIDDEN struct sj_atomic_size sj__window_limit_bytes;
extern SJ_HIDDEN struct sj_span **sj__window_map;

/* The standing records. */
extern struct sj_span *sj__window_unused;
extern struct sj_span *sj__window_freed;

/* Opens window, map and arena. False if the kernel gives no memory at all. With `huge_pages` the system decides whether
 * the window gets some; without, it gets none. */
bool sj__window_start(uint64_t random_window, uint64_t random_map, uint64_t random_arena, bool huge_pages);

/* Before the start: the window's memory is to have tags, as far as the kernel gives it some. */
void sj__window_tag(void);

/* Makes at least `granules` more granules accessible, as one stretch, or what they exceed the `adjoining` free ones at the
 * window's end by, right behind those; on success tells where the new ones start and how many they are. Called under the
 * lock of the runs. */
bool sj__window_grow(size_t granules, size_t adjoining, size_t *first_granule, size_t *grown_granules);

/* Replaces the pages of a stretch of the window, which nobody has, by fresh zero ones. On false they may be unmapped. */
bool sj__window_renew(void *address, size_t bytes);

/* Maps a stretch of the window, which nobody has and which is not mapped. False: refused, or somebody else sits there. */
bool sj__window_remap(void *address, size_t bytes);

/* Moves pages within the window, replacing those at `to`. `place_kept`: the old place is still the window's, and reads as
 * zero. False: not moved, and `to` may be unmapped. */
bool sj__window_move(void *from, size_t bytes, void *to, bool *place_kept);

/* Resident bytes of window, map and arena, as the kernel says; 0 if it does not. Takes milliseconds. */
size_t sj__window_resident(void);

/* The record of the granule that contains `pointer`; the standing record "unused" if it lies outside the window. */
struct sj_span *sj__window_find(const void *pointer);

SJ_ALWAYS_INLINE size_t sj_window_offset(const void *pointer)
{
    return (uintptr_t)pointer - sj__window_base;
}

SJ_ALWAYS_INLINE bool sj_window_contains(const void *pointer)
{
    return sj_window_offset(pointer) < sj_peek_size(&sj__window_limit_bytes);
}

SJ_ALWAYS_INLINE size_t sj_window_granule(const void *pointer)
{
    return sj_window_offset(pointer) >> SJ_GRANULE_SHIFT;
}

SJ_ALWAYS_INLINE char *sj_window_address(size_t granule)
{
    return (char *)(sj__window_base + (granule << SJ_GRANULE_SHIFT));
}

/* The record of a granule below the limit. Never NULL. */
SJ_ALWAYS_INLINE struct sj_span *sj_window_lookup(size_t granule)
{
    /* Relaxed: the pointer being looked up carries the dependency; see Concurrency above. */
    return __atomic_load_n(&sj__window_map[granule], __ATOMIC_RELAXED);
}

SJ_ALWAYS_INLINE void sj_window_set(size_t granule, struct sj_span *record)
{
    __atomic_store_n(&sj__window_map[granule], record, __ATOMIC_RELEASE); /* pairs with lookups by dependency */
}

#endif
