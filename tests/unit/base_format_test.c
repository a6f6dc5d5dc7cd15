/* SPDX-License-Identifier: MIT
 *
 * What: tests of base/format.
 *
 * Why this way: printf is the oracle for numbers; every capacity from 1 on is tried for what does not fit.
 */
#include "base/format.h"
#include "unit/unit.h"

static void format_numbers__equal_printf_when_random(void)
{
    uint64_t state = unit_state.seed;
    for (unsigned i = 0; i < 20000; i++) {
        const uint64_t value = i == 0 ? 0 : i == 1 ? UINT64_MAX : unit_random(&state) >> (unit_random(&state) & 63);
        char got[64], want[64];
        struct sj_text text;
        sj__format_start(&text, got, sizeof got);
        sj__format_decimal(&text, value);
        sj__format_char(&text, ' ');
        sj__format_hex(&text, value);
        sj__format_char(&text, ' ');
        sj__format_decimal_padded(&text, value % 5000, 3);
        snprintf(want, sizeof want, "%llu 0x%llx %03llu", (unsigned long long)value, (unsigned long long)value,
                 (unsigned long long)(value % 5000));
        CHECK(strcmp(got, want) == 0);
        CHECK_EQ(text.length, strlen(want));
        CHECK(!text.truncated);
    }
}

static void format_string__is_cut_when_buffer_is_full(void)
{
    static const char words[] = "0123456789";
    for (size_t capacity = 1; capacity <= sizeof words + 2; capacity++) {
        char buffer[sizeof words + 4];
        struct sj_text text;
        memset(buffer, '#', sizeof buffer);
        sj__format_start(&text, buffer, capacity);
        sj__format_string(&text, words);
        const size_t fits = capacity > sizeof words - 1 ? sizeof words - 1 : capacity - 1;
        CHECK_EQ(text.length, fits);
        CHECK(memcmp(buffer, words, fits) == 0);
        CHECK_EQ(buffer[fits], 0);
        CHECK(text.truncated == (fits < sizeof words - 1));
        for (size_t i = capacity; i < sizeof buffer; i++)
            CHECK_EQ(buffer[i], '#');
    }
}

static void format_string__adds_nothing_when_null(void)
{
    char buffer[8];
    struct sj_text text;
    sj__format_start(&text, buffer, sizeof buffer);
    sj__format_string(&text, NULL);
    CHECK_EQ(text.length, 0);
    CHECK(strcmp(buffer, "") == 0);
}

static void format_printable__replaces_when_bytes_are_not_ascii(void)
{
    char buffer[32];
    struct sj_text text;
    sj__format_start(&text, buffer, sizeof buffer);
    sj__format_printable(&text, "a\033[1m\n\t\xc3\xa9~ z", 32);
    CHECK(strcmp(buffer, "a?[1m????~ z") == 0);
    sj__format_start(&text, buffer, sizeof buffer);
    sj__format_printable(&text, "abcdef", 3);
    CHECK(strcmp(buffer, "abc") == 0);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(format_numbers__equal_printf_when_random);
    RUN(format_string__is_cut_when_buffer_is_full);
    RUN(format_string__adds_nothing_when_null);
    RUN(format_printable__replaces_when_bytes_are_not_ascii);
    return unit_end();
}
