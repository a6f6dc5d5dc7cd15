/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see plain.h.
 */
#include "base/plain.h"

enum { BLOCK_BYTES = 16 };

typedef uint8_t block __attribute__((vector_size(BLOCK_BYTES), may_alias, aligned(1)));
typedef uint64_t word __attribute__((may_alias, aligned(1)));

static block load(const char *from)
{
    return *(const block *)(const void *)from;
}

static void store(char *to, block value)
{
    *(block *)(void *)to = value;
}

/* Everything is loaded before anything is stored, so overlap does not matter. */
static void move_below_block(char *to, const char *from, size_t bytes)
{
    if (bytes >= sizeof(word)) {
        const word first = *(const word *)(const void *)from;
        const word last = *(const word *)(const void *)(from + bytes - sizeof(word));
        *(word *)(void *)to = first;
        *(word *)(void *)(to + bytes - sizeof(word)) = last;
        return;
    }
    char held[sizeof(word)];
    for (size_t i = 0; i < bytes; i++)
        held[i] = from[i];
    for (size_t i = 0; i < bytes; i++)
        to[i] = held[i];
}

void *sj__plain_move(void *to_start, const void *from_start, size_t bytes)
{
    char *to = to_start;
    const char *from = from_start;
    if (bytes < BLOCK_BYTES) {
        move_below_block(to, from, bytes);
    } else if ((uintptr_t)to - (uintptr_t)from >= bytes) { /* the target does not begin inside the source: upwards */
        const block last = load(from + bytes - BLOCK_BYTES);
        for (size_t at = 0; at < bytes - BLOCK_BYTES; at += BLOCK_BYTES)
            store(to + at, load(from + at));
        store(to + bytes - BLOCK_BYTES, last);
    } else {
        const block first = load(from);
        for (size_t at = bytes - BLOCK_BYTES; at > 0; at = at > BLOCK_BYTES ? at - BLOCK_BYTES : 0)
            store(to + at, load(from + at));
        store(to, first);
    }
    return to_start;
}

void *sj__plain_set(void *to_start, int byte, size_t bytes)
{
    char *to = to_start;
    if (bytes < BLOCK_BYTES) {
        for (size_t i = 0; i < bytes; i++)
            to[i] = (char)byte;
        return to_start;
    }
    block value = { 0 };
    value += (uint8_t)byte;
    for (size_t at = 0; at < bytes - BLOCK_BYTES; at += BLOCK_BYTES)
        store(to + at, value);
    store(to + bytes - BLOCK_BYTES, value);
    return to_start;
}

SJ_WEAK void *sj__own_move(void *to, const void *from, size_t bytes)
{
    return sj__plain_move(to, from, bytes);
}

SJ_WEAK void *sj__own_set(void *to, int byte, size_t bytes)
{
    return sj__plain_set(to, byte, bytes);
}
