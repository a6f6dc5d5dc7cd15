/* SPDX-License-Identifier: MIT
 *
 * What: see layout.h.
 *
 * Why this way: see layout.h.
 */
#include "bench/layout.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/launch.h"
#include "bench/text.h"
#include "lab/random.h"

enum { LAYOUT_WORDS_MAX = 2048, LAYOUT_OBJECTS_LEAST = 2 };

/* The last command that makes this file, as ninja knows it; NULL if it knows none. */
static char *layout_command(const char *folder, const char *name)
{
    char *quoted_folder = bench_quote(folder);
    char *quoted_name = bench_quote(name);
    char *ask = bench_format("ninja -C %s -t commands %s 2>/dev/null", quoted_folder, quoted_name);
    FILE *answer = popen(ask, "re");
    char *line = NULL;
    char *last = NULL;
    size_t room = 0;
    while (answer != NULL && getline(&line, &room, answer) > 0) {
        free(last);
        last = bench_copy(line, strcspn(line, "\n"));
    }
    bool good = answer != NULL && pclose(answer) == 0;
    free(line);
    free(ask);
    free(quoted_name);
    free(quoted_folder);
    return good ? last : NULL;
}

static bool layout_is_object(const char *word)
{
    size_t length = strlen(word);
    return length > 2 && strcmp(word + length - 2, ".o") == 0;
}

/* The words of a link with the objects among them in another order, and the output replaced; NULL if it is no link. */
static char *layout_shuffle(char *command, uint64_t seed, const char *to)
{
    char *words[LAYOUT_WORDS_MAX];
    size_t places[LAYOUT_WORDS_MAX];
    size_t order[LAYOUT_WORDS_MAX];
    size_t objects = 0;
    bool has_output = false;
    size_t count = bench_split_blanks(command, words, LAYOUT_WORDS_MAX);
    char *quoted_to = bench_quote(to);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(words[i - 1], "-o") == 0) {
            words[i] = quoted_to;
            has_output = true;
        } else if (layout_is_object(words[i])) {
            order[objects] = objects;
            places[objects++] = i;
        }
    }
    if (!has_output || objects < LAYOUT_OBJECTS_LEAST)
        return NULL;
    struct lab_random random;
    lab_random_seed(&random, seed);
    lab_random_shuffle(&random, order, objects);
    char *shuffled[LAYOUT_WORDS_MAX];
    for (size_t i = 0; i < objects; i++)
        shuffled[i] = words[places[order[i]]];
    for (size_t i = 0; i < objects; i++)
        words[places[i]] = shuffled[i];
    char *line = bench_copy("", 0);
    for (size_t i = 0; i < count; i++) {
        char *longer = bench_format("%s%s%s", line, i > 0 ? " " : "", words[i]);
        free(line);
        line = longer;
    }
    free(quoted_to);
    return line;
}

void bench_layout_link(const char *library, uint64_t seed, const char *to)
{
    char folder[PATH_MAX];
    if (realpath(library, folder) == NULL)
        bench_die("%s: no such library", library);
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    char *command = layout_command(folder, slash + 1);
    char *link = command != NULL ? layout_shuffle(command, seed, to) : NULL;
    if (link == NULL)
        bench_die(
            "--layouts: the objects of %s are not at hand: it must lie in the folder it was built in by ninja, as "
            "./dev build does",
            library);
    if (bench_run_shell(link, folder) != 0)
        bench_die("--layouts: cannot be linked again: cd %s; %s", folder, link);
    free(link);
    free(command);
}
