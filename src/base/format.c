/* SPDX-License-Identifier: MIT
 *
 * What: text built piece by piece in a buffer of fixed size; see format.h.
 *
 * Why this way: every function ends in sj__format_char, the one place that knows where the buffer ends.
 *
 * Invariants: see format.h.
 *
 * Concurrency: see format.h.
 */
#include "base/format.h"

enum { DIGITS_MAX = 20 }; /* of a 64-bit number in decimal */

void sj__format_start(struct sj_text *text, char *buffer, size_t bytes)
{
    sj_assert(bytes > 0);
    *text = (struct sj_text){ .start = buffer, .capacity = bytes };
    buffer[0] = '\0';
}

void sj__format_char(struct sj_text *text, char c)
{
    sj_assert(text->length < text->capacity);
    if (text->length + 1 >= text->capacity) {
        text->truncated = true;
        return;
    }
    text->start[text->length++] = c;
    text->start[text->length] = '\0';
}

void sj__format_string(struct sj_text *text, const char *string)
{
    for (; string != NULL && *string != '\0'; string++)
        sj__format_char(text, *string);
}

void sj__format_bytes(struct sj_text *text, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sj__format_char(text, bytes[i]);
}

void sj__format_printable(struct sj_text *text, const char *string, size_t limit)
{
    for (size_t i = 0; i < limit && string[i] != '\0'; i++)
        sj__format_char(text, string[i] >= ' ' && string[i] <= '~' ? string[i] : '?');
}

void sj__format_decimal(struct sj_text *text, uint64_t value)
{
    sj__format_decimal_padded(text, value, 1);
}

void sj__format_decimal_padded(struct sj_text *text, uint64_t value, unsigned width)
{
    char digits[DIGITS_MAX];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (; width > count; width--)
        sj__format_char(text, '0');
    while (count > 0)
        sj__format_char(text, digits[--count]);
}

void sj__format_hex(struct sj_text *text, uint64_t value)
{
    unsigned shift = 60;
    while (shift > 0 && (value >> shift) == 0)
        shift -= 4;
    sj__format_string(text, "0x");
    for (;; shift -= 4) {
        sj__format_char(text, "0123456789abcdef"[(value >> shift) & 15]);
        if (shift == 0)
            return;
    }
}

void sj__format_pointer(struct sj_text *text, const void *pointer)
{
    sj__format_hex(text, (uint64_t)(uintptr_t)pointer);
}
