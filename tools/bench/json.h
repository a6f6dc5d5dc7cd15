/* SPDX-License-Identifier: MIT
 *
 * What: reads JSON Lines, the lab's own files and reports, a line at a time.
 *
 * Why this way: jansson reads; this is what all callers want of it: a wrong line ends the program with its file and number, or is left out.
 * Where there is no jansson (musl) json_none.c takes the place of json.c: the command measures and reports all the same, but
 * reads no session back.
 *
 * Invariants: files are not trusted: what is no JSON, or not UTF-8, is never taken. Numbers are doubles; 64-bit identifiers
 * are written as strings or stay under 2^53.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_JSON_H
#define SJ_BENCH_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct json_t; /* jansson's */

struct bench_json_file {
    const char *path; /* the caller's */
    FILE *in;
    char *text; /* of the line */
    size_t room;
    size_t line;      /* number of the one read last */
    bool skips_wrong; /* a wrong line is left out: the file's writer may have been stopped in its middle */
};

/* Ends the program, with `hint` behind the reason, if the file cannot be opened. */
void bench_json_open(struct bench_json_file *file, const char *path, const char *hint);

/* Reads from a stream that is open, and leaves wrong lines out; `path` is its name in messages. */
void bench_json_take(struct bench_json_file *file, const char *path, FILE *in);

/* The next line's object, NULL at the end; also if the file's last line was cut off in its middle. The caller gives it to
 * bench_json_free(), or keeps it. */
struct json_t *bench_json_next(struct bench_json_file *file);

void bench_json_free(struct json_t *line);
void bench_json_close(struct bench_json_file *file);

/* A member's value, or what is given if it is missing or of another kind. A text lives as long as its line. */
const char *bench_json_text(const struct json_t *object, const char *name, const char *missing);
double bench_json_number(const struct json_t *object, const char *name, double missing);
bool bench_json_true(const struct json_t *object, const char *name);

/* The member itself, or NULL. */
const struct json_t *bench_json_member(const struct json_t *object, const char *name);

/* How many elements a member has that is an array, 0 if it is none; and one of them, which has to be there. */
size_t bench_json_count(const struct json_t *object, const char *name);
const struct json_t *bench_json_item(const struct json_t *object, const char *name, size_t index);

/* An element of an array of strings; "" if it is no string. */
const char *bench_json_word(const struct json_t *object, const char *name, size_t index);

/* An element of an array of numbers, or what is given if it is none. */
double bench_json_element(const struct json_t *object, const char *name, size_t index, double missing);

#endif
