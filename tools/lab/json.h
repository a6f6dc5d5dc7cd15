/* SPDX-License-Identifier: MIT
 *
 * What: reads one JSON value into a tree.
 *
 * Why this way: the lab reads back what it wrote itself, a line at a time; that takes a page of code and no library that a
 * build would have to find.
 *
 * Invariants: the text is not trusted: what is no JSON, or nested deeper than 32, gives NULL. Numbers are doubles; 64-bit
 * identifiers are written as strings or stay under 2^53.
 *
 * Concurrency: one thread. Trees are the caller's; a command that ends soon need not free them.
 */
#ifndef SJ_LAB_JSON_H
#define SJ_LAB_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum lab_json_kind { LAB_JSON_NULL, LAB_JSON_BOOL, LAB_JSON_NUMBER, LAB_JSON_STRING, LAB_JSON_ARRAY, LAB_JSON_OBJECT };

struct lab_json {
    enum lab_json_kind kind;
    double number; /* of a BOOL: 0 or 1 */
    char *text;    /* of a STRING */
    char *name;    /* of a member of an OBJECT */
    struct lab_json *first;
    struct lab_json *next; /* the next member or element of what this one is in */
};

/* NULL if `text` is not one JSON value with nothing but blanks after it. */
struct lab_json *lab_json_read(const char *text);

/* Frees a tree; NULL is none. */
void lab_json_free(struct lab_json *value);

/* The member of this name, or NULL. `object` may be NULL or no object. */
const struct lab_json *lab_json_member(const struct lab_json *object, const char *name);

/* A member's value, or what is given if it is missing or of another kind. */
const char *lab_json_text(const struct lab_json *object, const char *name, const char *missing);
double lab_json_number(const struct lab_json *object, const char *name, double missing);
bool lab_json_true(const struct lab_json *object, const char *name);

#endif
