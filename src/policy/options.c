/* SPDX-License-Identifier: MIT
 *
 * What: the table of options, and the reading and printing of one `key=value` text.
 *
 * Why this way: texts are cut into slices, never copied: the parser runs before there is a heap. How the sources are
 * put together stands in settle.c.
 *
 * Invariants: see options.h.
 *
 * Concurrency: see options.h.
 */
#include "policy/options.h"

#include "base/format.h"
#include "policy/parser.h"

#include <string.h>

const struct sj_option sj__options_table[] = {
#define SJ_OPTION(name, kind, member, values, strengths, summary, threat, cost, detail) \
    { #name,                                                                            \
      values,                                                                           \
      strengths,                                                                        \
      (uint16_t)offsetof(struct sj_settings, member),                                   \
      (uint16_t)sizeof(((struct sj_settings *)0)->member),                              \
      SJ_OPTION_##kind },
#include "policy/options.def"
#undef SJ_OPTION
};

const size_t sj__options_count = sizeof sj__options_table / sizeof sj__options_table[0];

static bool same_slice(struct sj_slice a, struct sj_slice b)
{
    if (a.length != b.length)
        return false;
    for (size_t i = 0; i < a.length; i++) {
        if (a.start[i] != b.start[i])
            return false;
    }
    return true;
}

bool sj__slice_is(struct sj_slice slice, const char *word)
{
    size_t length = 0;
    while (word[length] != '\0')
        length++;
    return same_slice(slice, (struct sj_slice){ word, length });
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct sj_slice sj__slice_trim(const char *start, const char *end)
{
    while (start < end && is_blank(*start))
        start++;
    while (start < end && is_blank(end[-1]))
        end--;
    return (struct sj_slice){ start, (size_t)(end - start) };
}

const struct sj_option *sj__options_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sj__options_count; i++) {
        if (sj__slice_is((struct sj_slice){ name, length }, sj__options_table[i].name))
            return &sj__options_table[i];
    }
    return NULL;
}

/* The index-th of the words in "a|b|c"; length 0 if there are fewer. */
static struct sj_slice choice_word(const char *words, unsigned index)
{
    for (; index > 0; index--) {
        while (*words != '\0' && *words != '|')
            words++;
        if (*words == '|')
            words++;
    }
    size_t length = 0;
    while (words[length] != '\0' && words[length] != '|')
        length++;
    return (struct sj_slice){ words, length };
}

bool sj__slice_read_bool(struct sj_slice value, uint8_t *result)
{
    static const char *const words[][4] = { { "off", "0", "false", "no" }, { "on", "1", "true", "yes" } };
    for (unsigned which = 0; which < 2; which++) {
        for (unsigned i = 0; i < 4; i++) {
            if (sj__slice_is(value, words[which][i])) {
                *result = (uint8_t)which;
                return true;
            }
        }
    }
    return false;
}

/* Its first values are off and on, so the other words for these are good too. */
static bool is_switch(const struct sj_option *option)
{
    return sj__slice_is(choice_word(option->values, 0), "off") && sj__slice_is(choice_word(option->values, 1), "on");
}

bool sj__option_is_word(const struct sj_option *option, struct sj_slice value)
{
    uint8_t is_on;
    return is_switch(option) && sj__slice_read_bool(value, &is_on);
}

static bool read_choice(const struct sj_option *option, struct sj_slice value, uint8_t *result)
{
    if (is_switch(option) && sj__slice_read_bool(value, result))
        return true;
    for (unsigned index = 0;; index++) {
        struct sj_slice word = choice_word(option->values, index);
        if (word.length == 0)
            return false;
        if (same_slice(word, value)) {
            *result = (uint8_t)index;
            return true;
        }
    }
}

bool sj__slice_read_number(struct sj_slice value, uint64_t *result)
{
    const bool hex = value.length > 2 && value.start[0] == '0' && (value.start[1] == 'x' || value.start[1] == 'X');
    const uint64_t base = hex ? 16 : 10;
    uint64_t number = 0;
    for (size_t i = hex ? 2 : 0; i < value.length; i++) {
        const char c = value.start[i];
        uint64_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint64_t)(c - '0');
        else if (hex && c >= 'a' && c <= 'f')
            digit = (uint64_t)(c - 'a') + 10;
        else if (hex && c >= 'A' && c <= 'F')
            digit = (uint64_t)(c - 'A') + 10;
        else
            return false;
        if (__builtin_mul_overflow(number, base, &number) || __builtin_add_overflow(number, digit, &number))
            return false;
    }
    *result = number;
    return value.length > 0;
}

/* A number with k, m or g behind it. */
static bool read_size(struct sj_slice value, uint64_t *result)
{
    static const char units[] = "kmg";
    unsigned shift = 0;
    uint64_t number;
    for (unsigned i = 0; value.length > 0 && shift == 0 && units[i] != '\0'; i++)
        if ((value.start[value.length - 1] | 0x20) == units[i])
            shift = 10 * (i + 1);
    if (shift > 0)
        value.length--;
    if (!sj__slice_read_number(value, &number) || number > (uint64_t)INT64_MAX >> shift)
        return false;
    *result = number << shift;
    return true;
}

static bool read_count(struct sj_slice value, uint32_t *result)
{
    uint64_t number;
    bool is_off = sj__slice_is(value, "off");
    if (!is_off && (!sj__slice_read_number(value, &number) || number > UINT32_MAX))
        return false;
    *result = is_off ? 0 : (uint32_t)number;
    return true;
}

static bool read_age(struct sj_slice value, int64_t *result)
{
    uint64_t number;
    if (sj__slice_is(value, "-1"))
        *result = -1;
    else if (sj__slice_read_number(value, &number) && number <= INT64_MAX)
        *result = (int64_t)number;
    else
        return false;
    return true;
}

/* The bytes of a form before what the user fills in: with its last colon; 0 if it has none. */
static size_t form_prefix(struct sj_slice form)
{
    while (form.length > 0 && form.start[form.length - 1] != ':')
        form.length--;
    return form.length;
}

/* False if it is too long, or has what would break a line. */
static bool keep_target(struct sj_slice value, char *member, size_t member_bytes)
{
    for (size_t i = 0; i < value.length; i++)
        if ((unsigned char)value.start[i] < ' ')
            return false;
    if (value.length >= member_bytes)
        return false;
    memcpy(member, value.start, value.length);
    member[value.length] = '\0';
    return true;
}

static bool is_descriptor(struct sj_slice value)
{
    enum { DIGITS_MAX = 9 };
    for (size_t i = 0; i < value.length; i++)
        if (value.start[i] < '0' || value.start[i] > '9')
            return false;
    return value.length <= DIGITS_MAX;
}

static bool read_target(const struct sj_option *option, struct sj_slice value, char *member)
{
    uint8_t is_on;
    if (is_switch(option) && sj__slice_read_bool(value, &is_on))
        value = choice_word(option->values, is_on);
    for (unsigned index = 0;; index++) {
        const struct sj_slice form = choice_word(option->values, index);
        const size_t prefix = form_prefix(form);
        if (form.length == 0)
            return false;
        if (prefix == 0 && same_slice(form, value))
            return keep_target(index == 0 ? (struct sj_slice){ form.start, 0 } : value, member, option->bytes);
        if (prefix == 0 || value.length < prefix ||
            !same_slice((struct sj_slice){ form.start, prefix }, (struct sj_slice){ value.start, prefix }))
            continue;
        const struct sj_slice filled = { value.start + prefix, value.length - prefix };
        if (filled.length == 0 || (form.start[prefix] == 'N' && !is_descriptor(filled)))
            return false;
        return keep_target(value, member, option->bytes);
    }
}

static uint8_t *member_of(struct sj_settings *settings, const struct sj_option *option)
{
    return (uint8_t *)settings + option->offset;
}

uint8_t sj__option_read(const struct sj_settings *settings, const struct sj_option *option)
{
    sj_assert(option->kind <= SJ_OPTION_CHOICE);
    return ((const uint8_t *)settings)[option->offset];
}

void sj__option_write(struct sj_settings *settings, const struct sj_option *option, uint8_t value)
{
    sj_assert(option->kind <= SJ_OPTION_CHOICE);
    *member_of(settings, option) = value;
}

void sj__options_start(struct sj_settings *settings, unsigned level)
{
    sj_assert(level <= SJ_LEVEL_MAX);
    *settings = (struct sj_settings){ .policy = sj__policy_levels[level],
                                      .level = (uint8_t)level,
                                      .foreign = SJ_FOREIGN_REPORT,
                                      .live = 1,
                                      .sample_rate = SJ_SAMPLE_RATE_DEFAULT,
                                      .stats_ms = SJ_STATS_MS_DEFAULT,
                                      .hold = SJ_HOLD_DEFAULT,
                                      .profile_rate = SJ_PROFILE_RATE_DEFAULT };
}

/* A level sets the whole ladder; the seed is no part of it. */
static bool apply_level(struct sj_settings *settings, struct sj_slice value)
{
    uint64_t level;
    if (!sj__slice_read_number(value, &level) || level > SJ_LEVEL_MAX)
        return false;
    const uint8_t fixed_seed = settings->policy.fixed_seed;
    settings->policy = sj__policy_levels[level];
    settings->policy.fixed_seed = fixed_seed;
    settings->level = (uint8_t)level;
    return true;
}

bool sj__option_apply(struct sj_settings *settings, const struct sj_option *option, struct sj_slice value)
{
    switch ((enum sj_option_kind)option->kind) {
    case SJ_OPTION_LEVEL: return apply_level(settings, value);
    case SJ_OPTION_CHOICE: return read_choice(option, value, member_of(settings, option));
    case SJ_OPTION_SEED:
        if (!sj__slice_read_number(value, &settings->seed))
            return false;
        settings->policy.fixed_seed = 1;
        return true;
    case SJ_OPTION_AGE: return read_age(value, (int64_t *)(void *)member_of(settings, option));
    case SJ_OPTION_SIZE: return read_size(value, (uint64_t *)(void *)member_of(settings, option));
    case SJ_OPTION_COUNT: return read_count(value, (uint32_t *)(void *)member_of(settings, option));
    case SJ_OPTION_TARGET: return read_target(option, value, (char *)member_of(settings, option));
    }
    return false;
}

static void format_number(struct sj_text *text, const void *member)
{
    int64_t value;
    memcpy(&value, member, sizeof value);
    if (value < 0)
        sj__format_char(text, '-');
    sj__format_decimal(text, (uint64_t)(value < 0 ? -value : value));
}

static void format_value(struct sj_text *text, const struct sj_option *option, const struct sj_settings *settings)
{
    switch ((enum sj_option_kind)option->kind) {
    case SJ_OPTION_LEVEL: sj__format_decimal(text, settings->level); break;
    case SJ_OPTION_CHOICE: {
        const struct sj_slice word = choice_word(option->values, sj__option_read(settings, option));
        sj__format_bytes(text, word.start, word.length);
        break;
    }
    case SJ_OPTION_SEED:
        if (settings->policy.fixed_seed)
            sj__format_hex(text, settings->seed);
        break;
    case SJ_OPTION_COUNT: {
        uint32_t value;
        memcpy(&value, (const char *)settings + option->offset, sizeof value);
        sj__format_decimal(text, value);
        break;
    }
    case SJ_OPTION_AGE:
    case SJ_OPTION_SIZE: format_number(text, (const char *)settings + option->offset); break;
    case SJ_OPTION_TARGET: {
        const char *value = (const char *)settings + option->offset;
        const struct sj_slice first = choice_word(option->values, 0);
        if (value[0] == '\0')
            sj__format_bytes(text, first.start, first.length);
        else
            sj__format_string(text, value);
        break;
    }
    }
}

void sj__options_value(const struct sj_option *option, const struct sj_settings *settings, char *buffer, size_t bytes)
{
    struct sj_text text;
    sj__format_start(&text, buffer, bytes);
    format_value(&text, option, settings);
}

size_t sj__options_print(const struct sj_settings *settings, char *buffer, size_t bytes)
{
    char whole[SJ_OPTIONS_TEXT_BYTES];
    struct sj_text text;
    sj__format_start(&text, whole, sizeof whole);
    for (size_t i = 0; i < sj__options_count; i++) {
        const struct sj_option *option = &sj__options_table[i];
        if (option->kind == SJ_OPTION_SEED && !settings->policy.fixed_seed)
            continue;
        if (text.length > 0)
            sj__format_char(&text, ',');
        sj__format_string(&text, option->name);
        sj__format_char(&text, '=');
        format_value(&text, option, settings);
    }
    sj_assert(!text.truncated);
    if (bytes > 0) {
        struct sj_text copy;
        sj__format_start(&copy, buffer, bytes);
        sj__format_bytes(&copy, text.start, text.length);
    }
    return text.length;
}
