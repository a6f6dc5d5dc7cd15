/* SPDX-License-Identifier: MIT
 *
 * What: json.h where there is no jansson: no file is read.
 *
 * Why this way: see json.h. A libc that Debian has no jansson for (musl) still gets a command that measures.
 */
#include "bench/json.h"

#include <stdlib.h>

#include "bench/text.h"

void bench_json_open(struct bench_json_file *file, const char *path, const char *hint)
{
    (void)file;
    (void)hint;
    bench_die("%s: this command was built without jansson and reads no sessions, plans or reports", path);
}

void bench_json_take(struct bench_json_file *file, const char *path, FILE *in)
{
    (void)in;
    bench_json_open(file, path, "");
}

/* All below is called with what was read, or by those who opened a file. */
struct json_t *bench_json_next(struct bench_json_file *file)
{
    (void)file;
    abort();
}

void bench_json_free(struct json_t *line)
{
    (void)line;
    abort();
}

void bench_json_close(struct bench_json_file *file)
{
    (void)file;
    abort();
}

const char *bench_json_text(const struct json_t *object, const char *name, const char *missing)
{
    (void)object;
    (void)name;
    (void)missing;
    abort();
}

double bench_json_number(const struct json_t *object, const char *name, double missing)
{
    (void)object;
    (void)name;
    (void)missing;
    abort();
}

bool bench_json_true(const struct json_t *object, const char *name)
{
    (void)object;
    (void)name;
    abort();
}

const struct json_t *bench_json_member(const struct json_t *object, const char *name)
{
    (void)object;
    (void)name;
    abort();
}

size_t bench_json_count(const struct json_t *object, const char *name)
{
    (void)object;
    (void)name;
    abort();
}

const struct json_t *bench_json_item(const struct json_t *object, const char *name, size_t index)
{
    (void)object;
    (void)name;
    (void)index;
    abort();
}

const char *bench_json_word(const struct json_t *object, const char *name, size_t index)
{
    (void)object;
    (void)name;
    (void)index;
    abort();
}

double bench_json_element(const struct json_t *object, const char *name, size_t index, double missing)
{
    (void)object;
    (void)name;
    (void)index;
    (void)missing;
    abort();
}
