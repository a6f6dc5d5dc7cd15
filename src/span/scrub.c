/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see scrub.h.
 */
#include "span/scrub.h"

#include "platform/cpu.h"

enum { LINE_BYTES = 64, FOUR_LINES_BYTES = 4 * LINE_BYTES };

/* One line: read it, and write zeros only if there is anything to overwrite. */
SJ_ALWAYS_INLINE void scrub_line_baseline(sj_vector16 *line)
{
    sj_vector16 any = line[0] | line[1] | line[2] | line[3];
    if ((any[0] | any[1]) != 0)
        line[0] = line[1] = line[2] = line[3] = (sj_vector16){ 0, 0 };
}

/* The bytes before the first whole line and behind the last: they are in slots' first and last lines, which are nearly
 * always written. */
SJ_ALWAYS_INLINE char *scrub_edge(char *at, char *end)
{
    for (; at < end; at += sizeof(sj_vector16))
        *(sj_vector16 *)(void *)at = (sj_vector16){ 0, 0 };
    return at;
}

SJ_ALWAYS_INLINE char *first_line(char *start, char *end)
{
    char *line = (char *)(((uintptr_t)start + LINE_BYTES - 1) & ~(uintptr_t)(LINE_BYTES - 1));
    return line < end ? line : end;
}

static void scrub_baseline(char *at, char *end)
{
    at = scrub_edge(at, first_line(at, end));
    for (; at + LINE_BYTES <= end; at += LINE_BYTES)
        scrub_line_baseline((sj_vector16 *)(void *)at);
    (void)scrub_edge(at, end);
}

SJ_CPU_AVX2 SJ_ALWAYS_INLINE void scrub_line_avx2(sj_vector32 *line)
{
    if (!sj_cpu_pair_is_zero(line))
        line[0] = line[1] = (sj_vector32){ 0, 0, 0, 0 };
}

SJ_CPU_AVX2 static void scrub_avx2(char *at, char *end)
{
    at = scrub_edge(at, first_line(at, end));
    for (; at + FOUR_LINES_BYTES <= end; at += FOUR_LINES_BYTES) {
        sj_vector32 *lines = (sj_vector32 *)(void *)at;
        if (sj_cpu_eight_are_zero(lines))
            continue;
        for (unsigned line = 0; line < 4; line++)
            scrub_line_avx2(lines + 2 * line);
    }
    for (; at + LINE_BYTES <= end; at += LINE_BYTES)
        scrub_line_avx2((sj_vector32 *)(void *)at);
    (void)scrub_edge(at, end);
}

void sj__scrub_bytes(void *start, size_t bytes)
{
    char *at = start;
    if (sj_likely(sj_cpu_has_avx2()))
        scrub_avx2(at, at + bytes);
    else
        scrub_baseline(at, at + bytes);
}
