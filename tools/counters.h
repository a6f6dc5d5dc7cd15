/* SPDX-License-Identifier: MIT
 *
 * What: the counters of struct sj_stats by name, and numbers as people read them.
 *
 * Why this way: one table for `stat` and `top`, in text and in JSON, so that a figure has one name.
 *
 * Invariants: names are unique, and those of scrubjay.h.
 *
 * Concurrency: constants and pure functions.
 */
#ifndef SJ_TOOLS_COUNTERS_H
#define SJ_TOOLS_COUNTERS_H

#include "base/compiler.h"
#include "scrubjay.h"

enum sj_counter_unit { SJ_UNIT_COUNT, SJ_UNIT_BYTES, SJ_UNIT_BYTE_MS };

struct sj_counter {
    const char *name;
    const char *topic; /* a line of the text */
    const char *label; /* within the topic */
    uint16_t offset;
    uint8_t unit; /* enum sj_counter_unit */
};

extern const struct sj_counter sj__counters[];
extern const size_t sj__counters_count;

uint64_t sj__counter_read(const struct sj_counter *counter, const struct sj_stats *stats);

enum { SJ_AMOUNT_BYTES = 32 };

/* "12.3 MiB", "45,678", "1.2 MiB s"; returns the buffer. */
const char *sj__counter_text(enum sj_counter_unit unit, uint64_t value, char buffer[SJ_AMOUNT_BYTES]);

#endif
