/* SPDX-License-Identifier: MIT */
/*
 * What: what a subcommand says, caught, and the rule for it.
 *
 * Why this way: what comes from a file or from another process ends on somebody's terminal, which acts on control characters.
 *
 * Invariants: while it is caught, stdout and stderr are streams of memory; a FUZZ_CHECK in between would not be seen.
 *
 * Concurrency: one input at a time.
 */
#ifndef SJ_TESTS_FUZZ_SAID_H
#define SJ_TESTS_FUZZ_SAID_H

#include <stdbool.h>

#include "bench/text.h"
#include "fuzz/target.h"

struct said {
    FILE *real[2], *caught[2];
    char *text[2]; /* stdout's, stderr's */
    size_t bytes[2];
};

__attribute__((unused)) static void said_begin(struct said *said)
{
    *said = (struct said){ .real = { stdout, stderr } };
    for (int i = 0; i < 2; i++) {
        said->caught[i] = open_memstream(&said->text[i], &said->bytes[i]);
        FUZZ_CHECK(said->caught[i] != NULL);
    }
    stdout = said->caught[0];
    stderr = said->caught[1];
}

__attribute__((unused)) static void said_end(struct said *said)
{
    stdout = said->real[0];
    stderr = said->real[1];
    for (int i = 0; i < 2; i++)
        fclose(said->caught[i]);
}

/* Only lines of UTF-8 without control characters, those of 0x80 to 0x9f among them. */
static bool said_is_tame(const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + bytes;
    while (at < end) {
        const size_t length = bench_utf8_length(at);
        if (length == 0 || (length == 1 && *at != '\n' && (*at < ' ' || *at > '~')) || (*at == 0xc2 && at[1] < 0xa0)) {
            fprintf(stderr, "byte 0x%02x at %zu of: %s\n", *at, (size_t)(at - (const unsigned char *)text), text);
            return false;
        }
        at += length;
    }
    return true;
}

__attribute__((unused)) static void said_free(struct said *said)
{
    free(said->text[0]);
    free(said->text[1]);
}

#endif
