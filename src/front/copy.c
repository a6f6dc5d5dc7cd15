/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see copy.h and copies.h.
 */
#include "front/copy.h"

#include "base/plain.h"
#include "report/report.h"
#include "span/sampled.h"
#include "span/tail.h"

#include <string.h>

enum { BYTES_A_STEP_SHIFT = 9 }; /* looking at one granule more is nothing beside copying 512 bytes */

void *sj__own_move(void *to, const void *from, size_t bytes)
{
    return sj__sealed.copies.memmove(to, from, bytes);
}

void *sj__own_set(void *to, int byte, size_t bytes)
{
    return sj__sealed.copies.memset(to, byte, bytes);
}

/* True where no live block is: in a slab or a sample, which are looked at by the slot, in a free run, and in what is freed and
 * kept as it was: the place of a closed slab, the first granule of a large block in the cache. */
static bool ends_walk(const struct sj_span *span, uint32_t kind)
{
    return kind == SJ_SPAN_SLAB || kind == SJ_SPAN_RUN || kind == SJ_SPAN_FRESH || kind == SJ_SPAN_SAMPLED ||
           (kind == SJ_SPAN_FREED && span != sj__window_freed);
}

static bool names_something(const struct sj_span *span)
{
    uint32_t kind = sj_load_relaxed_u32(&span->kind);
    return kind == SJ_SPAN_LARGE || ends_walk(span, kind);
}

/* Of a large block only the first granule names something: where another does, or the window ends, the block has ended. */
static size_t room_before_next(const void *pointer, size_t bytes)
{
    size_t offset = sj_window_offset(pointer);
    size_t limit = sj_peek_size(&sj__window_limit_bytes);
    size_t end = bytes < limit - offset ? offset + bytes : limit;
    for (size_t granule = (offset >> SJ_GRANULE_SHIFT) + 1; granule << SJ_GRANULE_SHIFT < end; granule++)
        if (names_something(sj_window_lookup(granule)))
            return (granule << SJ_GRANULE_SHIFT) - offset;
    return bytes <= limit - offset ? SJ_COPY_UNBOUNDED : limit - offset;
}

/* Its own granule is always looked at. A large block's inner granules name nothing. */
static size_t room_in_large(const void *pointer, size_t bytes)
{
    size_t granule = sj_window_granule(pointer);
    for (size_t steps = bytes >> BYTES_A_STEP_SHIFT;; steps--, granule--) {
        struct sj_span *span = sj_window_lookup(granule);
        uint32_t kind = sj_load_relaxed_u32(&span->kind);
        if (ends_walk(span, kind))
            return 0;
        if (kind == SJ_SPAN_LARGE) {
            const struct sj_large *large = (const struct sj_large *)(const void *)span;
            size_t offset = (size_t)((const char *)pointer - large->start);
            size_t usable_bytes = sj_load_relaxed_u32(&large->live) != 0 ? sj__large_usable(large) : 0;
            return offset < usable_bytes ? usable_bytes - offset : 0;
        }
        if (steps == 0)
            return room_before_next(pointer, bytes);
        if (granule == 0)
            return 0;
    }
}

static size_t room_in_slot(const struct sj_slab *slab, const void *pointer)
{
    size_t room = sj_copy_slot_room(slab, pointer, slab->slots);
    if (room == 0 || slab->canary == SJ_CANARY_OFF)
        return room;
    size_t tail = sj_tail_bytes(slab, sj_slot_of(slab->reciprocal, (size_t)((const char *)pointer - slab->base)));
    return room > tail ? room - tail : 0;
}

size_t sj__copy_room(const void *pointer, size_t bytes)
{
    struct sj_span *span = sj_window_lookup(sj_window_granule(pointer));
    uint32_t kind = sj_load_relaxed_u32(&span->kind);
    if (kind == SJ_SPAN_SLAB)
        return room_in_slot((struct sj_slab *)(void *)span, pointer);
    if (kind == SJ_SPAN_SAMPLED)
        return sj__sampled_room(pointer);
    return room_in_large(pointer, bytes);
}

static bool is_live(const struct sj_judgement *judgement)
{
    if (judgement->sampled != NULL)
        return judgement->block != NULL && sj__sampled_room(judgement->block) != 0;
    if (judgement->slab == NULL)
        return judgement->large != NULL;
    return judgement->block != NULL &&
           sj_copy_slot_room(judgement->slab, judgement->block, judgement->slab->slots) != 0;
}

SJ_COLD static void stop(enum sj_report_id id, const void *pointer, size_t bytes, struct sj_asker asker)
{
    struct sj_judgement judgement = sj__judge(pointer);
    struct sj_report_facts facts = sj__judge_facts(&judgement, pointer, asker);
    facts.given_bytes = bytes;
    if (is_live(&judgement)) {
        bool is_inside = facts.offset_bytes < judgement.usable_bytes;
        facts.expected_bytes = is_inside ? judgement.usable_bytes - facts.offset_bytes : 0;
        if (facts.expected_bytes >= bytes)
            return;
        facts.note = "given: the bytes from ptr on that the copy takes; expected: those that are left in the block";
        sj__report_misuse(id, &facts);
    }
    facts.note = "given: the bytes from ptr on that the copy takes";
    sj__report_misuse(judgement.verdict == SJ_IS_UNTOUCHED ? SJ_NEVER_ALLOCATED : SJ_USE_AFTER_FREE, &facts);
}

void sj__copy_check_write(const void *to, size_t bytes, struct sj_asker asker)
{
    if (sj_copy_checks_write(to) && sj_unlikely(sj__copy_room(to, bytes) < bytes))
        stop(SJ_COPY_OVERFLOW, to, bytes, asker);
}

void sj__copy_check_read(const void *from, size_t bytes, struct sj_asker asker)
{
    if (sj_copy_checks_read(from) && sj_unlikely(sj__copy_room(from, bytes) < bytes))
        stop(SJ_COPY_OVERREAD, from, bytes, asker);
}

/* Large blocks, and what is not good. */
SJ_NOINLINE static void *move_judged(void *to, const void *from, size_t bytes, struct sj_asker asker)
{
    sj__copy_check_write(to, bytes, asker);
    sj__copy_check_read(from, bytes, asker);
    return sj__sealed.copies.memmove(to, from, bytes);
}

SJ_NOINLINE static void *set_judged(void *to, int byte, size_t bytes, struct sj_asker asker)
{
    sj__copy_check_write(to, bytes, asker);
    return sj__sealed.copies.memset(to, byte, bytes);
}

/* Are `bytes` bytes from `pointer`, which lies in the window at `base`, a small object's? False, too, if they are a large one's. What
 * stays within one step of the ends of objects crosses none: as in sj_copy_fits_slot, but canaries make the step shorter. */
SJ_ALWAYS_INLINE bool fits_object(const void *pointer, uintptr_t base, size_t bytes)
{
    if (bytes <= -((uintptr_t)pointer | sj__sealed.copies.ends_mask))
        return true;
    struct sj_span *span = sj_window_lookup(((uintptr_t)pointer - base) >> SJ_GRANULE_SHIFT);
    const struct sj_slab *slab = (const struct sj_slab *)(const void *)span;
    if (sj_unlikely(sj_peek_u32(&span->kind) != SJ_SPAN_SLAB))
        return false;
    size_t room = sj_copy_slot_room(slab, pointer, slab->slots);
    size_t slot = sj_slot_of(slab->reciprocal, (size_t)((const char *)pointer - slab->base));
    return bytes <= room && room - bytes >= sj_tail_bytes(slab, slot);
}

SJ_ALWAYS_INLINE bool write_fits(const void *to, size_t bytes)
{
    return !sj_copy_checks_write(to) || sj_likely(fits_object(to, sj__sealed.copies.write_base, bytes));
}

SJ_ALWAYS_INLINE bool read_fits(const void *from, size_t bytes)
{
    return !sj_copy_checks_read(from) || sj_likely(fits_object(from, sj__sealed.copies.read_base, bytes));
}

/* No call but the last, as in the header. */
void *sj__copy_move(void *to, const void *from, size_t bytes, struct sj_asker asker)
{
    if (!write_fits(to, bytes) || !read_fits(from, bytes))
        return move_judged(to, from, bytes, asker);
    return sj__sealed.copies.memmove(to, from, bytes);
}

void *sj__copy_set(void *to, int byte, size_t bytes, struct sj_asker asker)
{
    if (!write_fits(to, bytes))
        return set_judged(to, byte, bytes, asker);
    return sj__sealed.copies.memset(to, byte, bytes);
}

size_t sj__copy_length(const char *from, size_t bytes, struct sj_asker asker)
{
    size_t room = sj_copy_checks_read(from) ? sj__copy_room(from, 0) : SJ_COPY_UNBOUNDED;
    if (room >= bytes)
        return bytes == SJ_COPY_UNBOUNDED ? strlen(from) : strnlen(from, bytes);
    size_t length = strnlen(from, room);
    if (length == room) {
        sj__copy_check_read(from, room + 1, asker);
        return strnlen(from, bytes);
    }
    return length;
}

size_t sj__copy_wide_length(const wchar_t *from, size_t count, struct sj_asker asker)
{
    size_t room = sj_copy_checks_read(from) ? sj__copy_room(from, 0) : SJ_COPY_UNBOUNDED;
    if (room == SJ_COPY_UNBOUNDED || room / sizeof *from >= count)
        return count == SJ_COPY_UNBOUNDED ? wcslen(from) : wcsnlen(from, count);
    size_t length = wcsnlen(from, room / sizeof *from);
    if (length == room / sizeof *from) {
        sj__copy_check_read(from, room + 1, asker);
        return wcsnlen(from, count);
    }
    return length;
}
