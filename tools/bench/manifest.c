/* SPDX-License-Identifier: MIT
 *
 * What: see manifest.h.
 *
 * Why this way: see manifest.h.
 */
#include "bench/manifest.h"

#include <ctype.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/text.h"

enum { MANIFEST_FIELDS = 5 };

struct manifest_place {
    const char *path;
    size_t line;
};

static char *manifest_fill(const char *text, const char *bin, const char *dir)
{
    char *with_bin = bench_replace(text, "{bin}", bin);
    char *with_dir = bench_replace(with_bin, "{dir}", dir);
    free(with_bin);
    return with_dir;
}

/* Cuts blanks from both ends, in place. */
static char *manifest_trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\n", text[length - 1]) != NULL)
        text[--length] = '\0';
    return text;
}

static void manifest_read_kind(struct bench_workload *workload, char *text, const struct manifest_place *place)
{
    char *rest = NULL;
    const char *kind = strtok_r(text, ",", &rest);
    if (kind == NULL || (strcmp(kind, "real") != 0 && strcmp(kind, "micro") != 0))
        bench_die("%s:%zu: kind must be micro or real", place->path, place->line);
    workload->real = strcmp(kind, "real") == 0;
    for (const char *word = strtok_r(NULL, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        if (strcmp(word, "stdout=ignore") == 0)
            workload->ignore_stdout = true;
        else if (strcmp(word, "stderr=ignore") == 0)
            workload->ignore_stderr = true;
        else
            bench_die("%s:%zu: unknown word in kind: %s", place->path, place->line, word);
    }
}

static struct bench_workload manifest_parse(char *line, const char *bin, const char *dir,
                                            const struct manifest_place *place)
{
    char *fields[MANIFEST_FIELDS];
    for (size_t i = 0; i < MANIFEST_FIELDS; i++) {
        char *bar = i + 1 < MANIFEST_FIELDS ? strchr(line, '|') : NULL;
        if (bar == NULL && i + 1 < MANIFEST_FIELDS)
            bench_die("%s:%zu: needs name|kind|threads|prepare|command", place->path, place->line);
        if (bar != NULL)
            *bar = '\0';
        fields[i] = manifest_trim(line);
        if (bar != NULL)
            line = bar + 1;
    }
    struct bench_workload workload = { 0 };
    workload.name = bench_copy(fields[0], strlen(fields[0]));
    manifest_read_kind(&workload, fields[1], place);
    workload.threads = (unsigned)strtoul(fields[2], NULL, 10);
    if (workload.name[0] == '\0' || !isdigit((unsigned char)fields[2][0]) || fields[4][0] == '\0')
        bench_die("%s:%zu: name, threads or command is missing", place->path, place->line);
    workload.prepare = strcmp(fields[3], "-") == 0 ? NULL : manifest_fill(fields[3], bin, dir);
    workload.command = manifest_fill(fields[4], bin, dir);
    return workload;
}

static bool manifest_wanted(const char *name, char *const *patterns, size_t pattern_count)
{
    for (size_t i = 0; i < pattern_count; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return pattern_count == 0;
}

void bench_manifest_read(struct bench_manifest *manifest, const char *path, const char *bin, const char *dir,
                         char *const *patterns, size_t pattern_count)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        bench_die("%s cannot be read", path);
    manifest->items = calloc(BENCH_WORKLOADS_MAX, sizeof *manifest->items);
    if (manifest->items == NULL)
        abort();
    struct manifest_place place = { path, 0 };
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) >= 0) {
        place.line++;
        char *text = manifest_trim(line);
        if (text[0] == '\0' || text[0] == '#')
            continue;
        if (manifest->count == BENCH_WORKLOADS_MAX)
            bench_die("%s:%zu: too many workloads", path, place.line);
        struct bench_workload workload = manifest_parse(text, bin, dir, &place);
        if (manifest_wanted(workload.name, patterns, pattern_count))
            manifest->items[manifest->count++] = workload;
    }
    free(line);
    fclose(file);
}

/* The absolute path of a program, by PATH if it has no slash; NULL if there is none. */
static char *manifest_find_program(const char *name)
{
    if (strchr(name, '/') != NULL)
        return access(name, X_OK) == 0 ? realpath(name, NULL) : NULL;
    const char *path = getenv("PATH");
    char *copy = bench_copy(path != NULL ? path : "/usr/bin:/bin", PATH_MAX);
    char *rest = NULL;
    char *found = NULL;
    for (const char *folder = strtok_r(copy, ":", &rest); folder != NULL && found == NULL;
         folder = strtok_r(NULL, ":", &rest)) {
        found = bench_format("%s/%s", folder, name);
        if (access(found, X_OK) != 0) {
            free(found);
            found = NULL;
        }
    }
    free(copy);
    return found;
}

bool bench_needs_shell(const char *command)
{
    return strpbrk(command, "|&;<>()$`\\\"'*?[]#~") != NULL;
}

/* Takes the VARIABLE=VALUE words off the front of the words; the number of those. */
static size_t manifest_take_variables(struct bench_workload *workload, char *const *words)
{
    size_t count = 0;
    while (words[count] != NULL && strchr(words[count], '=') != NULL && count < BENCH_WORKLOAD_VARIABLES_MAX) {
        workload->variables[count] = words[count];
        count++;
    }
    workload->variables[count] = NULL;
    return count;
}

/* The base name of the program that a command begins with. */
static char *manifest_name(const char *command)
{
    size_t length = strcspn(command, " \t");
    const char *slash = memrchr(command, '/', length);
    size_t folder = slash != NULL ? (size_t)(slash + 1 - command) : 0;
    return bench_copy(command + folder, length - folder);
}

void bench_manifest_take_line(struct bench_manifest *manifest, const char *line, unsigned threads)
{
    static struct bench_workload workload;
    workload = (struct bench_workload){
        .name = manifest_name(line), .real = true, .threads = threads, .command = bench_copy(line, strlen(line))
    };
    *manifest = (struct bench_manifest){ .items = &workload, .count = 1 };
}

void bench_manifest_take(struct bench_manifest *manifest, char **words, unsigned threads)
{
    bench_manifest_take_line(manifest, words[0], threads);
    struct bench_workload *workload = &manifest->items[0];
    workload->command[0] = '\0';
    for (size_t i = 0; words[i] != NULL; i++) {
        if (i + 1 == BENCH_WORDS_MAX)
            bench_die("a command of more than %d words; put it into a script", BENCH_WORDS_MAX - 1);
        workload->words[i] = words[i];
        char *quoted = bench_quote(words[i]);
        char *longer = bench_format("%s%s%s", workload->command, i > 0 ? " " : "", quoted);
        free(quoted);
        free(workload->command);
        workload->command = longer;
    }
}

bool bench_workload_resolve(struct bench_workload *workload)
{
    if (workload->words[0] != NULL) {
        char *program = manifest_find_program(workload->words[0]);
        if (program != NULL)
            workload->words[0] = program;
        return program != NULL;
    }
    if (bench_needs_shell(workload->command)) {
        workload->words[0] = bench_copy("/bin/sh", 7);
        workload->words[1] = bench_copy("-c", 2);
        workload->words[2] = workload->command;
        return true;
    }
    char *words[BENCH_WORDS_MAX];
    char *copy = bench_copy(workload->command, strlen(workload->command));
    size_t count = bench_split_blanks(copy, words, BENCH_WORDS_MAX);
    size_t taken = manifest_take_variables(workload, words);
    char *program = taken < count ? manifest_find_program(words[taken]) : NULL;
    if (program == NULL)
        return false;
    memcpy(workload->words, words + taken, (count - taken + 1) * sizeof *words);
    workload->words[0] = program;
    return true;
}
