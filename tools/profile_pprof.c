/* SPDX-License-Identifier: MIT
 *
 * What: a heap profile in pprof's format, a protocol buffer in gzip; see profile.h.
 *
 * Why this way: the format needs of protocol buffers two kinds of field only, numbers and bytes, which are a few lines. Functions
 * and lines are in it as far as they are known here, so that it can be read on any machine.
 *
 * Invariants: strings, functions and locations are numbered in the order in which they are first met.
 *
 * Concurrency: see profile.h.
 */
#include "gzip.h"
#include "profile.h"
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Field numbers of pprof's profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_DEFAULT_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4
};

enum { WIRE_NUMBER = 0, WIRE_BYTES = 2, MORE = 0x80, VALUES = 4 };

struct buffer {
    unsigned char *bytes;
    size_t count, room;
    bool failed; /* there was no memory */
};

struct writer {
    struct buffer out;
    const struct sj_profile_data *data;
    char **strings; /* the first is "" */
    size_t string_count;
    uint64_t *addresses; /* of locations */
    size_t location_count;
    uint64_t *functions; /* by the number of the string that is their name */
    size_t function_count;
};

/* ---- Protocol buffers -------------------------------------------------------------------------------------------- */

static void put_byte(struct buffer *buffer, unsigned char byte)
{
    if (buffer->count == buffer->room) {
        const size_t room = buffer->room > 0 ? 2 * buffer->room : 4096;
        unsigned char *grown = realloc(buffer->bytes, room);
        if (grown == NULL) {
            buffer->failed = true;
            return;
        }
        buffer->bytes = grown;
        buffer->room = room;
    }
    buffer->bytes[buffer->count++] = byte;
}

static void put_varint(struct buffer *buffer, uint64_t value)
{
    for (; value >= MORE; value >>= 7)
        put_byte(buffer, (unsigned char)(value | MORE));
    put_byte(buffer, (unsigned char)value);
}

static void put_number(struct buffer *buffer, unsigned field, uint64_t value)
{
    put_varint(buffer, (uint64_t)field << 3 | WIRE_NUMBER);
    put_varint(buffer, value);
}

static void put_bytes(struct buffer *buffer, unsigned field, const void *bytes, size_t count)
{
    put_varint(buffer, (uint64_t)field << 3 | WIRE_BYTES);
    put_varint(buffer, count);
    for (size_t i = 0; i < count; i++)
        put_byte(buffer, ((const unsigned char *)bytes)[i]);
}

/* Adds a message to the profile, and frees it. */
static void put_message(struct buffer *out, unsigned field, struct buffer *message)
{
    put_bytes(out, field, message->bytes, message->count);
    out->failed |= message->failed;
    free(message->bytes);
    *message = (struct buffer){ 0 };
}

/* ---- What is numbered -------------------------------------------------------------------------------------------- */

/* Makes room for one more element. */
static void *grow(struct writer *writer, void *array, size_t count, size_t element_bytes)
{
    void *grown = realloc(array, (count + 1) * element_bytes);
    writer->out.failed |= grown == NULL;
    return grown != NULL ? grown : array;
}

static uint64_t string_number(struct writer *writer, const char *text)
{
    for (size_t i = 0; i < writer->string_count; i++)
        if (strcmp(writer->strings[i], text) == 0)
            return i;
    writer->strings = grow(writer, writer->strings, writer->string_count, sizeof writer->strings[0]);
    char *copy = strdup(text);
    writer->out.failed |= copy == NULL;
    if (writer->out.failed) {
        free(copy);
        return 0;
    }
    writer->strings[writer->string_count] = copy;
    return writer->string_count++;
}

static uint64_t function_number(struct writer *writer, const struct sj_symbol *symbol)
{
    const uint64_t name = string_number(writer, symbol->function);
    struct buffer function = { 0 };
    for (size_t i = 0; i < writer->function_count; i++)
        if (writer->functions[i] == name)
            return i + 1;
    writer->functions = grow(writer, writer->functions, writer->function_count, sizeof writer->functions[0]);
    if (writer->out.failed)
        return 0;
    writer->functions[writer->function_count++] = name;
    put_number(&function, FUNCTION_ID, writer->function_count);
    put_number(&function, FUNCTION_NAME, name);
    put_number(&function, FUNCTION_SYSTEM_NAME, name);
    if (symbol->file != NULL)
        put_number(&function, FUNCTION_FILE, string_number(writer, symbol->file));
    put_message(&writer->out, PROFILE_FUNCTION, &function);
    return writer->function_count;
}

static uint64_t location_number(struct writer *writer, uint64_t address)
{
    const struct sj_profile_mapping *mapping = sj__profile_mapping_of(writer->data, address);
    struct sj_symbol symbol = { 0 };
    struct buffer location = { 0 }, line = { 0 };
    for (size_t i = 0; i < writer->location_count; i++)
        if (writer->addresses[i] == address)
            return i + 1;
    writer->addresses = grow(writer, writer->addresses, writer->location_count, sizeof writer->addresses[0]);
    if (writer->out.failed)
        return 0;
    writer->addresses[writer->location_count++] = address;
    put_number(&location, LOCATION_ID, writer->location_count);
    if (mapping != NULL) {
        put_number(&location, LOCATION_MAPPING, (uint64_t)(mapping - writer->data->mappings) + 1);
        (void)sj__symbols_find(mapping->path, "", address - mapping->base, &symbol);
    }
    put_number(&location, LOCATION_ADDRESS, address);
    if (symbol.function != NULL) {
        put_number(&line, LINE_FUNCTION, function_number(writer, &symbol));
        put_number(&line, LINE_LINE, symbol.file != NULL ? (uint64_t)symbol.line : 0);
        put_message(&location, LOCATION_LINE, &line);
    }
    put_message(&writer->out, PROFILE_LOCATION, &location);
    return writer->location_count;
}

/* ---- The profile ------------------------------------------------------------------------------------------------- */

static void put_type(struct writer *writer, unsigned field, const char *type, const char *unit)
{
    struct buffer message = { 0 };
    put_number(&message, TYPE_TYPE, string_number(writer, type));
    put_number(&message, TYPE_UNIT, string_number(writer, unit));
    put_message(&writer->out, field, &message);
}

static void put_mappings(struct writer *writer)
{
    for (size_t i = 0; i < writer->data->mapping_count; i++) {
        const struct sj_profile_mapping *mapping = &writer->data->mappings[i];
        struct buffer message = { 0 };
        put_number(&message, MAPPING_ID, i + 1);
        put_number(&message, MAPPING_START, mapping->start);
        put_number(&message, MAPPING_LIMIT, mapping->end);
        put_number(&message, MAPPING_OFFSET, mapping->offset);
        put_number(&message, MAPPING_FILE, string_number(writer, mapping->path));
        put_number(&message, MAPPING_HAS_FUNCTIONS, sj__symbols_can());
        put_message(&writer->out, PROFILE_MAPPING, &message);
    }
}

static void put_sample(struct writer *writer, const struct sj_profile_site *site, enum sj_profile_part part)
{
    const struct sj_profile_tally *now = sj__profile_tally(site, part);
    const uint64_t values[VALUES] = { sj__profile_objects(&site->allocated), site->allocated.bytes,
                                      sj__profile_objects(now), now->bytes };
    struct buffer message = { 0 };
    for (uint32_t k = 0; k < site->frames_count; k++) /* in the call, not where it returns to */
        put_number(&message, SAMPLE_LOCATIONS, location_number(writer, site->frames[k] - 1));
    for (unsigned i = 0; i < VALUES; i++)
        put_number(&message, SAMPLE_VALUES, values[i]);
    put_message(&writer->out, PROFILE_SAMPLE, &message);
}

static void put_all(struct writer *writer, enum sj_profile_part part)
{
    struct timespec now;
    (void)string_number(writer, "");
    put_type(writer, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
    put_type(writer, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
    put_type(writer, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
    put_type(writer, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
    put_mappings(writer);
    for (size_t i = 0; i < writer->data->site_count; i++)
        if (writer->data->sites[i].allocated.objects != 0)
            put_sample(writer, &writer->data->sites[i], part);
    clock_gettime(CLOCK_REALTIME, &now);
    put_number(&writer->out, PROFILE_TIME_NANOS, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    put_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
    put_number(&writer->out, PROFILE_PERIOD, writer->data->head.rate_bytes);
    put_number(&writer->out, PROFILE_DEFAULT_TYPE,
               string_number(writer, part == SJ_PROFILE_ALLOCATED ? "alloc_space" : "inuse_space"));
    for (size_t i = 0; i < writer->string_count; i++)
        put_bytes(&writer->out, PROFILE_STRING, writer->strings[i], strlen(writer->strings[i]));
}

bool sj__profile_write_pprof(FILE *out, const struct sj_profile_data *data, enum sj_profile_part part)
{
    struct writer writer = { .data = data };
    put_all(&writer, part);
    if (writer.out.failed)
        errno = ENOMEM;
    const bool good = !writer.out.failed && sj__gzip_write(out, writer.out.bytes, writer.out.count) && fflush(out) == 0;
    for (size_t i = 0; i < writer.string_count; i++)
        free(writer.strings[i]);
    free(writer.strings);
    free(writer.addresses);
    free(writer.functions);
    free(writer.out.bytes);
    return good;
}
