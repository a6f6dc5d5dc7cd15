/* SPDX-License-Identifier: MIT
 *
 * What: messages to the user, text in columns, and the guess what a misspelt word was meant to be.
 *
 * Why this way: see command.h.
 *
 * Invariants: see command.h.
 *
 * Concurrency: one thread.
 */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 80, LABEL_COLUMNS = 12, WORD_MAX = 24, NEAR_EDITS = 2, SECONDS_MAX = 3600 };

static const char *speaker = "scrubjay";

void sj__message_start(const char *name)
{
    speaker = name;
}

void sj__message(const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s: ", speaker);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void sj__print_labelled(const char *label, const char *text)
{
    size_t column = (size_t)printf("  %-*s", LABEL_COLUMNS, label);
    bool first = true;
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        if (!first && column + 1 + length > COLUMNS)
            column = (size_t)printf("\n  %-*s", LABEL_COLUMNS, "") - 1;
        else if (!first)
            column += (size_t)printf(" ");
        column += (size_t)printf("%.*s", (int)length, text);
        first = false;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

bool sj__message_read_seconds(const char *option, const char *text, unsigned *ms)
{
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= SECONDS_MAX)) {
        sj__message("%s takes a number of seconds up to %d, not %s", option, SECONDS_MAX, text);
        return false;
    }
    *ms = (unsigned)(seconds * 1000);
    return true;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edit distance with single insertions, deletions and replacements; both words are at most WORD_MAX long. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[WORD_MAX + 1];
    const size_t width = strlen(b);
    for (unsigned j = 0; j <= width; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= width; j++) {
            const unsigned above = row[j];
            row[j] = least(least(above, row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[width];
}

bool sj__message_resembles(const char *word, const char *name)
{
    const size_t length = strlen(word);
    if (length == 0 || length > WORD_MAX || strlen(name) > WORD_MAX)
        return false;
    if (length >= 2 && strncmp(word, name, length) == 0)
        return true;
    return edit_distance(word, name) <= (length <= 3 ? 1 : NEAR_EDITS);
}
