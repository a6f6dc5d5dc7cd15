/* SPDX-License-Identifier: MIT
 *
 * What: text built piece by piece in a buffer of fixed size.
 *
 * Why this way: reports and statistics are written from signal handlers and from inside malloc, where printf may not be
 * called: it may allocate, lock or read the locale. What does not fit is cut off and remembered, never written past
 * the end. The loops are our own because the copy functions of the process may one day be ours too.
 *
 * Invariants: length < capacity, and start[length] is NUL after every call (a capacity of 0 is refused by assertion).
 *
 * Concurrency: one thread a struct sj_text. Async-signal-safe.
 */
#ifndef SJ_BASE_FORMAT_H
#define SJ_BASE_FORMAT_H

#include "base/compiler.h"

struct sj_text {
    char *start;
    size_t capacity; /* bytes at start, the final NUL among them */
    size_t length;   /* bytes written, without the NUL */
    bool truncated;  /* something did not fit */
};

/* Begins an empty text in `buffer`; bytes must be at least 1. */
void sj__format_start(struct sj_text *text, char *buffer, size_t bytes);

void sj__format_char(struct sj_text *text, char c);
void sj__format_string(struct sj_text *text, const char *string); /* NULL adds nothing */
void sj__format_bytes(struct sj_text *text, const char *bytes, size_t count);

/* At most `limit` characters of `string`, which need not end within them; control and non-ASCII bytes become '?'. For
 * words from outside, which may end up on a terminal or in a log. */
void sj__format_printable(struct sj_text *text, const char *string, size_t limit);

void sj__format_decimal(struct sj_text *text, uint64_t value);
void sj__format_decimal_padded(struct sj_text *text, uint64_t value, unsigned width); /* with leading zeros */
void sj__format_hex(struct sj_text *text, uint64_t value);                            /* 0x..., no leading zeros */
void sj__format_pointer(struct sj_text *text, const void *pointer);                   /* as sj__format_hex */

#endif
