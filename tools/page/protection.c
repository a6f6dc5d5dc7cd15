/* SPDX-License-Identifier: MIT
 *
 * What: see protection.h.
 *
 * Why this way: see protection.h.
 */
#include "page/protection.h"

#include <stdlib.h>
#include <string.h>

#include "bench/text.h"
#include "ladder.h"

enum { PROTECTION_VALUE_BYTES = 64 };

/* A rung of the ladder that protects more with one value than with another. */
static bool protection_counts(const struct sj_option *option)
{
    return sj__option_is_in_levels(option) && option->strengths[0] != '\0';
}

static uint8_t protection_value(const struct sj_option *option, const struct sj_settings *settings)
{
    return ((const uint8_t *)settings)[option->offset];
}

unsigned page_protection_count(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < sj__options_count; i++)
        count += protection_counts(&sj__options_table[i]);
    return count;
}

/* The arm itself has warned of what it did not use. */
static void leave_unsaid(const char *what, const char *detail)
{
    (void)what;
    (void)detail;
}

struct page_protection page_protection_of(const struct bench_arm *arm)
{
    static const char key[] = "SCRUBJAY_OPTIONS=";
    struct page_protection protection = { .known = arm->ours || strstr(arm->library, "scrubjay") != NULL };
    if (!protection.known)
        return protection;
    sj__options_start(&protection.settings, SJ_LEVEL_DEFAULT);
    for (size_t i = 0; i < arm->variable_count; i++)
        if (strncmp(arm->variables[i], key, sizeof key - 1) == 0)
            (void)sj__options_apply(&protection.settings, arm->variables[i] + sizeof key - 1, SJ_SOURCE_ENVIRONMENT,
                                    leave_unsaid);
    for (size_t i = 0; i < sj__options_count; i++) {
        const struct sj_option *option = &sj__options_table[i];
        protection.on +=
            protection_counts(option) && option->strengths[protection_value(option, &protection.settings)] > '0';
    }
    return protection;
}

static bool protection_differs(const struct sj_option *option, const struct page_protection *base,
                               const struct page_protection *head)
{
    return protection_counts(option) &&
           protection_value(option, &base->settings) != protection_value(option, &head->settings);
}

char *page_protection_added(const struct page_protection *base, const struct page_protection *head)
{
    char *text = bench_format("%s", "");
    for (size_t i = 0; i < sj__options_count; i++) {
        const struct sj_option *option = &sj__options_table[i];
        if (!protection_differs(option, base, head))
            continue;
        char value[PROTECTION_VALUE_BYTES];
        sj__options_value(option, &head->settings, value, sizeof value);
        char *longer = bench_format("%s%s%s=%s", text, text[0] != '\0' ? ", " : "", option->name, value);
        free(text);
        text = longer;
    }
    return text;
}

bool page_protection_is_level(const struct page_protection *protection)
{
    struct page_protection plain = { 0 };
    sj__options_start(&plain.settings, protection->settings.level);
    char *extra = page_protection_added(&plain, protection);
    bool is_level = protection->known && extra[0] == '\0';
    free(extra);
    return is_level;
}

int page_protection_single(const struct page_protection *base, const struct page_protection *head)
{
    int found = -1;
    for (size_t i = 0; i < sj__options_count; i++) {
        if (!protection_differs(&sj__options_table[i], base, head))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}
