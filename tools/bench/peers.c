/* SPDX-License-Identifier: MIT
 *
 * What: see peers.h.
 *
 * Why this way: see peers.h.
 */
#include "bench/peers.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/text.h"
#include "ladder.h"
#include "library.h"

enum { PEERS_VALUE_BYTES = 32, PEERS_VALUES_MAX = 16 };

/* Patterns below a library folder, or from the root. */
static const struct peers_row {
    const char *name;
    const char *pattern;
} PEERS[] = {
    { "jemalloc", "libjemalloc.so.2" },
    { "mimalloc", "libmimalloc.so.[0-9]" },
    { "tcmalloc", "libtcmalloc_minimal.so.[0-9]" },
    { "tbbmalloc", "libtbbmalloc_proxy.so.[0-9]" },
    { "scudo", "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.scudo_standalone-x86_64.so" },
};

static const char *const PEERS_FOLDERS[] = { "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib" };

const char *bench_library(const struct bench_options *options)
{
    static char path[PATH_MAX];
    struct sj_elf_facts facts;
    const struct sj_launch launch = { .library = options->library };
    if (path[0] == '\0' && !sj__library_find(&launch, path, sizeof path, &facts))
        bench_die("no library to measure; --library PATH names it");
    return path;
}

void bench_add_glibc(struct bench_arms *arms)
{
    bench_arms_add(arms, "glibc=", true);
}

/* The first file that matches, or NULL. */
static char *peers_find(const char *pattern)
{
    glob_t found;
    char *path = NULL;
    if (glob(pattern, 0, NULL, &found) == 0)
        path = bench_copy(found.gl_pathv[0], PATH_MAX);
    globfree(&found);
    return path;
}

static char *peers_find_in_folders(const char *pattern)
{
    char *path = NULL;
    for (size_t i = 0; i < sizeof PEERS_FOLDERS / sizeof PEERS_FOLDERS[0] && path == NULL; i++) {
        char *whole = bench_format("%s/%s", PEERS_FOLDERS[i], pattern);
        path = peers_find(whole);
        free(whole);
    }
    return path;
}

void bench_add_peers(struct bench_arms *arms)
{
    for (size_t i = 0; i < sizeof PEERS / sizeof PEERS[0]; i++) {
        const char *pattern = PEERS[i].pattern;
        char *path = pattern[0] == '/' ? peers_find(pattern) : peers_find_in_folders(pattern);
        if (path == NULL) {
            bench_say("%s is not installed here", PEERS[i].name);
            continue;
        }
        char *arm = bench_format("%s=%s", PEERS[i].name, path);
        bench_arms_add(arms, arm, true);
        free(arm);
        free(path);
    }
}

void bench_add_scrubjay(struct bench_options *options, const char *name, const char *settings)
{
    char *arm = bench_format("%s=%s;SCRUBJAY_OPTIONS=%s", "-", bench_library(options), settings);
    bench_arms_add(&options->arms, arm, true);
    struct bench_arm *added = &options->arms.items[options->arms.count - 1];
    free(added->name);
    added->name = bench_copy(name, strlen(name)); /* may have a = in it */
    free(arm);
}

void bench_add_level(struct bench_options *options, const char *prefix, unsigned level)
{
    char *name = bench_format("%s%u", prefix, level);
    char *settings = bench_format("level=%u", level);
    bench_add_scrubjay(options, name, settings);
    free(settings);
    free(name);
}

void bench_add_levels(struct bench_options *options, const char *prefix)
{
    for (unsigned level = 0; level <= SJ_LEVEL_MAX; level++)
        bench_add_level(options, prefix, level);
}

/* Every value worth an arm: those it has at some level, and for a choice all it knows. Returns their number. */
static size_t peers_values(size_t index, char values[][PEERS_VALUE_BYTES])
{
    const struct sj_option *option = &sj__options_table[index];
    size_t count = 0;
    const char *word = option->values;
    while (option->kind == SJ_OPTION_CHOICE && *word != '\0' && count < PEERS_VALUES_MAX) {
        size_t length = strcspn(word, "|");
        snprintf(values[count++], PEERS_VALUE_BYTES, "%.*s", (int)length, word);
        word += length + (word[length] == '|' ? 1 : 0);
    }
    for (unsigned level = 0; level <= SJ_LEVEL_MAX && option->kind != SJ_OPTION_CHOICE; level++) {
        char value[PEERS_VALUE_BYTES];
        bool known = false;
        sj__option_at_level(index, level, value, sizeof value);
        for (size_t i = 0; i < count; i++)
            known = known || strcmp(values[i], value) == 0;
        if (!known && count < PEERS_VALUES_MAX)
            memcpy(values[count++], value, sizeof value);
    }
    return count;
}

/* How much a value protects: the digit of `strengths`, or the lowest level that has it. */
static unsigned peers_strength(size_t index, const char *value)
{
    const struct sj_option *option = &sj__options_table[index];
    size_t place = 0;
    for (const char *word = option->values; option->kind == SJ_OPTION_CHOICE && *word != '\0'; place++) {
        size_t length = strcspn(word, "|");
        if (strlen(value) == length && memcmp(word, value, length) == 0 && place < strlen(option->strengths))
            return (unsigned)(option->strengths[place] - '0');
        word += length + (word[length] == '|' ? 1 : 0);
    }
    for (unsigned level = 0; level <= SJ_LEVEL_MAX; level++) {
        char at_level[PEERS_VALUE_BYTES];
        sj__option_at_level(index, level, at_level, sizeof at_level);
        if (strcmp(at_level, value) == 0)
            return level;
    }
    return 0;
}

size_t bench_add_single_options(struct bench_options *options, unsigned level, bool stronger)
{
    size_t added = 0;
    for (size_t i = 0; i < sj__options_count; i++) {
        const struct sj_option *option = &sj__options_table[i];
        char values[PEERS_VALUES_MAX][PEERS_VALUE_BYTES];
        char own[PEERS_VALUE_BYTES];
        if (!sj__option_is_in_levels(option) || option->kind == SJ_OPTION_SEED)
            continue;
        sj__option_at_level(i, level, own, sizeof own);
        size_t count = peers_values(i, values);
        for (size_t k = 0; k < count; k++) {
            if (strcmp(values[k], own) == 0 || (stronger && peers_strength(i, values[k]) <= peers_strength(i, own)))
                continue;
            char *name = bench_format("%s=%s", option->name, values[k]);
            char *settings = bench_format("level=%u,%s", level, name);
            bench_add_scrubjay(options, name, settings);
            free(settings);
            free(name);
            added++;
        }
    }
    return added;
}

unsigned bench_option_gain(const char *assignment, unsigned level, size_t *option)
{
    size_t length = strcspn(assignment, "=");
    char own[PEERS_VALUE_BYTES];
    *option = (size_t)(sj__options_find(assignment, length) - sj__options_table);
    sj__option_at_level(*option, level, own, sizeof own);
    return peers_strength(*option, assignment + length + 1) - peers_strength(*option, own);
}

int bench_option_first_level(const char *assignment)
{
    size_t length = strcspn(assignment, "=");
    const struct sj_option *option = assignment[length] == '=' ? sj__options_find(assignment, length) : NULL;
    for (unsigned level = 0; option != NULL && level <= SJ_LEVEL_MAX; level++) {
        char value[PEERS_VALUE_BYTES];
        sj__option_at_level((size_t)(option - sj__options_table), level, value, sizeof value);
        if (strcmp(value, assignment + length + 1) == 0)
            return (int)level;
    }
    return option != NULL ? SJ_LEVEL_MAX + 1 : -1;
}
