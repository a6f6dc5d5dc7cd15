/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see writer.h.
 */
#include "front/writer.h"

#include <string.h>

enum { NAME_BYTES = 192 };

void sj__writer_start(struct sj_writer *writer, enum sj_form form, char *buffer, size_t bytes, const char *wanted)
{
    *writer = (struct sj_writer){ .form = form, .wanted = wanted };
    sj__format_start(&writer->text, buffer, bytes);
}

/* "calls", "arena.client". */
static void add_topic(struct sj_text *text, const char *topic, const struct sj_item *items)
{
    sj__format_string(text, topic);
    for (unsigned i = 0; i < SJ_ITEMS && items[i].label != NULL; i++) {
        sj__format_char(text, '.');
        sj__format_string(text, items[i].value[0] != '\0' ? items[i].value : "(none)");
    }
}

void sj__writer_topic_of(struct sj_writer *writer, const char *topic, const char *unit,
                         const struct sj_item items[SJ_ITEMS])
{
    bool is_first = writer->topic == NULL;
    writer->topic = topic;
    writer->unit = unit;
    memcpy(writer->items, items, sizeof writer->items);
    writer->has_field = false;
    if (writer->form == SJ_FORM_JSON) {
        sj__format_string(&writer->text, is_first ? "{\"" : "},\"");
        add_topic(&writer->text, topic, items);
        sj__format_string(&writer->text, "\":{");
    } else if (writer->form == SJ_FORM_TEXT) {
        sj__format_string(&writer->text, is_first ? "scrubjay: stats " : "\nscrubjay: stats ");
        add_topic(&writer->text, topic, items);
        sj__format_char(&writer->text, ':');
    }
}

void sj__writer_topic(struct sj_writer *writer, const char *topic)
{
    static const struct sj_item none[SJ_ITEMS];
    sj__writer_topic_of(writer, topic, "bytes", none);
}

static void format_signed(struct sj_text *text, uint64_t value, bool is_negative)
{
    if (is_negative)
        sj__format_char(text, '-');
    sj__format_decimal(text, is_negative ? 0 - value : value);
}

static void add_metric_name(struct sj_writer *writer, const char *name)
{
    sj__format_string(&writer->text, "scrubjay_");
    sj__format_string(&writer->text, writer->topic);
    sj__format_char(&writer->text, '_');
    sj__format_string(&writer->text, name);
}

static void add_metric_type(struct sj_writer *writer, const char *name, const char *type)
{
    sj__format_string(&writer->text, "# TYPE ");
    add_metric_name(writer, name);
    sj__format_char(&writer->text, ' ');
    sj__format_string(&writer->text, type);
    sj__format_char(&writer->text, '\n');
}

/* True if it is "TOPIC.NAME" that is wanted. */
static bool is_wanted(const struct sj_writer *writer, const char *name)
{
    char buffer[NAME_BYTES];
    struct sj_text whole;
    sj__format_start(&whole, buffer, sizeof buffer);
    add_topic(&whole, writer->topic, writer->items);
    sj__format_char(&whole, '.');
    sj__format_string(&whole, name);
    return strcmp(writer->wanted, whole.start) == 0;
}

static void add_field(struct sj_writer *writer, const char *name, uint64_t value, bool is_negative)
{
    struct sj_text *text = &writer->text;
    if (writer->form == SJ_FORM_LOOKUP) {
        if (is_wanted(writer, name))
            format_signed(text, value, is_negative);
        return;
    }
    if (writer->form == SJ_FORM_JSON)
        sj__format_string(text, writer->has_field ? ",\"" : "\"");
    else
        sj__format_char(text, ' ');
    sj__format_string(text, name);
    sj__format_string(text, writer->form == SJ_FORM_JSON ? "\":" : "=");
    format_signed(text, value, is_negative);
    writer->has_field = true;
}

static void add_metric(struct sj_writer *writer, const char *name, const char *suffix, uint64_t value, bool is_negative)
{
    add_metric_type(writer, name, suffix[0] != '\0' ? "counter" : "gauge");
    add_metric_name(writer, name);
    sj__format_string(&writer->text, suffix);
    sj__format_char(&writer->text, ' ');
    format_signed(&writer->text, value, is_negative);
    sj__format_char(&writer->text, '\n');
}

void sj__writer_gauge(struct sj_writer *writer, const char *name, uint64_t value)
{
    if (writer->form == SJ_FORM_OPENMETRICS)
        add_metric(writer, name, "", value, false);
    else
        add_field(writer, name, value, false);
}

void sj__writer_counter(struct sj_writer *writer, const char *name, uint64_t value)
{
    if (writer->form == SJ_FORM_OPENMETRICS)
        add_metric(writer, name, "_total", value, false);
    else
        add_field(writer, name, value, false);
}

void sj__writer_signed(struct sj_writer *writer, const char *name, int64_t value)
{
    if (writer->form == SJ_FORM_OPENMETRICS)
        add_metric(writer, name, "", (uint64_t)value, value < 0);
    else
        add_field(writer, name, (uint64_t)value, value < 0);
}

void sj__writer_numbered(struct sj_writer *writer, const char *before, uint64_t number, const char *after,
                         uint64_t value)
{
    char buffer[NAME_BYTES];
    struct sj_text name;
    sj__format_start(&name, buffer, sizeof buffer);
    sj__format_string(&name, before);
    if (number != 0)
        sj__format_decimal(&name, number);
    sj__format_string(&name, after);
    sj__writer_counter(writer, name.start, value);
}

static void add_label(struct sj_text *text, char before, const char *label, const char *value)
{
    sj__format_char(text, before);
    sj__format_string(text, label);
    sj__format_string(text, "=\"");
    sj__format_string(text, value);
    sj__format_char(text, '"');
}

void sj__writer_part(struct sj_writer *writer, const char *label, const char *name, uint64_t value)
{
    struct sj_text *text = &writer->text;
    char before = '{';
    if (writer->form != SJ_FORM_OPENMETRICS) {
        add_field(writer, name, value, false);
        return;
    }
    if (writer->family != writer->topic)
        add_metric_type(writer, writer->unit, "gauge");
    writer->family = writer->topic;
    add_metric_name(writer, writer->unit);
    for (unsigned i = 0; i < SJ_ITEMS && writer->items[i].label != NULL; i++, before = ',')
        add_label(text, before, writer->items[i].label, writer->items[i].value);
    add_label(text, before, label, name);
    sj__format_string(text, "} ");
    sj__format_decimal(text, value);
    sj__format_char(text, '\n');
}

void sj__writer_end(struct sj_writer *writer)
{
    static const char *const ends[] = { "\n", "}}\n", "# EOF\n", "" };
    sj__format_string(&writer->text, ends[writer->form]);
}
