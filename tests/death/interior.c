/* SPDX-License-Identifier: MIT */
/*
 * What: pointers into live blocks but not at their start (SJ-002), just past blocks, and into memory of ours that
 * was never handed out (SJ-003).
 *
 * Why this way: the start of a slot is exact by contract, so an offset of one byte and an offset of half the block
 * must both be refused, at every size, by every call.
 *
 * Invariants: `never` slots are found without reading allocator data: blocks of one class are allocated, and a
 * multiple of the slot size from one of them that is none of them was never handed out.
 *
 * Concurrency: single thread.
 */
#include "death.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t sizes_from_32[] = {
    32, 48, 64, 112, 128, 160, 256, 1000, 1024, 4096, 5000, 16384, 32768, 33792, 100000, 1048576, 67108864, SIZE_MAX,
};
static const size_t sizes_large[] = { 33792, 65536, 100000, 1048576, 67108864, SIZE_MAX };

static void free_with_offset(bool misuse, size_t size_bytes, ptrdiff_t offset)
{
    void *block = death_new(size_bytes);
    death_free(misuse ? death_offset(block, offset) : block);
}

static void by_1(bool misuse, size_t size)
{
    free_with_offset(misuse, size, 1);
}
static void by_8(bool misuse, size_t size)
{
    free_with_offset(misuse, size, 8);
}
static void by_16(bool misuse, size_t size)
{
    free_with_offset(misuse, size, 16);
}
static void by_half(bool misuse, size_t size)
{
    free_with_offset(misuse, size, (ptrdiff_t)(size / 2));
}
static void at_last_byte(bool misuse, size_t size)
{
    free_with_offset(misuse, size, (ptrdiff_t)size - 1);
}
static void by_page(bool misuse, size_t size)
{
    free_with_offset(misuse, size, 4096);
}

static void at_last_page(bool misuse, size_t size)
{
    free_with_offset(misuse, size, (ptrdiff_t)((size - 1) & ~(size_t)4095));
}

static void before_by_1(bool misuse, size_t size)
{
    free_with_offset(misuse, size, -1);
}
static void before_by_8(bool misuse, size_t size)
{
    free_with_offset(misuse, size, -8);
}

static void past_end(bool misuse, size_t size)
{
    void *block = death_new(size);
    size_t usable = malloc_usable_size(block);
    death_free(misuse ? death_offset(block, (ptrdiff_t)usable) : block);
}

static void past_end_by_page(bool misuse, size_t size)
{
    void *block = death_new(size);
    size_t usable = malloc_usable_size(block);
    death_free(misuse ? death_offset(block, (ptrdiff_t)(usable + 4096)) : block);
}

static void interior_call(bool misuse, size_t call, size_t size, ptrdiff_t offset)
{
    void *block = death_new(size);
    if (misuse)
        death_give((enum death_call)call, death_offset(block, offset), size);
    else
        death_give_valid((enum death_call)call, size);
}

static void small_call(bool misuse, size_t call)
{
    interior_call(misuse, call, 256, 32);
}
static void small_odd_call(bool misuse, size_t call)
{
    interior_call(misuse, call, 256, 3);
}
static void large_call(bool misuse, size_t call)
{
    interior_call(misuse, call, 1 << 20, 65536);
}
static void large_odd_call(bool misuse, size_t call)
{
    interior_call(misuse, call, 1 << 20, 16);
}

static void aligned_block(bool misuse, size_t alignment)
{
    char *block = aligned_alloc(alignment, alignment * 2);
    if (block == NULL)
        death_cannot("no memory");
    block[0] = 1;
    death_free(misuse ? death_offset(block, (ptrdiff_t)alignment) : block);
}

/* Inside a block that has been freed already. */
static void of_freed(bool misuse, size_t size)
{
    void *keep = death_new(size);
    void *block = death_new(size);
    death_free(block);
    if (misuse)
        death_free(death_offset(block, 16));
    death_free(keep);
}

/* A slot near live ones that was never handed out. */
static void *never_slot(size_t size_bytes)
{
    enum { HANDED_OUT = 3, REACH = 16 };
    uintptr_t slots[HANDED_OUT];
    for (int i = 0; i < HANDED_OUT; i++)
        slots[i] = (uintptr_t)death_new(size_bytes);
    uintptr_t step = malloc_usable_size((void *)slots[0]);
    uintptr_t low = slots[0], high = slots[0];
    for (int i = 1; i < HANDED_OUT; i++) {
        low = slots[i] < low ? slots[i] : low;
        high = slots[i] > high ? slots[i] : high;
    }
    /* Between the lowest and the highest there is surely one slab; past the highest only if they fill it up. */
    for (uintptr_t slot = low + step; slot < high && slot < low + REACH * step; slot += step) {
        bool handed_out = false;
        for (int i = 0; i < HANDED_OUT; i++)
            handed_out |= slots[i] == slot;
        if (!handed_out)
            return (void *)slot;
    }
    return (void *)(high + step);
}

static void never_call(bool misuse, size_t call)
{
    void *slot = never_slot(80);
    if (misuse)
        death_give((enum death_call)call, slot, 80);
    else
        death_give_valid((enum death_call)call, 80);
}

static void never_size(bool misuse, size_t size)
{
    void *slot = never_slot(size);
    if (misuse)
        death_free(slot);
}

static void never_inside(bool misuse, size_t size)
{
    void *slot = never_slot(size);
    if (misuse)
        death_free(death_offset(slot, 8));
}

/* Whether a page of our own mapping was never touched. */
static bool never_touched(uintptr_t page)
{
    unsigned char resident = 1;
    return mincore((void *)page, 4096, &resident) == 0 && (resident & 1) == 0;
}

/*
 * An address in the part of the window that was never used: the start of an untouched page, near the end, of the
 * mapping a live block is in. Zero if there is none.
 */
static uintptr_t unused_window(uintptr_t live)
{
    static char maps[262144];
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    for (ssize_t got; file >= 0 && (got = read(file, maps + length, sizeof maps - 1 - length)) > 0;)
        length += (size_t)got;
    close(file);
    for (char *line = maps; line != NULL && *line != '\0';) {
        char *rest;
        uintptr_t start = strtoull(line, &rest, 16);
        uintptr_t end = strtoull(rest + 1, &rest, 16);
        if (live >= start && live < end)
            for (uintptr_t page = end - 8 * 4096; page > live; page -= 4096)
                if (never_touched(page) && never_touched(page + 4096) && never_touched(page - 4096))
                    return page;
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return 0;
}

static void window(bool misuse, size_t call)
{
    void *live = death_new(100);
    uintptr_t unused = unused_window((uintptr_t)live);
    if (misuse && unused == 0)
        death_cannot("no unused part of the window found");
    if (misuse)
        death_give((enum death_call)call, (void *)unused, 64);
    free(live);
}

#define BY_SIZE(name, expect, list, function)                \
    {                                                        \
        name, expect, "0,1,2", DEATH_SIZE, 0, list, function \
    }
#define BY_CALL(name, expect, function)                                    \
    {                                                                      \
        name, expect, "0,1,2", DEATH_CALL, DEATH_ALL_CALLS, NULL, function \
    }

static const size_t never_sizes[] = { 1, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 2048, SIZE_MAX };
static const size_t alignments[] = { 64,    128,   256,   512,    1024,   2048,   4096,    8192,
                                     16384, 32768, 65536, 131072, 262144, 524288, 1048576, SIZE_MAX };

const struct death_family death_interior[] = {
    BY_SIZE("interior_by_1", "SJ-002", sizes_from_32, by_1),
    BY_SIZE("interior_by_8", "SJ-002", sizes_from_32, by_8),
    BY_SIZE("interior_by_16", "SJ-002", sizes_from_32, by_16),
    BY_SIZE("interior_by_half", "SJ-002", sizes_from_32, by_half),
    BY_SIZE("interior_at_last_byte", "SJ-002", sizes_from_32, at_last_byte),
    BY_SIZE("interior_by_page", "SJ-002", sizes_large, by_page),
    BY_SIZE("interior_at_last_page", "SJ-002", sizes_large, at_last_page),
    BY_SIZE("interior_of_aligned", "SJ-002", alignments, aligned_block),
    BY_SIZE("interior_of_freed", "SJ-002|SJ-004", sizes_from_32, of_freed),
    BY_CALL("interior_small", "SJ-002", small_call),
    BY_CALL("interior_small_odd", "SJ-002", small_odd_call),
    BY_CALL("interior_large", "SJ-002", large_call),
    BY_CALL("interior_large_odd", "SJ-002", large_odd_call),
    BY_SIZE("before_by_1", "SJ-001|SJ-002|SJ-003", sizes_from_32, before_by_1),
    BY_SIZE("before_by_8", "SJ-001|SJ-002|SJ-003", sizes_from_32, before_by_8),
    BY_SIZE("past_end", "SJ-001|SJ-002|SJ-003", sizes_large, past_end),
    BY_SIZE("past_end_by_page", "SJ-001|SJ-002|SJ-003", sizes_large, past_end_by_page),
    BY_CALL("never_allocated", "SJ-003", never_call),
    BY_SIZE("never_allocated_size", "SJ-003", never_sizes, never_size),
    BY_SIZE("never_allocated_inside", "SJ-002|SJ-003", never_sizes, never_inside),
    { "never_used_window", "SJ-003", "0,1,2", DEATH_CALL, DEATH_MAIN_CALLS, NULL, window },
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
