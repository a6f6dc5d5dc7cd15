/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see fill.h.
 */
#include "guard/fill.h"

#include "platform/cpu.h"

enum { STEP_BYTES = 128 };

static bool holds_baseline(const char *at, const char *end, uint64_t eight)
{
    const sj_fill_vector expected = { eight, eight };
    sj_fill_vector any = { 0, 0 };
    for (; at < end; at += sizeof any)
        any |= *(const sj_fill_vector *)(const void *)at ^ expected;
    return (any[0] | any[1]) == 0;
}

/* Slots are aligned to 16 bytes only, so the loads are unaligned ones. */
typedef uint64_t loose32 __attribute__((vector_size(32), may_alias, aligned(16)));

SJ_CPU_AVX2 static bool holds_avx2(const char *at, const char *end, uint64_t eight)
{
    const loose32 expected = { eight, eight, eight, eight };
    for (; at + STEP_BYTES <= end; at += STEP_BYTES) {
        const loose32 *four = (const loose32 *)(const void *)at;
        const sj_vector32 changed[2] = { (four[0] ^ expected) | (four[1] ^ expected),
                                         (four[2] ^ expected) | (four[3] ^ expected) };
        if (!sj_cpu_pair_is_zero(changed))
            return false;
    }
    return holds_baseline(at, end, eight);
}

bool sj__fill_holds(const void *start, size_t bytes, uint8_t value)
{
    const char *at = start;
    const uint64_t eight = value * UINT64_C(0x0101010101010101);
    return sj_likely(sj_cpu_has_avx2()) ? holds_avx2(at, at + bytes, eight) : holds_baseline(at, at + bytes, eight);
}

size_t sj__fill_first_changed(const void *start, size_t bytes, uint8_t value)
{
    const uint8_t *at = start;
    size_t offset = 0;
    while (offset < bytes && at[offset] == value)
        offset++;
    return offset;
}
