/* SPDX-License-Identifier: MIT
 *
 * What: canaries: bytes behind an object that nobody may write, and that are looked at when it is freed or resized.
 *
 *     object ......|0zssssss 0zssssss 0zs|     the value, as often as it takes, from the object's end on:
 *                                              s of the value, 0 the byte that is never zero, z the one that always is
 *
 * Why this way: the value is a number of the process that nobody can know, mixed from its third byte on with the object's
 * address, so that bytes copied from another canary do not do. Its first byte is never zero, so that a string's terminator that is written one byte
 * past the end is seen; its second is zero, so that a string that is read past the end stops there (doc/adr/0092). Up to 16
 * bytes are two words, which meet or overlap, without a loop.
 *
 * Invariants: the canary of an object is a function of its address and its length. Memory is little-endian.
 *
 * Concurrency: the bytes are the object's, and so whoever holds it reads and writes them.
 */
#ifndef SJ_GUARD_CANARY_H
#define SJ_GUARD_CANARY_H

#include "base/compiler.h"
#include "policy/policy.h"

enum {
    SJ_CANARY_BYTES = 8,       /* of a small object at least */
    SJ_CANARY_SHORT_BYTES = 16 /* up to here inline */
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "two words of a canary may overlap");

typedef uint64_t sj_canary_word __attribute__((may_alias, aligned(1)));

/* Made once at start, whatever the policy: it may be raised. */
extern SJ_HIDDEN uint64_t sj__canary_secret;
void sj__canary_start(uint64_t random);

/* Bytes that a small object is given beyond those asked for. */
SJ_ALWAYS_INLINE size_t sj_canary_least(const struct sj_policy *policy)
{
    return policy->canary != SJ_CANARY_OFF ? SJ_CANARY_BYTES : 0;
}

/* Of an object at a multiple of 16: the secret's lowest bit is 1, and its second byte and the address shifted have 0 there. */
SJ_ALWAYS_INLINE uint64_t sj_canary_of(const void *block)
{
    return sj__canary_secret ^ (uint64_t)(uintptr_t)block << 16;
}

/* The last word of `bytes` bytes. */
SJ_ALWAYS_INLINE uint64_t sj_canary_end(uint64_t value, size_t bytes)
{
    unsigned turn = (unsigned)(bytes % sizeof value) * 8;
    return value >> turn | value << (-turn & 63);
}

/* Writes the canary of `block`: the SJ_CANARY_BYTES to SJ_CANARY_SHORT_BYTES bytes at `tail`. */
SJ_ALWAYS_INLINE void sj_canary_set_short(char *tail, size_t bytes, const void *block)
{
    uint64_t value = sj_canary_of(block);
    *(sj_canary_word *)(void *)tail = value;
    *(sj_canary_word *)(void *)(tail + bytes - sizeof value) = sj_canary_end(value, bytes);
}

SJ_ALWAYS_INLINE bool sj_canary_holds_short(const char *tail, size_t bytes, const void *block)
{
    uint64_t value = sj_canary_of(block);
    uint64_t front = *(const sj_canary_word *)(const void *)tail;
    uint64_t back = *(const sj_canary_word *)(const void *)(tail + bytes - sizeof value);
    return ((front ^ value) | (back ^ sj_canary_end(value, bytes))) == 0;
}

/* The same for any number of bytes; the second tells the offset of the first that has changed, or `bytes` if none has. */
void sj__canary_set(char *tail, size_t bytes, const void *block);
size_t sj__canary_first_changed(const char *tail, size_t bytes, const void *block);

/* The byte at this offset of the canary of `block`. */
uint8_t sj__canary_byte(const void *block, size_t offset);

#endif
