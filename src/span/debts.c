/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see debts.h.
 */
#include "span/debts.h"

#include "base/bits.h"
#include "platform/pages.h"
#include "span/scrub.h"

#include <string.h>

enum {
    PART_GRANULES = 2048, /* 128 MiB of the window, a page of notes */
    PARTS = 1 << 14       /* 2 TiB */
};

struct part {
    uint16_t owing[PART_GRANULES]; /* a bit a page of the granule */
};
static struct sj_atomic_ptr parts[PARTS];

static uint16_t *note_of(size_t granule)
{
    size_t index = granule / PART_GRANULES;
    struct part *part = index < PARTS ? sj_load_acquire_ptr(&parts[index]) : NULL; /* pairs with make_part */
    return part != NULL ? &part->owing[granule % PART_GRANULES] : NULL;
}

/* A new part says of all that it owes: some of its granules may be on their way out already. */
static uint16_t *make_part(size_t granule)
{
    size_t index = granule / PART_GRANULES;
    struct part *part = index < PARTS ? sj__arena_alloc(sizeof *part) : NULL;
    if (part == NULL)
        return NULL;
    memset(part, 0xff, sizeof *part);
    void *none = NULL; /* of two threads that come here at once one has made its part for nothing */
    (void)sj_compare_exchange_acq_rel_ptr(&parts[index], &none, part); /* pairs with note_of */
    return note_of(granule);
}

/* The page of a granule that begins at `address`, or the first or last one if that lies before or behind. */
static unsigned page_of(const char *address, const char *granule_start)
{
    if (address <= granule_start)
        return 0;
    size_t offset = (size_t)(address - granule_start);
    return (unsigned)((offset < SJ_GRANULE_BYTES ? offset : SJ_GRANULE_BYTES) / sj__page_bytes());
}

void sj__debts_note(size_t first_granule, size_t granules, const char *start, size_t bytes)
{
    for (size_t granule = first_granule; granule < first_granule + granules; granule++) {
        const char *granule_start = sj_window_address(granule);
        unsigned first = page_of(start, granule_start), end = page_of(start + bytes, granule_start);
        uint16_t *note = note_of(granule);
        if (note == NULL)
            note = make_part(granule);
        if (note != NULL)
            *note = (uint16_t)(sj_low_mask(end) & ~sj_low_mask(first));
    }
}

void sj__debts_scrub(size_t first_granule, size_t granules)
{
    size_t page_bytes = sj__page_bytes();
    uint64_t all = sj_low_mask((unsigned)(SJ_GRANULE_BYTES / page_bytes));
    for (size_t granule = first_granule; granule < first_granule + granules; granule++) {
        const uint16_t *note = note_of(granule);
        for (uint64_t owing = note != NULL ? *note & all : all; owing != 0;) {
            unsigned first = sj_lowest_bit(owing);
            unsigned pages = sj_lowest_bit(~(owing >> first));
            sj__scrub_bytes(sj_window_address(granule) + first * page_bytes, pages * page_bytes);
            owing &= ~(sj_low_mask(pages) << first);
        }
    }
}
