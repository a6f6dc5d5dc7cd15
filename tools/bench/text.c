/* SPDX-License-Identifier: MIT
 *
 * What: see text.h.
 *
 * Why this way: see text.h.
 */
#include "bench/text.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "bench/progress.h"
#include "command.h"

enum { TEXT_SCRATCH_MAX = 1024 };

char *bench_format(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    va_end(arguments);
    return text;
}

char *bench_copy(const char *text, size_t length)
{
    char *copy = strndup(text, length);
    if (copy == NULL)
        abort();
    return copy;
}

void bench_die(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    va_end(arguments);
    bench_progress_clear();
    sj__message("%s", text);
    exit(EX_USAGE);
}

void bench_say(const char *format, ...)
{
    va_list arguments;
    bench_progress_clear();
    va_start(arguments, format);
    fputs("# ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

char *bench_replace(const char *text, const char *name, const char *value)
{
    char *result = bench_copy("", 0);
    size_t name_length = strlen(name);
    for (;;) {
        const char *found = strstr(text, name);
        size_t before = found != NULL ? (size_t)(found - text) : strlen(text);
        char *longer = bench_format("%s%.*s%s", result, (int)before, text, found != NULL ? value : "");
        free(result);
        result = longer;
        if (found == NULL)
            return result;
        text = found + name_length;
    }
}

char *bench_quote(const char *word)
{
    if (word[0] != '\0' && strpbrk(word, " \t\n|&;<>()$`\\\"'*?[]#~{}!") == NULL)
        return bench_copy(word, strlen(word));
    char *escaped = bench_replace(word, "'", "'\\''");
    char *quoted = bench_format("'%s'", escaped);
    free(escaped);
    return quoted;
}

char *bench_own_folder(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        bench_die("/proc/self/exe cannot be read: %s", strerror(errno));
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return bench_copy(path, sizeof path);
}

size_t bench_split_blanks(char *text, char **words, size_t room)
{
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word != NULL && count + 1 < room;
         word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

char *bench_first_line(const char *path)
{
    return bench_line_value(path, "");
}

char *bench_line_value(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    char *line = NULL;
    size_t room = 0;
    char *value = NULL;
    size_t key_length = strlen(key);
    while (value == NULL && getline(&line, &room, file) >= 0) {
        if (strncmp(line, key, key_length) != 0)
            continue;
        const char *start = line + key_length;
        if (key_length > 0)
            start += strspn(start, " \t:");
        value = bench_copy(start, strcspn(start, "\n"));
    }
    free(line);
    fclose(file);
    return value;
}

bool bench_copy_file(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return false;
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    bool good = out >= 0;
    char buffer[65536];
    ssize_t length = 0;
    while (good && (length = read(in, buffer, sizeof buffer)) > 0)
        good = write(out, buffer, (size_t)length) == length;
    int error = errno;
    if (out >= 0 && close(out) != 0)
        good = false;
    close(in);
    errno = error;
    return good && length == 0;
}

bool bench_make_directory(const char *path)
{
    char *partial = bench_copy(path, strlen(path));
    bool good = true;
    for (char *slash = partial + 1; good && *slash != '\0'; slash++) {
        if (*slash != '/')
            continue;
        *slash = '\0';
        good = mkdir(partial, 0755) == 0 || errno == EEXIST;
        *slash = '/';
    }
    good = good && (mkdir(partial, 0755) == 0 || errno == EEXIST);
    free(partial);
    return good;
}

static char *text_scratch[TEXT_SCRATCH_MAX];
static size_t text_scratch_count;

static int text_remove(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static void text_remove_scratch(void)
{
    for (size_t i = 0; i < text_scratch_count; i++)
        (void)nftw(text_scratch[i], text_remove, 8, FTW_DEPTH | FTW_PHYS);
}

char *bench_make_scratch(void)
{
    const char *parent = getenv("TMPDIR");
    char *scratch = bench_format("%s/scrubjay-XXXXXX", parent != NULL && parent[0] == '/' ? parent : "/tmp");
    if (mkdtemp(scratch) == NULL)
        bench_die("%s: %s", scratch, strerror(errno));
    if (text_scratch_count == 0)
        (void)atexit(text_remove_scratch);
    if (text_scratch_count == TEXT_SCRATCH_MAX)
        bench_die("more than %d folders for scratch files", TEXT_SCRATCH_MAX);
    text_scratch[text_scratch_count++] = scratch;
    return scratch;
}

size_t bench_utf8_length(const unsigned char *at)
{
    if (*at < 0x80)
        return 1;
    size_t length = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
    if (*at < 0xc2 || *at > 0xf4)
        return 0;
    unsigned code = *at & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) /* also the end of the text */
            return 0;
        code = code << 6 | (at[i] & 0x3fU);
    }
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[length] || code > 0x10ffff || surrogate ? 0 : length;
}

char *bench_tame(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
        const size_t length = bench_utf8_length(at);
        if (length > 1 && !(at[0] == 0xc2 && at[1] < 0xa0)) {
            at += length;
            continue;
        }
        *at = *at < ' ' || *at > '~' ? '?' : *at;
        at++;
    }
    return text;
}

void bench_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    size_t length;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at += length > 0 ? length : 1) {
        length = bench_utf8_length(at);
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20)
            fprintf(out, "\\u%04x", *at);
        else if (length == 0)
            fputs("\\ufffd", out);
        else
            fwrite(at, 1, length, out);
    }
    fputc('"', out);
}
