/* SPDX-License-Identifier: MIT
 *
 * What: see json.h.
 *
 * Why this way: see json.h.
 */
#include "bench/json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bench/text.h"

void bench_json_open(struct bench_json_file *file, const char *path, const char *hint)
{
    *file = (struct bench_json_file){ .path = path, .in = fopen(path, "re") };
    if (file->in == NULL)
        bench_die("%s: %s%s", path, strerror(errno), hint);
}

void bench_json_take(struct bench_json_file *file, const char *path, FILE *in)
{
    *file = (struct bench_json_file){ .path = path, .in = in, .skips_wrong = true };
}

struct json_t *bench_json_next(struct bench_json_file *file)
{
    for (ssize_t length; (length = getline(&file->text, &file->room, file->in)) >= 0;) {
        file->line++;
        json_error_t error;
        json_t *line = json_loadb(file->text, (size_t)length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
        if (line != NULL)
            return line;
        if (file->text[length - 1] != '\n')
            break; /* cut off in the middle of a line */
        if (!file->skips_wrong)
            bench_die("%s:%zu:%d: %s", file->path, file->line, error.column, error.text);
    }
    return NULL;
}

void bench_json_free(struct json_t *line)
{
    json_decref(line);
}

void bench_json_close(struct bench_json_file *file)
{
    free(file->text);
    fclose(file->in);
}

const char *bench_json_text(const struct json_t *object, const char *name, const char *missing)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : missing;
}

double bench_json_number(const struct json_t *object, const char *name, double missing)
{
    const json_t *member = json_object_get(object, name);
    return json_is_number(member) ? json_number_value(member) : missing;
}

bool bench_json_true(const struct json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

const struct json_t *bench_json_member(const struct json_t *object, const char *name)
{
    return json_object_get(object, name);
}

size_t bench_json_count(const struct json_t *object, const char *name)
{
    return json_array_size(json_object_get(object, name));
}

const struct json_t *bench_json_item(const struct json_t *object, const char *name, size_t index)
{
    return json_array_get(json_object_get(object, name), index);
}

const char *bench_json_word(const struct json_t *object, const char *name, size_t index)
{
    const char *text = json_string_value(bench_json_item(object, name, index));
    return text != NULL ? text : "";
}

double bench_json_element(const struct json_t *object, const char *name, size_t index, double missing)
{
    const struct json_t *item = bench_json_item(object, name, index);
    return json_is_number(item) ? json_number_value(item) : missing;
}
