/* SPDX-License-Identifier: MIT
 *
 * What: the options: their table, the parser of option texts, and the settings that follow from all sources.
 *
 * Why this way: pure text in, plain data out, so that the library, the command and the tests run the same code. Nothing
 * here reads a file or the environment: the caller passes the raw texts.
 *
 * Invariants: sources apply in the order level default, text linked into the program, /etc/scrubjay.conf (its lines
 * before any section, then the lines of the sections of this program), environment; later overrides earlier. Within
 * one text the level comes first, then the single options from left to right. Nothing ends under the floor. An unknown
 * key or a bad value is warned about once and not used. The result is always valid.
 *
 * Concurrency: no globals; async-signal-safe if `warn` is.
 */
#ifndef SJ_POLICY_OPTIONS_H
#define SJ_POLICY_OPTIONS_H

#include "policy/policy.h"

enum sj_option_source { SJ_SOURCE_LINKED, SJ_SOURCE_FILE, SJ_SOURCE_ENVIRONMENT, SJ_SOURCE_COMMAND };

enum sj_option_kind {
    SJ_OPTION_LEVEL,
    SJ_OPTION_CHOICE,
    SJ_OPTION_SEED,
    SJ_OPTION_AGE,
    SJ_OPTION_SIZE,
    SJ_OPTION_COUNT,
    SJ_OPTION_TARGET
};

/* One row of the table, as the parser needs it. */
struct sj_option {
    const char *name;
    const char *values; /* separated by '|'; a CHOICE's value is the index here; a TARGET's one of these forms; of other
                              kinds a description */
    const char *strengths; /* a digit a value, larger protects more; "" if it is no protection */
    uint16_t offset;       /* of the member in struct sj_settings */
    uint16_t bytes;        /* of the member */
    uint8_t kind;          /* enum sj_option_kind */
};

extern const struct sj_option sj__options_table[];
extern const size_t sj__options_count;

enum { SJ_OPTIONS_TEXT_BYTES = 2048 }; /* holds the text of any settings */

/* A warning: one line in two parts, either may be NULL. sj__report_warn has this type. */
#define SJ_OPTIONS_WARN(name) void (*name)(const char *what, const char *detail)

/* The raw texts of all sources; any may be NULL. */
struct sj_option_texts {
    const char *linked;      /* scrubjay_default_options, linked into the program */
    const char *file;        /* the contents of /etc/scrubjay.conf */
    const char *program;     /* base name of the program, for the file's [sections] */
    const char *environment; /* SCRUBJAY_OPTIONS; not looked at if `secure` */
    const char *disable;     /* SCRUBJAY_DISABLE; not looked at if `secure` */
    bool secure;             /* AT_SECURE: set-user-id and the like */
};

/* Works out the settings from all sources. Always succeeds. */
void sj__options_settle(struct sj_settings *settings, const struct sj_option_texts *texts, SJ_OPTIONS_WARN(warn));

/* The settings of a level and nothing else: what sj__options_settle gives when all texts are NULL. */
void sj__options_start(struct sj_settings *settings, unsigned level);

/* Raises to `level`: every option of struct sj_policy that is weaker than the level has it
 * becomes as strong; others, and how the process reports, stay. */
void sj__options_raise(struct sj_settings *settings, unsigned level);

/* Applies the text of an arena on top of the program's settings: options of the ladder, limit_bytes and exhausted. Nothing goes
 * under the floor. Returns the number of items that were not used. */
unsigned sj__options_arena(struct sj_settings *settings, const char *text);

/* Applies one text `key=value,key=value` (':' separates too, but not behind the key of a TARGET, whose value may have
 * colons; empty items are skipped) on top of `settings`. Returns the
 * number of items that were not used. `floor` is an unknown key here: it belongs in the file. */
unsigned sj__options_apply(struct sj_settings *settings, const char *text, enum sj_option_source source,
                           SJ_OPTIONS_WARN(warn));

/* Writes the options in force, `level=2,random=on,...`, NUL-terminated; returns the length it has, or would have had
 * if `bytes` had sufficed, as snprintf does. bytes may be 0. A text that fits can be parsed back to the same settings. */
size_t sj__options_print(const struct sj_settings *settings, char *buffer, size_t bytes);

/* The row called `name`, or NULL. */
const struct sj_option *sj__options_find(const char *name, size_t length);

/* The value of an option as text: "on", "run", "2"; for the table of levels too. A SEED that is not set is "". */
void sj__options_value(const struct sj_option *option, const struct sj_settings *settings, char *buffer, size_t bytes);

#endif
