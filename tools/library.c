/* SPDX-License-Identifier: MIT
 *
 * What: finds libscrubjay.so and puts it, and options, into an environment; see library.h.
 *
 * Why this way: options are checked here by the library's own parser, so that a misspelling stops the start instead of
 * leaving one warning in a log.
 *
 * Invariants: see library.h.
 *
 * Concurrency: one thread.
 */
#include "library.h"

#include "command.h"
#include "policy/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool own_folder(char *path, size_t bytes)
{
    const ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

/* The library beside this command, or where it is installed; without the development link only the numbered one. */
static bool find_near(char *path, size_t bytes)
{
    static const char *const folders[] = { "", ("/" SJ_LIBDIR_FROM_BINDIR), "/../lib", "/../lib64" };
    char own[PATH_MAX], names[2][32], tried[PATH_MAX + 256];
    if (!own_folder(own, sizeof own))
        return false;
    snprintf(names[0], sizeof names[0], "libscrubjay.so");
    snprintf(names[1], sizeof names[1], "libscrubjay.so.%d", atoi(SJ_VERSION_TEXT));
    for (unsigned i = 0; i < 2 * (sizeof folders / sizeof folders[0]); i++) {
        snprintf(tried, sizeof tried, "%s%s/%s", own, folders[i / 2], names[i % 2]);
        if (access(tried, R_OK) == 0 && realpath(tried, own) != NULL) {
            snprintf(path, bytes, "%s", own);
            return true;
        }
    }
    return false;
}

bool sj__library_find(const struct sj_launch *launch, char *path, size_t bytes, struct sj_elf_facts *facts)
{
    if (launch->library != NULL) {
        char absolute[PATH_MAX];
        if (realpath(launch->library, absolute) == NULL) {
            sj__message("%s: %s", launch->library, strerror(errno));
            return false;
        }
        snprintf(path, bytes, "%s", absolute);
    } else if (!find_near(path, bytes)) {
        sj__message("libscrubjay.so lies neither beside this command nor in the library folder next to it; say where "
                    "with --lib PATH");
        return false;
    }
    if (!sj__elf_read(path, facts)) {
        sj__message("%s: %s", path, strerror(errno));
        return false;
    }
    if (!facts->is_elf || !facts->is_dynamic || !facts->is_program) {
        sj__message("%s is not a shared library", path);
        return false;
    }
    if (strpbrk(path, " \t\n:") != NULL) {
        sj__message("%s: the loader splits LD_PRELOAD at blanks and colons; put the library at a path without them",
                    path);
        return false;
    }
    return true;
}

static void say_warning(const char *what, const char *detail)
{
    sj__message("%s%s", what, detail != NULL ? detail : "");
}

/* The option the user may have meant by the misspelt key of an item. */
static void say_nearest(const char *options)
{
    for (const char *item = options; *item != '\0'; item += strspn(item, ",:")) {
        const size_t length = strcspn(item, ",:");
        const size_t key_length = strcspn(item, "=,:");
        char key[32];
        snprintf(key, sizeof key, "%.*s", (int)key_length, item);
        for (size_t i = 0; i < sj__options_count && sj__options_find(key, strlen(key)) == NULL; i++) {
            if (sj__message_resembles(key, sj__options_table[i].name)) {
                sj__message("did you mean %s=%s?", sj__options_table[i].name, sj__options_table[i].values);
                break;
            }
        }
        item += length;
    }
}

bool sj__library_check_options(const struct sj_launch *launch)
{
    struct sj_settings settings;
    sj__options_start(&settings, SJ_LEVEL_DEFAULT);
    if (launch->level != NULL) {
        char text[64];
        snprintf(text, sizeof text, "level=%.40s", launch->level);
        if (strpbrk(launch->level, ",:=") != NULL ||
            sj__options_apply(&settings, text, SJ_SOURCE_COMMAND, say_warning) != 0) {
            sj__message("--level takes a number from 0 to %d; `scrubjay explain levels` shows them", SJ_LEVEL_MAX);
            return false;
        }
    }
    if (sj__options_apply(&settings, launch->options, SJ_SOURCE_COMMAND, say_warning) != 0) {
        say_nearest(launch->options);
        sj__message("`scrubjay explain` lists the options");
        return false;
    }
    return true;
}

bool sj__library_add_options(struct sj_launch *launch, const char *options)
{
    char *joined;
    if (launch->options == NULL) {
        launch->options = options;
        return true;
    }
    if (asprintf(&joined, "%s,%s", launch->options, options) < 0) { /* kept until exec */
        sj__message("out of memory");
        return false;
    }
    launch->options = joined;
    return true;
}

/* Sets `name` to `first`, a separator and `second`; either may be NULL or "". */
static bool set_joined(const char *name, const char *first, char separator, const char *second)
{
    const bool both = first != NULL && first[0] != '\0' && second != NULL && second[0] != '\0';
    char *joined;
    if (asprintf(&joined, "%s%.*s%s", first != NULL ? first : "", both ? 1 : 0, &separator,
                 second != NULL ? second : "") < 0 ||
        setenv(name, joined, 1) != 0) {
        sj__message("out of memory");
        return false;
    }
    free(joined);
    return true;
}

/* Is `path` one of the words of LD_PRELOAD? */
static bool is_preloaded(const char *preload, const char *path)
{
    const size_t length = strlen(path);
    for (const char *word = preload; *word != '\0'; word += strspn(word, " :")) {
        const size_t word_length = strcspn(word, " :");
        if (word_length == length && memcmp(word, path, length) == 0)
            return true;
        word += word_length;
    }
    return false;
}

bool sj__library_set_environment(const char *path, const struct sj_launch *launch)
{
    char level[64] = "";
    const char *preload = getenv("LD_PRELOAD");
    if (preload == NULL || !is_preloaded(preload, path)) {
        if (!set_joined("LD_PRELOAD", path, ':', preload))
            return false;
    }
    if (launch->level != NULL) {
        snprintf(level, sizeof level, "level=%.40s", launch->level);
        if (!set_joined("SCRUBJAY_OPTIONS", getenv("SCRUBJAY_OPTIONS"), ',', level))
            return false;
    }
    return launch->options == NULL || set_joined("SCRUBJAY_OPTIONS", getenv("SCRUBJAY_OPTIONS"), ',', launch->options);
}
