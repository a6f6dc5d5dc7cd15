/* SPDX-License-Identifier: MIT
 *
 * What: text that goes into the page: escaped, and numbers as they are read.
 *
 * Why this way: names and commands come from whoever ran the session, and the page is opened by others. Every foreign text
 * passes through page_escape(), which is safe between tags and within quoted attributes, in HTML and in XML.
 *
 * Invariants: what page_escape() writes is valid UTF-8 without control characters, whatever it was given; a byte that is
 * neither becomes U+FFFD.
 *
 * Concurrency: no globals.
 */
#ifndef SJ_PAGE_MARKUP_H
#define SJ_PAGE_MARKUP_H

#include <stdio.h>

#include "lab/stats.h"

void page_escape(FILE *out, const char *text);

/* printf() into page_escape(). */
__attribute__((format(printf, 2, 3))) void page_print(FILE *out, const char *format, ...);

/* At most `most` characters of text, with an ellipsis if there were more; the caller frees it. */
char *page_clip(const char *text, size_t most);

/* "+4.2 %" with a real minus sign, from ln(head / base); the caller frees it. */
char *page_effect(double log_ratio);

/* "+4.2 % [+3.1, +5.3]"; "[?, ?]" for an interval without ends; the caller frees it. */
char *page_effect_interval(double log_ratio, struct lab_interval logs);

#endif
