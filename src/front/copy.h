/* SPDX-License-Identifier: MIT
 *
 * What: the checks of the copy functions: does a copy stay inside the block it writes to, or reads from?
 *
 * Why this way: a copy has both ends of a write in hand before it writes, which no other place has, so an overflow by
 * copying is stopped with nothing overwritten. The block is found as in free: one subtraction and compare tell what is
 * not ours (stack, globals, other mappings), which passes; then the map, the record, a multiplication for the slot. A
 * slot's end is the bound, or where its canary begins. The slot's live and remote bits are read too: a copy into a freed block is a use after free.
 * Large blocks have a guard page behind them, so a small copy that runs off their end is stopped by that; only as much is
 * walked back to find the start of a large block as the copy itself is long (one granule for each 512 bytes). Where that is
 * not enough the granules that the copy reaches are looked at: one that names something is not the block's any more.
 *
 * Invariants: a check that passes has changed nothing. No thread-local data, no lock, no errno, no allocation: these
 * functions run before a static program has thread-local storage.
 *
 * Concurrency: any thread, any signal handler. What the program holds legitimately can't be judged wrong: its live bit
 * was set before the pointer was handed out.
 */
#ifndef SJ_FRONT_COPY_H
#define SJ_FRONT_COPY_H

#include "front/entry.h"
#include "front/judge.h"

/* A copy of this length can't be refused because of what is not known. */
#define SJ_COPY_UNBOUNDED SIZE_MAX

/* Who copies: see struct sj_asker. The return address is the exported function's, so this stands in these only. */
#define SJ_COPY_ASKER(name) ((struct sj_asker){ .function = (name), .caller = __builtin_return_address(0) })

SJ_ALWAYS_INLINE bool sj_copy_checks_write(const void *to)
{
    return (uintptr_t)to - sj__sealed.copies.write_base < sj_peek_size(&sj__window_limit_bytes);
}

/* Two instructions, where the next has four: nearly all copies are made with reads not judged. */
SJ_ALWAYS_INLINE bool sj_copy_judges_reads(void)
{
    return sj__sealed.copies.read_base < SJ_COPIES_NOWHERE;
}

SJ_ALWAYS_INLINE bool sj_copy_checks_read(const void *from)
{
    return (uintptr_t)from - sj__sealed.copies.read_base < sj_peek_size(&sj__window_limit_bytes);
}

/* How many bytes there are from `pointer`, which lies in the slab, to the end of its slot; 0 if that is not live, or none of
 * the first `slots`. */
SJ_ALWAYS_INLINE size_t sj_copy_slot_room(const struct sj_slab *slab, const void *pointer, size_t slots)
{
    size_t offset = (size_t)((const char *)pointer - slab->base);
    size_t slot;
    (void)sj_slot_exact(slab->reciprocal, offset, &slot); /* the inside of a slot is good too */
    if (sj_unlikely(slot >= slots))                       /* also before the first slot, where the offset wraps */
        return 0;
    size_t word_index = slot / SJ_WORD_BITS;
    uint64_t bit = (uint64_t)1 << (slot % SJ_WORD_BITS);
    /* Two branches: one on both words together is fewer instructions, and waits for the later word. */
    if (sj_unlikely(!sj_word_has(&slab->planes[word_index].live, bit)))
        return 0;
    if (sj_unlikely(sj_word_has(&slab->remote->bits[word_index].value, bit)))
        return 0;
    return (slot + 1) * slab->slot_bytes - offset;
}

/* Do `bytes` bytes from `to`, where writes are checked, fit the slot they lie in? False for large blocks too, and for slots
 * with canaries, which begin before the slot's end. What stays
 * within one step of the size classes, as most tiny copies do, crosses no slot's end, and nothing need be looked up. */
SJ_ALWAYS_INLINE bool sj_copy_fits_slot(const void *to, size_t bytes)
{
    if (bytes <= -((uintptr_t)to | -(uintptr_t)SJ_SMALL_STEP_BYTES))
        return true;
    struct sj_span *span = sj_window_lookup(((uintptr_t)to - sj__sealed.copies.write_base) >> SJ_GRANULE_SHIFT);
    struct sj_slab *slab = (struct sj_slab *)(void *)span;
    return sj_peek_u32(&span->kind) == SJ_SPAN_SLAB && sj_copy_slot_room(slab, to, slab->plain_slots) >= bytes;
}

/* How many bytes there are from `pointer`, which lies in the window, to the end of its block, small or large; 0 if it is
 * not live, SJ_COPY_UNBOUNDED if that would take longer to find out than to copy `bytes`. */
size_t sj__copy_room(const void *pointer, size_t bytes);

/* Checks a copy of `bytes` bytes, and reports it if need be. Returns if it is good. */
void sj__copy_check_write(const void *to, size_t bytes, struct sj_asker asker);
void sj__copy_check_read(const void *from, size_t bytes, struct sj_asker asker);

/* What fits no slot, or where reads are judged: checks it, reports, or copies. */
void *sj__copy_move(void *to, const void *from, size_t bytes, struct sj_asker asker);
void *sj__copy_set(void *to, int byte, size_t bytes, struct sj_asker asker);

/* Copies, with both checks. No call but the last, and few registers, so that nothing has to be saved. */
SJ_ALWAYS_INLINE void *sj_copy_move(void *to, const void *from, size_t bytes, struct sj_asker asker)
{
    if (sj_unlikely(sj_copy_judges_reads()) || (sj_copy_checks_write(to) && sj_unlikely(!sj_copy_fits_slot(to, bytes))))
        return sj__copy_move(to, from, bytes, asker);
    return sj__sealed.copies.memmove(to, from, bytes);
}

SJ_ALWAYS_INLINE void *sj_copy_set(void *to, int byte, size_t bytes, struct sj_asker asker)
{
    if (sj_copy_checks_write(to) && sj_unlikely(!sj_copy_fits_slot(to, bytes)))
        return sj__copy_set(to, byte, bytes, asker);
    return sj__sealed.copies.memset(to, byte, bytes);
}

/* Is there anything to check about a copy from `from` to `to`? If not, libc's own function does it all. */
SJ_ALWAYS_INLINE bool sj_copy_concerns(const void *to, const void *from)
{
    return sj_copy_checks_write(to) || sj_copy_checks_read(from);
}

/* The length of a string of which at most `bytes` bytes are looked at; an unterminated block is reported. */
size_t sj__copy_length(const char *from, size_t bytes, struct sj_asker asker);
/* The same for wide characters, which `count` counts. */
size_t sj__copy_wide_length(const wchar_t *from, size_t count, struct sj_asker asker);

#endif
