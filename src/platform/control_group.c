/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see control_group.h.
 */
#include "platform/control_group.h"

#include "base/format.h"
#include "platform/process.h"

#include <string.h>

enum { PATH_BYTES = 512, LIST_BYTES = 2048 };

/* The number in a file of a group's folder; SIZE_MAX if it says "max", or is not there. */
static size_t read_limit(const char *folder, size_t folder_length, const char *name)
{
    char path[PATH_BYTES + 32], number[32];
    struct sj_text text;
    size_t bytes = 0;
    sj__format_start(&text, path, sizeof path);
    sj__format_bytes(&text, folder, folder_length);
    sj__format_string(&text, name);
    if (sj__process_read_file(path, false, number, sizeof number) <= 0 || number[0] < '0' || number[0] > '9')
        return SIZE_MAX;
    for (const char *at = number; *at >= '0' && *at <= '9'; at++)
        bytes = bytes * 10 + (size_t)(*at - '0');
    return bytes;
}

static bool is_version_2(const char *mount)
{
    char path[PATH_BYTES + 32], names[256];
    struct sj_text text;
    sj__format_start(&text, path, sizeof path);
    sj__format_string(&text, mount);
    sj__format_string(&text, "/cgroup.controllers");
    return sj__process_read_file(path, false, names, sizeof names) >= 0;
}

/* True if `word` is one of the names between commas; "" is in the empty list only. */
static bool has_word(const char *names, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    const char *end = names + length;
    while (true) {
        const char *comma = memchr(names, ',', (size_t)(end - names));
        size_t name_length = (size_t)((comma != NULL ? comma : end) - names);
        if (name_length == word_length && memcmp(names, word, word_length) == 0)
            return true;
        if (comma == NULL)
            return false;
        names = comma + 1;
    }
}

/* The path, from its '/' on, in the line `number:controllers:path` that names this controller; NULL if there is none. */
static const char *find_group(const char *lines, const char *controller, size_t *length)
{
    while (lines != NULL && *lines != '\0') {
        const char *names = strchr(lines, ':');
        const char *path = names != NULL ? strchr(names + 1, ':') : NULL;
        if (path == NULL)
            return NULL;
        *length = strcspn(++path, "\n");
        if (*path == '/' && has_word(names + 1, (size_t)(path - names) - 2, controller))
            return path;
        lines = path[*length] == '\n' ? path + *length + 1 : NULL;
    }
    return NULL;
}

size_t sj__control_group_memory(const char *mount, const char *groups)
{
    char folder[PATH_BYTES], lines[LIST_BYTES];
    struct sj_text text;
    size_t path_length, least = SIZE_MAX;
    bool second = is_version_2(mount);
    if (sj__process_read_file(groups, false, lines, sizeof lines) <= 0)
        return SIZE_MAX;
    const char *path = find_group(lines, second ? "" : "memory", &path_length);
    if (path == NULL)
        return SIZE_MAX;
    sj__format_start(&text, folder, sizeof folder);
    sj__format_string(&text, mount);
    sj__format_string(&text, second ? "" : "/memory");
    size_t root_length = text.length;
    if (path_length > 1)
        sj__format_bytes(&text, path, path_length);
    for (size_t length = text.length; length >= root_length; length--) {
        if (length != text.length && length != root_length && folder[length] != '/')
            continue;
        size_t limit = read_limit(folder, length, second ? "/memory.max" : "/memory.limit_in_bytes");
        size_t high = second ? read_limit(folder, length, "/memory.high") : SIZE_MAX;
        limit = high < limit ? high : limit;
        least = limit < least ? limit : least;
    }
    return least;
}
