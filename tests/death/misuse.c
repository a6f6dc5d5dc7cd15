/* SPDX-License-Identifier: MIT */
/*
 * What: main() of the death tests: lists the cases, or runs one of them, or its twin.
 *
 * Why this way: the driver reads the list from the program itself and starts one process a case; a case is named
 * family, or family/parameter with a size in decimal or the name of a call.
 *
 * Invariants: nothing here allocates (no stdio streams), before or after the case: the case decides which call is
 * the first one. A process that hangs is ended by SIGALRM after 20 seconds.
 *
 * Concurrency: one thread here.
 */
#include "death.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct death_family *const tables[] = {
    death_foreign, death_interior, death_double,  death_freed,   death_sized,    death_threads, death_zero,
    death_context, death_copy,     death_written, death_overrun, death_families, death_arenas,
};

static const char *const call_names[DEATH_CALL_COUNT] = {
    [DEATH_FREE] = "free",
    [DEATH_REALLOC] = "realloc",
    [DEATH_USABLE_SIZE] = "malloc_usable_size",
    [DEATH_REALLOCARRAY] = "reallocarray",
    [DEATH_REALLOC_ZERO] = "realloc_to_zero",
    [DEATH_FREE_SIZED] = "free_sized",
    [DEATH_FREE_ALIGNED_SIZED] = "free_aligned_sized",
    [DEATH_CFREE] = "cfree",
    [DEATH_LIBC_FREE] = "__libc_free",
    [DEATH_LIBC_REALLOC] = "__libc_realloc",
};

const size_t death_all_sizes[] = {
    1,     8,     16,    24,    32,    40,    48,    64,    80,     96,      112,      128,      160,
    192,   224,   256,   320,   384,   448,   512,   640,   768,    896,     1024,     1280,     1536,
    1792,  2048,  2560,  3072,  3584,  4096,  5120,  6144,  7168,   8192,    10240,    12288,    14336,
    16384, 20480, 24576, 28672, 32768, 32769, 33792, 65536, 131072, 1048576, 67108864, SIZE_MAX,
};

const size_t death_few_sizes[] = { 16, 48, 1000, 32768, 33792, 1048576, 67108864, SIZE_MAX };

static volatile size_t usable_sink;

_Noreturn void death_cannot(const char *why)
{
    ssize_t ignored = write(STDERR_FILENO, "death test: ", 12);
    ignored = write(STDERR_FILENO, why, strlen(why));
    ignored = write(STDERR_FILENO, "\n", 1);
    (void)ignored;
    _exit(3);
}

void *death_new(size_t size_bytes)
{
    volatile unsigned char *bytes = malloc(size_bytes);
    if (bytes == NULL)
        death_cannot("no memory");
    if (size_bytes > 0) {
        bytes[0] = 1;
        bytes[size_bytes - 1] = 1;
    }
    return death_hide((const void *)(uintptr_t)bytes);
}

void death_free(void *pointer)
{
    free(death_hide(pointer));
}

void death_give(enum death_call call, void *pointer, size_t size_bytes)
{
    pointer = death_hide(pointer);
    switch (call) {
    case DEATH_FREE: free(pointer); return;
    case DEATH_REALLOC: death_hide(realloc(pointer, size_bytes)); return;
    case DEATH_USABLE_SIZE: usable_sink = malloc_usable_size(pointer); return;
    case DEATH_REALLOCARRAY: death_hide(reallocarray(pointer, 2, size_bytes)); return;
    case DEATH_REALLOC_ZERO: death_hide(realloc(pointer, 0)); return;
    case DEATH_FREE_SIZED:
        if (free_sized != NULL)
            free_sized(pointer, size_bytes);
        return;
    case DEATH_FREE_ALIGNED_SIZED:
        if (free_aligned_sized != NULL)
            free_aligned_sized(pointer, 16, size_bytes);
        return;
    case DEATH_CFREE:
        if (cfree != NULL)
            cfree(pointer);
        return;
    case DEATH_LIBC_FREE:
        if (__libc_free != NULL)
            __libc_free(pointer);
        return;
    case DEATH_LIBC_REALLOC:
        if (__libc_realloc != NULL)
            death_hide(__libc_realloc(pointer, size_bytes));
        return;
    case DEATH_CALL_COUNT: break;
    }
    death_cannot("unknown call");
}

void death_give_valid(enum death_call call, size_t size_bytes)
{
    void *pointer = NULL;
    if (call == DEATH_FREE_ALIGNED_SIZED)
        pointer = aligned_alloc(16, size_bytes);
    else
        pointer = malloc(size_bytes);
    death_give(call, pointer, size_bytes);
}

static void list_family(const struct death_family *family)
{
    if (family->parameter == DEATH_SIZE) {
        for (const size_t *value = family->values; *value != SIZE_MAX; value++)
            dprintf(STDOUT_FILENO, "%s/%zu %s %s\n", family->name, *value, family->expect, family->levels);
    } else if (family->parameter == DEATH_CALL) {
        for (unsigned call = 0; call < DEATH_CALL_COUNT; call++)
            if (family->calls & DEATH_BIT(call))
                dprintf(STDOUT_FILENO, "%s/%s %s %s\n", family->name, call_names[call], family->expect, family->levels);
    } else {
        dprintf(STDOUT_FILENO, "%s %s %s\n", family->name, family->expect, family->levels);
    }
}

static const struct death_family *find_family(const char *name, size_t length)
{
    for (size_t table = 0; table < sizeof tables / sizeof tables[0]; table++)
        for (const struct death_family *family = tables[table]; family->name != NULL; family++)
            if (strncmp(family->name, name, length) == 0 && family->name[length] == '\0')
                return family;
    return NULL;
}

static size_t parse_parameter(const struct death_family *family, const char *text)
{
    if (family->parameter == DEATH_SIZE)
        return strtoull(text, NULL, 10);
    if (family->parameter == DEATH_CALL)
        for (unsigned call = 0; call < DEATH_CALL_COUNT; call++)
            if (strcmp(call_names[call], text) == 0)
                return call;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (size_t table = 0; table < sizeof tables / sizeof tables[0]; table++)
            for (const struct death_family *family = tables[table]; family->name != NULL; family++)
                list_family(family);
        return 0;
    }
    if (argc < 2)
        death_cannot("usage: misuse --list | misuse CASE [twin]");
    alarm(20);
    const char *slash = strchr(argv[1], '/');
    size_t length = slash != NULL ? (size_t)(slash - argv[1]) : strlen(argv[1]);
    const struct death_family *family = find_family(argv[1], length);
    if (family == NULL)
        death_cannot("no such case");
    bool misuse = argc < 3 || strcmp(argv[2], "twin") != 0;
    family->run(misuse, parse_parameter(family, slash != NULL ? slash + 1 : ""));
    return 0;
}
