/* SPDX-License-Identifier: MIT
 *
 * What: see json.h.
 *
 * Why this way: see json.h. Recursive descent, a function a kind of value.
 */
#include "lab/json.h"

#include <stdlib.h>
#include <string.h>

enum { JSON_DEPTH_MAX = 32 };

struct json_reader {
    const char *at;
    unsigned depth;
    bool bad;
};

static struct lab_json *json_value(struct json_reader *reader);

static void json_blanks(struct json_reader *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
}

static bool json_take(struct json_reader *reader, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

/* The code point of \uXXXX as UTF-8; surrogates become '?'. Returns the bytes written. */
static size_t json_code_point(struct json_reader *reader, char *out)
{
    unsigned code = 0;
    for (unsigned i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = *reader->at != '\0' ? strchr(digits, *reader->at) : NULL;
        if (digit == NULL) {
            reader->bad = true;
            return 0;
        }
        unsigned value = (unsigned)(digit - digits);
        code = code * 16 + (value < 16 ? value : value - 6);
        reader->at++;
    }
    if (code >= 0xd800 && code < 0xe000)
        code = '?';
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3f));
    out[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

static size_t json_escape(struct json_reader *reader, char *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    char letter = *reader->at;
    if (letter == '\0') {
        reader->bad = true;
        return 0;
    }
    reader->at++;
    if (letter == 'u')
        return json_code_point(reader, out);
    const char *found = strchr(from, letter);
    reader->bad = reader->bad || found == NULL;
    out[0] = found != NULL ? to[found - from] : '?';
    return 1;
}

/* After the opening quote. */
static char *json_string(struct json_reader *reader)
{
    size_t length = 0;
    char *text = malloc(strlen(reader->at) + 4); /* escapes never grow */
    if (text == NULL)
        abort();
    while (!reader->bad && *reader->at != '"' && *reader->at != '\0') {
        if (*reader->at == '\\') {
            reader->at++;
            length += json_escape(reader, text + length);
        } else {
            text[length++] = *reader->at++;
        }
    }
    reader->bad = reader->bad || *reader->at != '"';
    reader->at += *reader->at == '"' ? 1 : 0;
    text[length] = '\0';
    return text;
}

/* After the opening bracket: elements, or members with names, up to the closing one. */
static void json_inside(struct json_reader *reader, struct lab_json *outer, bool named, char end)
{
    struct lab_json **last = &outer->first;
    json_blanks(reader);
    if (*reader->at == end) {
        reader->at++;
        return;
    }
    while (!reader->bad) {
        char *name = NULL;
        json_blanks(reader);
        if (named) {
            reader->bad = !json_take(reader, "\"");
            name = reader->bad ? NULL : json_string(reader);
            json_blanks(reader);
            reader->bad = reader->bad || !json_take(reader, ":");
        }
        *last = json_value(reader);
        (*last)->name = name;
        last = &(*last)->next;
        json_blanks(reader);
        if (*reader->at == end) {
            reader->at++;
            return;
        }
        reader->bad = reader->bad || !json_take(reader, ",");
    }
}

static void json_number(struct json_reader *reader, struct lab_json *value)
{
    char *end;
    value->kind = LAB_JSON_NUMBER;
    value->number = strtod(reader->at, &end);
    reader->bad = end == reader->at || strchr("-0123456789", *reader->at) == NULL;
    reader->at = end;
}

static struct lab_json *json_value(struct json_reader *reader)
{
    struct lab_json *value = calloc(1, sizeof *value);
    if (value == NULL)
        abort();
    json_blanks(reader);
    if (reader->bad || ++reader->depth > JSON_DEPTH_MAX) {
        reader->bad = true;
    } else if (json_take(reader, "{")) {
        value->kind = LAB_JSON_OBJECT;
        json_inside(reader, value, true, '}');
    } else if (json_take(reader, "[")) {
        value->kind = LAB_JSON_ARRAY;
        json_inside(reader, value, false, ']');
    } else if (json_take(reader, "\"")) {
        value->kind = LAB_JSON_STRING;
        value->text = json_string(reader);
    } else if (json_take(reader, "true") || json_take(reader, "false")) {
        value->kind = LAB_JSON_BOOL;
        value->number = reader->at[-2] == 'u' ? 1 : 0; /* tr-u-e, fal-s-e */
    } else if (!json_take(reader, "null")) {
        json_number(reader, value);
    }
    reader->depth--;
    return value;
}

struct lab_json *lab_json_read(const char *text)
{
    struct json_reader reader = { .at = text };
    struct lab_json *value = json_value(&reader);
    json_blanks(&reader);
    if (!reader.bad && *reader.at == '\0')
        return value;
    lab_json_free(value);
    return NULL;
}

void lab_json_free(struct lab_json *value)
{
    while (value != NULL) {
        struct lab_json *next = value->next;
        lab_json_free(value->first);
        free(value->text);
        free(value->name);
        free(value);
        value = next;
    }
}

const struct lab_json *lab_json_member(const struct lab_json *object, const char *name)
{
    if (object == NULL || object->kind != LAB_JSON_OBJECT)
        return NULL;
    for (const struct lab_json *member = object->first; member != NULL; member = member->next)
        if (strcmp(member->name, name) == 0)
            return member;
    return NULL;
}

const char *lab_json_text(const struct lab_json *object, const char *name, const char *missing)
{
    const struct lab_json *member = lab_json_member(object, name);
    return member != NULL && member->kind == LAB_JSON_STRING ? member->text : missing;
}

double lab_json_number(const struct lab_json *object, const char *name, double missing)
{
    const struct lab_json *member = lab_json_member(object, name);
    return member != NULL && member->kind == LAB_JSON_NUMBER ? member->number : missing;
}

bool lab_json_true(const struct lab_json *object, const char *name)
{
    const struct lab_json *member = lab_json_member(object, name);
    return member != NULL && member->kind == LAB_JSON_BOOL && member->number != 0;
}
