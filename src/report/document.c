/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see document.h.
 */
#include "report/document.h"

#include "base/format.h"
#include "platform/build_id.h"
#include "platform/clock.h"
#include "platform/process.h"
#include "report/location.h"
#include "report/status.h"

enum { END_BYTES = 4 }; /* what closes the list and the object */

static struct sj_document document = { .magic = SJ_DOCUMENT_MAGIC };

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_quoted(struct sj_text *text, const char *string)
{
    sj__format_char(text, '"');
    for (; *string != '\0'; string++) {
        const unsigned byte = (unsigned char)*string;
        if (byte < ' ' || byte >= 0x7f) {
            sj__format_string(text, "\\u00");
            sj__format_char(text, "0123456789abcdef"[byte >> 4]);
            sj__format_char(text, "0123456789abcdef"[byte & 15]);
            continue;
        }
        if (byte == '"' || byte == '\\')
            sj__format_char(text, '\\');
        sj__format_char(text, (char)byte);
    }
    sj__format_char(text, '"');
}

static void add_name(struct sj_text *text, const char *name)
{
    sj__format_string(text, text->start[text->length - 1] != '{' ? ",\"" : "\"");
    sj__format_string(text, name);
    sj__format_string(text, "\":");
}

static void add_string(struct sj_text *text, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    add_name(text, name);
    add_quoted(text, value);
}

static void add_number(struct sj_text *text, const char *name, uint64_t value)
{
    add_name(text, name);
    sj__format_decimal(text, value);
}

static void add_address(struct sj_text *text, const char *name, uintptr_t value)
{
    add_name(text, name);
    sj__format_char(text, '"');
    sj__format_hex(text, value);
    sj__format_char(text, '"');
}

/* ---- The parts --------------------------------------------------------------------------------------------------- */

static void add_facts(struct sj_text *text, const struct sj_report_facts *facts)
{
    add_address(text, "pointer", (uintptr_t)facts->pointer);
    if (facts->block != NULL) {
        add_address(text, "block", (uintptr_t)facts->block);
        add_number(text, "offset_bytes", facts->offset_bytes);
    }
    add_string(text, "arena", facts->arena);
    add_string(text, "label", facts->label);
    if (facts->has_byte) {
        add_number(text, "byte_was", facts->byte_was);
        add_number(text, "byte_is", facts->byte_is);
    }
    if (facts->size_bytes != 0)
        add_number(text, "size_bytes", facts->size_bytes);
    if (facts->given_bytes != 0 || facts->expected_bytes != 0) {
        add_number(text, "given_bytes", facts->given_bytes);
        add_number(text, "expected_bytes", facts->expected_bytes);
    }
    add_string(text, "made_by", facts->made_by);
    add_string(text, "freed_by", facts->freed_by);
    add_string(text, "function", facts->function);
    if (facts->caller != NULL)
        add_address(text, "caller", (uintptr_t)facts->caller);
    add_string(text, "note", facts->note);
}

static void add_process(struct sj_text *text, const char *program)
{
    const struct sj_status *status = sj__status_read();
    add_string(text, "program", program);
    add_number(text, "process", sj__process_id());
    add_number(text, "thread", sj__process_thread_id());
    add_number(text, "time", sj__clock_unix_seconds());
    add_string(text, "version", status->release);
    add_string(text, "build_id", status->build_id);
    add_string(text, "options", status->options);
}

static void add_frame(struct sj_text *text, const void *address)
{
    struct sj_code_place place;
    sj__format_char(text, '{');
    add_address(text, "address", (uintptr_t)address);
    if (sj__location_find_code(address, &place)) {
        add_string(text, "module", place.file);
        add_address(text, "offset", place.offset);
        add_name(text, "build_id");
        sj__format_char(text, '"');
        sj__build_id_format_of(text, (const void *)place.base);
        sj__format_char(text, '"');
    }
    sj__format_char(text, '}');
}

/* As many as there is room for; the list is left open. */
static void add_frames(struct sj_text *text, struct sj_frames frames)
{
    add_name(text, "frames");
    sj__format_char(text, '[');
    for (size_t i = 0; i < frames.count; i++) {
        const size_t before = text->length;
        if (i > 0)
            sj__format_char(text, ',');
        add_frame(text, frames.addresses[i]);
        if (text->truncated) {
            text->length = before;
            break;
        }
    }
}

/* Who did something to the block; nothing if there is no room for all of it. */
static void add_trace(struct sj_text *text, const char *name, const struct sj_trace *trace)
{
    const size_t before = text->length;
    if (trace == NULL || trace->count == 0)
        return;
    add_name(text, name);
    sj__format_char(text, '{');
    add_number(text, "thread", trace->thread_id);
    add_number(text, "ms_ago", sj__clock_ms() - trace->when_ms);
    add_frames(text, (struct sj_frames){ trace->frames, trace->count });
    sj__format_string(text, "]}");
    if (text->truncated) {
        text->length = before;
        text->truncated = false;
    }
}

const struct sj_document *sj__document_make(const struct sj_report_entry *entry, const struct sj_report_facts *facts,
                                            const char *line, const char *program, struct sj_frames frames,
                                            bool refused)
{
    char id[] = "SJ-000";
    struct sj_text text;
    sj__format_start(&text, id + 3, sizeof id - 3);
    sj__format_decimal_padded(&text, entry->number, 3);
    document.version = 0;
    sj__format_start(&text, document.text, sizeof document.text - END_BYTES);
    sj__format_char(&text, '{');
    add_number(&text, "scrubjay_report", SJ_DOCUMENT_VERSION);
    add_string(&text, "id", id);
    add_number(&text, "number", entry->number);
    add_string(&text, "title", entry->title);
    add_string(&text, "action", refused ? "refused" : "aborted");
    add_string(&text, "line", line);
    add_facts(&text, facts);
    add_process(&text, program);
    add_string(&text, "cause", entry->cause);
    add_string(&text, "remedy", entry->remedy);
    add_trace(&text, "allocated", facts->allocated);
    add_trace(&text, "freed", facts->freed);
    add_frames(&text, frames);
    text.capacity += END_BYTES;
    sj__format_string(&text, "]}\n");
    document.bytes = (uint32_t)text.length;
    document.version = SJ_DOCUMENT_VERSION;
    return &document;
}
