/* SPDX-License-Identifier: MIT
 *
 * What: see arms.h.
 *
 * Why this way: see arms.h.
 */
#include "bench/arms.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/latency_record.h"
#include "bench/text.h"
#include "elf_file.h"

enum { ARMS_SHARED_MAX = 7 + BENCH_ARM_VARIABLES_MAX + 16 };

extern char **environ;

static void arms_add_variable(struct bench_arm *arm, const char *text, size_t length)
{
    if (arm->variable_count == BENCH_ARM_VARIABLES_MAX)
        bench_die("arm %s: too many variables", arm->name);
    if (memchr(text, '=', length) == NULL)
        bench_die("arm %s: not VARIABLE=VALUE: %.*s", arm->name, (int)length, text);
    arm->variables[arm->variable_count++] = bench_copy(text, length);
}

static char *arms_library_path(const struct bench_arm *arm)
{
    if (arm->library[0] == '\0')
        return bench_copy("", 0);
    char path[PATH_MAX];
    if (realpath(arm->library, path) == NULL)
        bench_die("arm %s: %s: %s", arm->name, arm->library, strerror(errno));
    return bench_copy(path, strlen(path));
}

void bench_arms_add(struct bench_arms *arms, const char *text, bool extra)
{
    if (arms->count == BENCH_ARMS_MAX)
        bench_die("more than %d arms", BENCH_ARMS_MAX);
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        bench_die("an arm is NAME=LIBRARY[;VARIABLE=VALUE...], not %s", text);
    arms->chosen = arms->chosen || !extra;
    struct bench_arm *arm = &arms->items[arms->count];
    arm->name = bench_copy(text, (size_t)(equals - text));
    for (size_t i = 0; i < arms->count; i++)
        if (strcmp(arms->items[i].name, arm->name) == 0)
            bench_die("two arms are named %s", arm->name);
    const char *rest = equals + 1;
    size_t length = strcspn(rest, ";");
    arm->library = bench_copy(rest, length);
    free(arm->preload);
    arm->preload = arms_library_path(arm);
    for (rest += length; *rest == ';'; rest += length) {
        rest++;
        length = strcspn(rest, ";");
        if (length > 0)
            arms_add_variable(arm, rest, length);
    }
    arms->count++;
}

size_t bench_arms_find(const struct bench_arms *arms, const char *name)
{
    for (size_t i = 0; i < arms->count; i++)
        if (strcmp(arms->items[i].name, name) == 0)
            return i;
    bench_die("no arm is named %s", name);
}

void bench_arms_prepare(struct bench_arms *arms, size_t base, const char *directory)
{
    arms->null = arms->count;
    struct bench_arm *null = &arms->items[arms->count++];
    *null = arms->items[base];
    null->name = bench_format("%s-copy", arms->items[base].name);
    for (size_t i = 0; i < arms->count; i++) {
        struct bench_arm *arm = &arms->items[i];
        if (arm->preload[0] == '\0')
            continue;
        char *folder = bench_format("%s/%02zu", directory, i);
        char *copy = bench_format("%s/preloaded.so", folder);
        if (!bench_make_directory(folder) || !bench_copy_file(arm->preload, copy))
            bench_die("arm %s: cannot copy %s to %s: %s", arm->name, arm->preload, copy, strerror(errno));
        free(folder);
        arm->preload = copy;
        struct sj_elf_facts facts;
        arm->ours = sj__elf_read(copy, &facts) && facts.holds_status;
    }
}

static size_t arms_most_variables(const struct bench_arms *arms)
{
    size_t most = 0;
    for (size_t i = 0; i < arms->count; i++)
        if (arms->items[i].variable_count > most)
            most = arms->items[i].variable_count;
    return most;
}

/* Bytes of the strings that differ between arms. */
static size_t arms_own_bytes(const struct bench_arm *arm, const char *seed)
{
    size_t bytes = strlen(arm->preload);
    for (size_t i = 0; i < arm->variable_count; i++) {
        char *filled = bench_replace(arm->variables[i], "{seed}", seed);
        bytes += strlen(filled);
        free(filled);
    }
    return bytes;
}

static size_t arms_most_own_bytes(const struct bench_arms *arms, size_t most_variables, const char *seed)
{
    size_t most = 0;
    for (size_t i = 0; i < arms->count; i++) {
        size_t absent = most_variables - arms->items[i].variable_count;
        size_t bytes = arms_own_bytes(&arms->items[i], seed) + absent * strlen("BENCH_NOT0=");
        if (bytes > most)
            most = bytes;
    }
    return most;
}

static char *arms_padding(size_t bytes)
{
    char *text = bench_format("BENCH_PADDING=%*s", (int)bytes, "");
    memset(text + strlen("BENCH_PADDING="), 'x', bytes);
    return text;
}

/* Variables that choose an allocator are the arm's. */
static bool arms_steers(const char *variable)
{
    static const char *const names[] = { "LD_PRELOAD=", "SCRUBJAY_" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static size_t arms_fill_all(char **environment)
{
    size_t at = 0;
    for (char **variable = environ; *variable != NULL; variable++)
        if (!arms_steers(*variable))
            environment[at++] = bench_format("%s", *variable);
    return at;
}

static size_t arms_fill_clean(const struct bench_arms *arms, const struct bench_shared *shared, char **environment)
{
    size_t at = 0;
    const char *path = getenv("PATH");
    environment[at++] = bench_format("PATH=%s", path != NULL ? path : "/usr/bin:/bin");
    environment[at++] = bench_format("HOME=%s", shared->home);
    environment[at++] = bench_format("TMPDIR=%s", shared->home);
    environment[at++] = bench_format("LC_ALL=C");
    environment[at++] = bench_format("TZ=UTC0");
    for (size_t i = 0; i < arms->kept_count; i++) {
        const char *value = getenv(arms->kept_variables[i]);
        if (value != NULL)
            environment[at++] = bench_format("%s=%s", arms->kept_variables[i], value);
    }
    return at;
}

/* The variables that do not depend on the arm; returns their number. */
static size_t arms_fill_shared(const struct bench_arms *arms, const struct bench_shared *shared, char **environment)
{
    size_t at = arms->keep_all ? arms_fill_all(environment) : arms_fill_clean(arms, shared, environment);
    for (char *const *own = shared->variables; own != NULL && *own != NULL; own++)
        environment[at++] = bench_format("%s", *own);
    if (shared->record != NULL)
        environment[at++] = bench_format("SCRUBJAY_RECORD=%s", shared->record);
    if (shared->shim != NULL)
        environment[at++] = bench_format(BENCH_LATENCY_VARIABLE "=%s", shared->times);
    return at;
}

static size_t arms_count_environment(void)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    return count;
}

char **bench_arms_environment(const struct bench_arms *arms, size_t arm_index, const struct bench_shared *shared)
{
    const struct bench_arm *arm = &arms->items[arm_index];
    size_t most = arms_most_variables(arms);
    char *seed = bench_format("%016llx", (unsigned long long)shared->seed);
    char **environment = calloc(ARMS_SHARED_MAX + arms_count_environment() + most + 3, sizeof *environment);
    if (environment == NULL)
        abort();
    size_t at = arms_fill_shared(arms, shared, environment);
    if (shared->shim != NULL)
        environment[at++] = bench_format("LD_PRELOAD=%s:%s", shared->shim, arm->preload);
    else
        environment[at++] = bench_format("LD_PRELOAD=%s", arm->preload);
    size_t absent = most - arm->variable_count;
    for (size_t i = 0; i < arm->variable_count; i++)
        environment[at++] = bench_replace(arm->variables[i], "{seed}", seed);
    for (size_t i = 0; i < absent; i++)
        environment[at++] = bench_format("BENCH_NOT%zx=", i);
    size_t own = arms_own_bytes(arm, seed) + absent * strlen("BENCH_NOT0=");
    environment[at++] = arms_padding(arms_most_own_bytes(arms, most, seed) - own + shared->padding_bytes);
    free(seed);
    return environment;
}

void bench_arms_free_environment(char **environment)
{
    for (char **variable = environment; *variable != NULL; variable++)
        free(*variable);
    free(environment);
}
