/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see canary.h.
 */
#include "guard/canary.h"

uint64_t sj__canary_secret;

void sj__canary_start(uint64_t random)
{
    sj__canary_secret = (random & ~UINT64_C(0xff00)) | 1;
}

uint8_t sj__canary_byte(const void *block, size_t offset)
{
    return (uint8_t)(sj_canary_of(block) >> (offset % sizeof(uint64_t) * 8));
}

void sj__canary_set(char *tail, size_t bytes, const void *block)
{
    uint64_t value = sj_canary_of(block);
    size_t at = 0;
    for (; at + sizeof value <= bytes; at += sizeof value)
        *(sj_canary_word *)(void *)(tail + at) = value;
    for (; at < bytes; at++)
        tail[at] = (char)sj__canary_byte(block, at);
}

size_t sj__canary_first_changed(const char *tail, size_t bytes, const void *block)
{
    uint64_t value = sj_canary_of(block);
    size_t at = 0;
    while (at + sizeof value <= bytes && *(const sj_canary_word *)(const void *)(tail + at) == value)
        at += sizeof value;
    while (at < bytes && (uint8_t)tail[at] == sj__canary_byte(block, at))
        at++;
    return at;
}
