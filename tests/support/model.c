/* SPDX-License-Identifier: MIT */
/*
 * What: the interpreter of the stream, and the oracle.
 * Why this way: the oracle is an array that is searched from end to end: slow, and too simple to be wrong.
 */
#include "support/model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { QUICK_FROM_BYTES = 65536, PAGE_BYTES = 4096, SIZE_BITS = 24, COMMON_BITS = 16, ALIGNMENTS = 17 };

/* One record, decoded. */
struct record {
    enum model_op op;
    size_t alignment;
    size_t slot;
    size_t size_bytes;
    uint32_t code;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct model *model, const char *format, ...)
{
    if (model->failure[0] == '\0') {
        int length = snprintf(model->failure, sizeof model->failure, "operation %zu: ", model->operations);
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(model->failure + length, sizeof model->failure - (size_t)length, format, arguments);
        va_end(arguments);
    }
    return false;
}

static struct record decode(const unsigned char *at)
{
    uint32_t code = (uint32_t)at[4] | (uint32_t)at[5] << 8 | (uint32_t)at[6] << 16 | (uint32_t)at[7] << 24;
    uint32_t bits = (code >> 27) % SIZE_BITS;
    if (bits > COMMON_BITS && (code >> 24 & 7) != 0)
        bits -= COMMON_BITS - 4; /* most of the large ones become small: they cost too much time */
    return (struct record){
        .op = (enum model_op)(at[0] % MODEL_OP_COUNT),
        .alignment = (size_t)1 << at[1] % ALIGNMENTS,
        .slot = ((size_t)at[2] | (size_t)at[3] << 8) % MODEL_SLOTS,
        .size_bytes = code & (((uint32_t)1 << bits) - 1),
        .code = code,
    };
}

/* The byte a block with this pattern has at this offset. */
static unsigned char pattern_byte(uint64_t pattern, size_t offset)
{
    return (unsigned char)((pattern * 0x9e3779b97f4a7c15ull + offset * 0xff51afd7ed558ccdull) >> 56 | 1);
}

/* The next offset to look at: each byte, or for large blocks in quick mode a few in each page and the last ones. */
static size_t next_offset(const struct model *model, size_t offset, size_t size)
{
    if (!model->quick || size < QUICK_FROM_BYTES || size - offset <= 64 || offset < 64)
        return offset + 1;
    size_t in_page = offset % PAGE_BYTES;
    size_t next = in_page < 8 ? offset + 1 : offset - in_page + (in_page < 2040 ? 2040 : PAGE_BYTES);
    if (in_page >= 2040 && in_page < 2048)
        next = offset + 1;
    return next < size - 64 ? next : size - 64;
}

static void fill(struct model *model, struct model_block *block)
{
    block->pattern = ++model->next_pattern;
    for (size_t i = 0; i < block->usable_bytes; i = next_offset(model, i, block->usable_bytes))
        block->bytes[i] = pattern_byte(block->pattern, i);
}

/* `size` decides which offsets were filled; the first `bytes` of them are checked. */
static bool check_pattern(struct model *model, const unsigned char *at, uint64_t pattern, size_t size, size_t bytes)
{
    for (size_t i = 0; i < bytes; i = next_offset(model, i, size))
        if (at[i] != pattern_byte(pattern, i))
            return fail(model, "%p of %zu bytes has 0x%02x at %zu, was 0x%02x", (const void *)at, size, at[i], i,
                        pattern_byte(pattern, i));
    return true;
}

static bool check_zero(struct model *model, const unsigned char *at, size_t from, size_t to, const char *what)
{
    for (size_t i = from; i < to; i = next_offset(model, i, to))
        if (at[i] != 0)
            return fail(model, "%s: %p has 0x%02x at %zu of %zu, not zero", what, (const void *)at, at[i], i, to);
    return true;
}

bool model_check_block(struct model *model, const struct model_block *block)
{
    if (block->bytes == NULL)
        return true;
    size_t usable = model->calls->usable_size(block->bytes);
    if (usable != block->usable_bytes)
        return fail(model, "usable size of %p changed from %zu to %zu", (void *)block->bytes, block->usable_bytes,
                    usable);
    return check_pattern(model, block->bytes, block->pattern, usable, usable);
}

static bool check_overlap(struct model *model, const unsigned char *bytes, size_t usable, size_t own_slot)
{
    uintptr_t start = (uintptr_t)bytes, end = start + (usable != 0 ? usable : 1);
    for (size_t slot = 0; slot < MODEL_SLOTS; slot++) {
        const struct model_block *other = &model->blocks[slot];
        if (other->bytes == NULL || slot == own_slot)
            continue;
        uintptr_t other_start = (uintptr_t)other->bytes;
        uintptr_t other_end = other_start + (other->usable_bytes != 0 ? other->usable_bytes : 1);
        if (start < other_end && other_start < end)
            return fail(model, "new block %p of %zu overlaps live %p of %zu", (const void *)bytes, usable,
                        (void *)other->bytes, other->usable_bytes);
    }
    return true;
}

/* Takes a new block into the oracle. `kept` bytes at its start are not to be looked at: the caller has. */
static bool adopt(struct model *model, const struct record *record, void *bytes, size_t size, size_t alignment,
                  size_t kept, bool zeroed)
{
    struct model_block *block = &model->blocks[record->slot];
    if (bytes == NULL)
        return fail(model, "no memory for %zu bytes (%d)", size, errno);
    size_t usable = model->calls->usable_size(bytes);
    if (usable < size)
        return fail(model, "usable size %zu of a request of %zu", usable, size);
    size_t natural = size >= 16 || size == 0 ? 16 : 8;
    if ((uintptr_t)bytes % (alignment > natural ? alignment : natural) != 0)
        return fail(model, "%p of %zu bytes is not aligned to %zu", bytes, size, alignment);
    if (!check_overlap(model, bytes, usable, record->slot))
        return false;
    if (zeroed && !check_zero(model, bytes, kept, size, "calloc"))
        return false;
    if (model->clean && !check_zero(model, bytes, kept, usable, "stale"))
        return false;
    *block = (struct model_block){ .bytes = bytes, .size_bytes = size, .usable_bytes = usable, .alignment = alignment };
    model->live_bytes += usable;
    fill(model, block);
    return true;
}

static bool release(struct model *model, size_t slot, bool sized)
{
    struct model_block block = model->blocks[slot];
    if (block.bytes == NULL)
        return true;
    if (!model_check_block(model, &block))
        return false;
    model->blocks[slot].bytes = NULL;
    model->live_bytes -= block.usable_bytes;
    errno = 4711;
    if (sized && block.alignment != 0 && model->calls->free_aligned_sized != NULL)
        model->calls->free_aligned_sized(block.bytes, block.alignment, block.size_bytes);
    else if (sized && block.alignment == 0 && model->calls->free_sized != NULL)
        model->calls->free_sized(block.bytes, block.size_bytes);
    else
        model->calls->free(block.bytes);
    return errno == 4711 || fail(model, "free changed errno to %d", errno);
}

static bool resize(struct model *model, const struct record *record)
{
    struct model_block old = model->blocks[record->slot];
    size_t size = record->size_bytes;
    if (old.bytes != NULL && !model_check_block(model, &old))
        return false;
    if (size == 0 && old.bytes != NULL)
        size = 1; /* realloc(p, 0) frees; it has tests of its own */
    model->live_bytes -= old.bytes != NULL ? old.usable_bytes : 0;
    void *bytes = record->op == MODEL_REALLOC ? model->calls->realloc(old.bytes, size)
                                              : model->calls->reallocarray(old.bytes, size, 1);
    size_t kept = 0;
    if (bytes != NULL && old.bytes != NULL) {
        size_t usable = model->calls->usable_size(bytes);
        kept = old.usable_bytes < usable ? old.usable_bytes : usable;
        /* What was usable is kept as far as the new request goes; behind that, anything of the block's own may be. */
        if (!check_pattern(model, bytes, old.pattern, old.usable_bytes, kept < size ? kept : size))
            return false;
    }
    return adopt(model, record, bytes, size, 0, kept, false);
}

static bool make_aligned(struct model *model, const struct record *record)
{
    void *bytes = NULL;
    size_t alignment = record->alignment;
    if (record->op == MODEL_ALIGNED_ALLOC) {
        bytes = model->calls->aligned_alloc(alignment, record->size_bytes);
    } else if (record->op == MODEL_MEMALIGN) {
        bytes = model->calls->memalign(alignment, record->size_bytes);
    } else {
        alignment = alignment < sizeof(void *) ? sizeof(void *) : alignment;
        int error = model->calls->posix_memalign(&bytes, alignment, record->size_bytes);
        if (error != 0)
            return fail(model, "posix_memalign(%zu, %zu) answers %d", alignment, record->size_bytes, error);
    }
    return adopt(model, record, bytes, record->size_bytes, alignment, 0, false);
}

static bool try_impossible(struct model *model, const struct record *record)
{
    const struct model_calls *calls = model->calls;
    size_t huge = SIZE_MAX - record->size_bytes;
    struct model_block *block = &model->blocks[record->slot];
    void *untouched = block;
    errno = 0;
    if (calls->malloc(huge) != NULL || errno != ENOMEM)
        return fail(model, "malloc(%zu) did not fail with ENOMEM", huge);
    errno = 0;
    if (calls->calloc(huge / 2, 3) != NULL || errno != ENOMEM)
        return fail(model, "calloc(%zu, 3) did not fail with ENOMEM", huge / 2);
    errno = 0;
    if (block->bytes != NULL && (calls->realloc(block->bytes, huge) != NULL || errno != ENOMEM))
        return fail(model, "realloc to %zu did not fail with ENOMEM", huge);
    if (calls->posix_memalign(&untouched, 64, huge) != ENOMEM || untouched != block)
        return fail(model, "posix_memalign(64, %zu) did not fail, or touched the pointer", huge);
    return model_check_block(model, block);
}

static bool allocate(struct model *model, const struct record *record)
{
    if (record->op == MODEL_REALLOC || record->op == MODEL_REALLOCARRAY)
        return resize(model, record);
    if (!release(model, record->slot, false))
        return false;
    switch (record->op) {
    case MODEL_MALLOC:
    case MODEL_MALLOC_AGAIN: {
        void *bytes = model->calls->malloc(record->size_bytes);
        return adopt(model, record, bytes, record->size_bytes, 0, 0, false);
    }
    case MODEL_CALLOC: {
        size_t width = record->code % 7 + 1;
        size_t size = record->size_bytes / width * width;
        return adopt(model, record, model->calls->calloc(size / width, width), size, 0, 0, true);
    }
    default: return make_aligned(model, record);
    }
}

static bool step(struct model *model, const struct record *record)
{
    switch (record->op) {
    case MODEL_FREE:
    case MODEL_FREE_AGAIN: return release(model, record->slot, false);
    case MODEL_FREE_SIZED: return release(model, record->slot, true);
    case MODEL_CHECK: return model_check_block(model, &model->blocks[record->slot]);
    case MODEL_FREE_RANGE:
        for (size_t i = 0; i < record->code % 64; i++)
            if (!release(model, (record->slot + i) % MODEL_SLOTS, false))
                return false;
        return true;
    case MODEL_TRIM:
        if (model->calls->trim != NULL && record->code % 64 == 0)
            model->calls->trim(0);
        return true;
    case MODEL_IMPOSSIBLE: return try_impossible(model, record);
    default:
        if (model->live_bytes + record->size_bytes + record->alignment > model->limit_bytes)
            return release(model, record->slot, false);
        return allocate(model, record);
    }
}

void model_start(struct model *model, const struct model_calls *calls, bool clean)
{
    memset(model, 0, sizeof *model);
    model->calls = calls;
    model->clean = clean;
    model->quick = true;
    model->limit_bytes = (size_t)64 << 20;
}

bool model_run(struct model *model, const unsigned char *stream, size_t bytes)
{
    for (size_t at = 0; at + MODEL_RECORD_BYTES <= bytes; at += MODEL_RECORD_BYTES) {
        struct record record = decode(stream + at);
        model->operations++;
        if (!step(model, &record))
            return false;
    }
    return true;
}

bool model_finish(struct model *model)
{
    if (model->failure[0] != '\0')
        return false;
    for (size_t slot = 0; slot < MODEL_SLOTS; slot++)
        if (!release(model, slot, slot % 2 != 0))
            return false;
    return true;
}

struct model_block model_take(struct model *model, size_t slot)
{
    struct model_block block = model->blocks[slot % MODEL_SLOTS];
    if (block.bytes != NULL)
        model->live_bytes -= block.usable_bytes;
    model->blocks[slot % MODEL_SLOTS].bytes = NULL;
    return block;
}

bool model_put(struct model *model, size_t slot, struct model_block block)
{
    struct model_block *place = &model->blocks[slot % MODEL_SLOTS];
    if (place->bytes != NULL || block.bytes == NULL)
        return false;
    *place = block;
    model->live_bytes += block.usable_bytes;
    return true;
}

void model_random_stream(uint64_t seed, unsigned char *stream, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++) {
        if (at % 8 == 0) {
            seed += 0x9e3779b97f4a7c15ull;
        }
        uint64_t z = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        stream[at] = (unsigned char)((z ^ (z >> 31)) >> (at % 8 * 8));
    }
}

void model_print(const unsigned char *stream, size_t bytes, size_t records, void (*print)(const char *line))
{
    static const char *const names[MODEL_OP_COUNT] = {
        "malloc",         "malloc",   "free",       "free",  "calloc",     "realloc", "reallocarray", "aligned_alloc",
        "posix_memalign", "memalign", "free_sized", "check", "free_range", "trim",    "impossible",
    };
    for (size_t at = 0; at + MODEL_RECORD_BYTES <= bytes && records-- > 0; at += MODEL_RECORD_BYTES) {
        struct record record = decode(stream + at);
        char line[128];
        snprintf(line, sizeof line, "%-15s slot %3zu size %8zu alignment %zu code %u", names[record.op], record.slot,
                 record.size_bytes, record.alignment, record.code);
        print(line);
    }
}
