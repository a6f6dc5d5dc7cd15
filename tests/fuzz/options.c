/* SPDX-License-Identifier: MIT */
/*
 * What: the texts that options come from: linked in, /etc/scrubjay.conf with its sections, the environment.
 *
 * Why this way: the input is these texts with a NUL between them. Whatever they are, the settings must be valid: their own
 * text must give them again without a warning, and nothing may be weaker than the file's floor, which is found by taking
 * the file with a line `floor=N` in front.
 *
 * Invariants: warnings are bounded texts without control characters.
 *
 * Concurrency: one input at a time.
 */
#include "fuzz/target.h"

#include <string.h>

#include "policy/options.h"
#include "policy/parser.h"

enum { TEXTS = 5, WARNING_BYTES = 512 };

static unsigned warnings;

static void warn(const char *what, const char *detail)
{
    const char *texts[] = { what, detail };
    for (size_t i = 0; i < 2; i++) {
        size_t length = texts[i] != NULL ? strlen(texts[i]) : 0;
        FUZZ_CHECK(length < WARNING_BYTES);
        for (size_t at = 0; at < length; at++)
            FUZZ_CHECK((unsigned char)texts[i][at] >= ' ');
    }
    warnings++;
}

static void must_be_valid(const struct sj_settings *settings)
{
    char text[SJ_OPTIONS_TEXT_BYTES], again[SJ_OPTIONS_TEXT_BYTES];
    struct sj_settings read_back;
    size_t length = sj__options_print(settings, text, sizeof text);
    FUZZ_CHECK(length < sizeof text && strlen(text) == length);
    FUZZ_CHECK(settings->level <= SJ_LEVEL_MAX);
    sj__options_start(&read_back, 0);
    warnings = 0;
    FUZZ_CHECK(sj__options_apply(&read_back, text, SJ_SOURCE_COMMAND, warn) == 0);
    FUZZ_CHECK(warnings == 0);
    sj__options_print(&read_back, again, sizeof again);
    FUZZ_CHECK(strcmp(text, again) == 0);
    FUZZ_CHECK(memcmp(&read_back.policy, &settings->policy, sizeof settings->policy) == 0);
}

static void must_not_be_under(const struct sj_settings *settings, unsigned floor)
{
    struct sj_settings least;
    sj__options_start(&least, floor);
    for (size_t i = 0; i < sj__options_count; i++) {
        const struct sj_option *option = &sj__options_table[i];
        if (option->strengths[0] != '\0')
            FUZZ_CHECK(option->strengths[sj__option_read(settings, option)] >=
                       option->strengths[sj__option_read(&least, option)]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *room = malloc(size + 1), *texts[TEXTS];
    FUZZ_CHECK(room != NULL);
    memcpy(room, data, size);
    room[size] = '\0';
    size_t count = 0;
    for (char *at = room; count < TEXTS && at <= room + size; at += strlen(at) + 1)
        texts[count++] = at;
    while (count < TEXTS)
        texts[count++] = NULL;
    struct sj_option_texts all = { texts[0], texts[1], texts[2], texts[3], texts[4], (size & 7) == 0 };
    struct sj_settings settings;
    sj__options_settle(&settings, &all, warn);
    must_be_valid(&settings);
    for (unsigned floor = 0; floor <= SJ_LEVEL_MAX && texts[1] != NULL; floor++) {
        char *file = malloc(size + 32);
        FUZZ_CHECK(file != NULL);
        /* A later floor in the file itself would be the one that counts. */
        if (strstr(texts[1], "floor") == NULL) {
            snprintf(file, size + 32, "floor=%u\n%s", floor, texts[1]);
            all.file = file;
            sj__options_settle(&settings, &all, warn);
            must_be_valid(&settings);
            must_not_be_under(&settings, floor);
        }
        free(file);
    }
    free(room);
    return 0;
}
