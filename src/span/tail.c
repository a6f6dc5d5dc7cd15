/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see tail.h.
 */
#include "span/tail.h"

#include <string.h>

void sj__tail_set(struct sj_slab *slab, size_t slot, size_t size_bytes)
{
    char *start = slab->base + slot * slab->slot_bytes;
    if (slab->canary == SJ_CANARY_EXACT)
        sj_tail_set_note(slab, slot, slab->slot_bytes - size_bytes);
    size_t bytes = sj_tail_bytes(slab, slot);
    sj__canary_set(start + slab->slot_bytes - bytes, bytes, start);
}

void sj__tail_renew(struct sj_slab *slab, size_t slot, size_t size_bytes)
{
    if (slab->canary != SJ_CANARY_EXACT)
        return;
    size_t bytes = sj_tail_bytes(slab, slot);
    memset(slab->base + (slot + 1) * slab->slot_bytes - bytes, 0, bytes);
    sj__tail_set(slab, slot, size_bytes);
}

const char *sj__tail_changed(const struct sj_slab *slab, size_t slot)
{
    const char *start = slab->base + slot * slab->slot_bytes;
    size_t bytes = sj_tail_bytes(slab, slot);
    const char *tail = start + slab->slot_bytes - bytes;
    size_t offset = sj__canary_first_changed(tail, bytes, start);
    return offset < bytes ? tail + offset : NULL;
}

SJ_READS_ANYTHING static uint64_t read_end(const char *end)
{
    return *(const sj_canary_word *)(const void *)(end - SJ_CANARY_BYTES);
}

static bool is_of_canary(const char *start, uint8_t byte)
{
    for (size_t i = 0; i < SJ_CANARY_BYTES; i++)
        if (byte == sj__canary_byte(start, i))
            return true;
    return byte == 0;
}

const char *sj__tail_damaged(const struct sj_slab *slab, size_t slot)
{
    const char *start = slab->base + slot * slab->slot_bytes;
    const char *end = start + slab->slot_bytes;
    uint64_t last = read_end(end);
    if (last == sj_canary_end(sj_canary_of(start), sj_tail_bytes(slab, slot)))
        return NULL;
    for (size_t i = 0; i < SJ_CANARY_BYTES; i++)
        if (!is_of_canary(start, (uint8_t)(last >> (i * 8))))
            return end - SJ_CANARY_BYTES + i;
    return NULL;
}
