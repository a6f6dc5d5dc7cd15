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
