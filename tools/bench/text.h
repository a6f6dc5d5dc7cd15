/* SPDX-License-Identifier: MIT
 *
 * What: the engine's few string and file helpers.
 *
 * Why this way: the command is a short-lived tool: a failed allocation ends it, so that no caller has to care, and what
 * lives as long as the session is never freed.
 *
 * Invariants: every returned string is the caller's, from malloc.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_TEXT_H
#define SJ_BENCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define BENCH_PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

BENCH_PRINTF_LIKE(1, 2) char *bench_format(const char *format, ...);

char *bench_copy(const char *text, size_t length);

/* Says why on stderr, after "scrubjay COMMAND: ", and ends with EX_USAGE (64). */
BENCH_PRINTF_LIKE(1, 2) _Noreturn void bench_die(const char *format, ...);

/* Progress and warnings, on stderr. */
BENCH_PRINTF_LIKE(1, 2) void bench_say(const char *format, ...);

/* text with every `{name}` replaced by `value`. */
char *bench_replace(const char *text, const char *name, const char *value);

/* A word as the shell reads it back: in quotes if it needs them. */
char *bench_quote(const char *word);

/* The folder this program lies in. */
char *bench_own_folder(void);

/* Cuts text in place at blanks into words[0 ... return - 1]; words[return] is NULL. At most `room` - 1 words are taken. */
size_t bench_split_blanks(char *text, char **words, size_t room);

/* The first line of a file without its end, or NULL. */
char *bench_first_line(const char *path);

/* The rest of the first line of `path` that begins with `key`, after a colon and blanks; or NULL. */
char *bench_line_value(const char *path, const char *key);

/* Copies a file byte by byte, mode 0755; false with errno. */
bool bench_copy_file(const char *from, const char *to);

/* mkdir -p */
bool bench_make_directory(const char *path);

/* A new folder for files that the session needs; it is removed with all in it when the program ends. */
char *bench_make_scratch(void);

/* Bytes of the UTF-8 character that begins here, 0 if none does. */
size_t bench_utf8_length(const unsigned char *at);

/* Puts a ? in the place of what a terminal may act on: control characters, those of 0x80 to 0x9f too, and what is not UTF-8.
 * Returns the text. */
char *bench_tame(char *text);

/* Writes text as a JSON string, quotes included; a byte that is not UTF-8 becomes U+FFFD. */
void bench_json_string(FILE *out, const char *text);

#endif
