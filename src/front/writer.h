/* SPDX-License-Identifier: MIT
 *
 * What: named numbers, in topics, written as lines of text, as one JSON object, as OpenMetrics, or looked up by name.
 *
 * Why this way: whoever lists the numbers lists them once, and they have the same names everywhere:
 *
 *     text         scrubjay: stats calls: allocated=12
 *     JSON         {"calls":{"allocated":12
 *     OpenMetrics  # TYPE scrubjay_calls_allocated counter
 *                  scrubjay_calls_allocated_total 12
 *     by name      calls.allocated
 *
 * Invariants: names are of lower case letters, digits and _. Allocates nothing.
 *
 * Concurrency: one thread a writer.
 */
#ifndef SJ_FRONT_WRITER_H
#define SJ_FRONT_WRITER_H

#include "base/format.h"

enum sj_form { SJ_FORM_TEXT, SJ_FORM_JSON, SJ_FORM_OPENMETRICS, SJ_FORM_LOOKUP };

/* What a topic is about, if there are several of its kind; made of safe characters. */
struct sj_item {
    const char *label; /* NULL: nothing */
    const char *value; /* "" is said as (none) */
};

enum { SJ_ITEMS = 2 };

struct sj_writer {
    struct sj_text text;
    enum sj_form form;
    const char *topic; /* begun last; NULL before the first */
    struct sj_item items[SJ_ITEMS];
    const char *unit;   /* of its parts */
    const char *family; /* OpenMetrics: the topic whose parts have been typed */
    bool has_field;     /* in it */
    const char *wanted; /* LOOKUP: "topic.name" */
};

/* Begins to write into a buffer. `wanted` is for LOOKUP, whose text is the number, or empty. */
void sj__writer_start(struct sj_writer *writer, enum sj_form form, char *buffer, size_t bytes, const char *wanted);

void sj__writer_topic(struct sj_writer *writer, const char *topic);

/* One of several topics of a kind, one right after the other: TOPIC.VALUE.VALUE; in OpenMetrics its parts have a label each more. */
void sj__writer_topic_of(struct sj_writer *writer, const char *topic, const char *unit,
                         const struct sj_item items[SJ_ITEMS]);

/* A number that goes up and down, and one that only grows while the process lives. */
void sj__writer_gauge(struct sj_writer *writer, const char *name, uint64_t value);
void sj__writer_counter(struct sj_writer *writer, const char *name, uint64_t value);
void sj__writer_signed(struct sj_writer *writer, const char *name, int64_t value);

/* A counter; `number`, if it is not 0, goes between the two parts of its name. */
void sj__writer_numbered(struct sj_writer *writer, const char *before, uint64_t number, const char *after,
                         uint64_t value);

/* A part of a whole: in OpenMetrics all of a topic are one family, TOPIC_UNIT{LABEL="name"}; the unit is bytes unless said. */
void sj__writer_part(struct sj_writer *writer, const char *label, const char *name, uint64_t value);

void sj__writer_end(struct sj_writer *writer);

#endif
