/* SPDX-License-Identifier: MIT
 *
 * What: another process, looked at from outside; see target.h.
 *
 * Why this way: the status block is looked for in the writable data of every mapped file, so that a renamed library, a
 * static one and a stripped program are found alike. The block names its own address, which a copy would not.
 *
 * Invariants: see target.h.
 *
 * Concurrency: see target.h.
 */
#include "target.h"

#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DATA_BYTES_MAX = 64 << 20 }; /* a larger data segment is not searched whole */

struct mapping {
    unsigned long start;
    unsigned long end;
    unsigned long offset;
    char permissions[5];
    char path[PATH_MAX];
};

static ssize_t read_memory(pid_t process, unsigned long address, void *buffer, size_t bytes)
{
    const struct iovec local = { buffer, bytes };
    const struct iovec remote = { (void *)address, bytes };
    return process_vm_readv(process, &local, 1, &remote, 1, 0);
}

/* Opens /proc/PID/name. */
static int open_proc(pid_t process, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void make_printable(char *text, size_t bytes)
{
    text[bytes - 1] = '\0';
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~')
            *text = '?';
    }
}

/* Searches one data mapping; true if the block is in it. */
static bool search_mapping(struct sj_target *target, const struct mapping *mapping)
{
    size_t bytes = mapping->end - mapping->start;
    if (bytes > DATA_BYTES_MAX)
        bytes = DATA_BYTES_MAX;
    unsigned char *copy = malloc(bytes);
    if (copy == NULL)
        return false;
    const ssize_t got = read_memory(target->process, mapping->start, copy, bytes);
    size_t from = 0;
    while (got > 0 && !target->found) {
        const size_t at = sj__elf_find_status(copy + from, (size_t)got - from);
        if (at == SIZE_MAX)
            break;
        const size_t left = (size_t)got - from - at;
        memcpy(&target->status, copy + from + at, left < sizeof target->status ? left : sizeof target->status);
        target->found = target->status.self == mapping->start + from + at || target->status.self == 0;
        from += at + 1;
        from += (size_t)-from % _Alignof(struct sj_status);
    }
    free(copy);
    if (target->found) {
        make_printable(target->status.release, sizeof target->status.release);
        make_printable(target->status.build_id, sizeof target->status.build_id);
        make_printable(target->status.options, sizeof target->status.options);
    }
    return target->found;
}

static bool parse_mapping(const char *line, struct mapping *mapping)
{
    int path_at = 0;
    if (sscanf(line, "%lx-%lx %4s %lx %*x:%*x %*u %n", &mapping->start, &mapping->end, mapping->permissions,
               &mapping->offset, &path_at) < 4 ||
        path_at == 0)
        return false;
    snprintf(mapping->path, sizeof mapping->path, "%s", line + path_at);
    mapping->path[strcspn(mapping->path, "\n")] = '\0';
    return true;
}

/* Removes the kernel's mark of a file that is no longer at its name. */
static bool strip_deleted(char *path)
{
    static const char mark[] = " (deleted)";
    const size_t length = strlen(path);
    if (length < sizeof mark || strcmp(path + length - (sizeof mark - 1), mark) != 0)
        return false;
    path[length - (sizeof mark - 1)] = '\0';
    return true;
}

/* Notes a file that exports a malloc and is not the C library or the loader. */
static void note_other_malloc(struct sj_target *target, const struct mapping *mapping)
{
    struct sj_elf_facts facts;
    const char *base = strrchr(mapping->path, '/');
    if (mapping->offset != 0 || base == NULL || target->other_malloc[0] != '\0' || strncmp(base, "/libc.so", 8) == 0 ||
        strncmp(base, "/libc-", 6) == 0 || strncmp(base, "/ld-", 4) == 0 || strncmp(base, "/libscrubjay", 12) == 0)
        return;
    if (sj__elf_read(mapping->path, &facts) && facts.defines_malloc && !facts.holds_status) {
        snprintf(target->other_malloc, sizeof target->other_malloc, "%s", mapping->path);
        make_printable(target->other_malloc, sizeof target->other_malloc);
    }
}

static int read_mappings(struct sj_target *target)
{
    const int fd = open_proc(target->process, "maps");
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    char *line = NULL;
    size_t line_bytes = 0;
    unsigned count = 0;
    if (file == NULL)
        return errno == ENOENT ? ESRCH : errno;
    errno = 0;
    while (getline(&line, &line_bytes, file) > 0) {
        struct mapping mapping;
        count++;
        if (!parse_mapping(line, &mapping) || mapping.path[0] != '/')
            continue;
        const bool is_replaced = strip_deleted(mapping.path);
        if (!target->found && strcmp(mapping.permissions, "rw-p") == 0 && search_mapping(target, &mapping)) {
            snprintf(target->holder, sizeof target->holder, "%s", mapping.path);
            make_printable(target->holder, sizeof target->holder);
            target->is_replaced = is_replaced;
        }
        note_other_malloc(target, &mapping);
    }
    const int error = errno;
    free(line);
    fclose(file);
    if (count > 0)
        return 0;
    return error != 0 ? error : ESRCH; /* a zombie or a kernel thread has no mappings */
}

/* Reads the auxiliary vector for AT_SECURE. */
static void read_privilege(struct sj_target *target)
{
    const int fd = open_proc(target->process, "auxv");
    Elf64_auxv_t entry;
    while (fd >= 0 && read(fd, &entry, sizeof entry) == (ssize_t)sizeof entry) {
        if (entry.a_type == AT_SECURE)
            target->is_privileged = entry.a_un.a_val != 0;
    }
    if (fd >= 0)
        close(fd);
}

static void read_preload(struct sj_target *target)
{
    static const char name[] = "LD_PRELOAD=";
    const int fd = open_proc(target->process, "environ");
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    char *entry = NULL;
    size_t entry_bytes = 0;
    while (file != NULL && getdelim(&entry, &entry_bytes, '\0', file) > 0) {
        if (strncmp(entry, name, sizeof name - 1) == 0) {
            snprintf(target->preload, sizeof target->preload, "%s", entry + sizeof name - 1);
            make_printable(target->preload, sizeof target->preload);
        }
    }
    free(entry);
    if (file != NULL)
        fclose(file);
}

pid_t sj__target_parse(const char *word)
{
    char *end;
    errno = 0;
    const long number = strtol(word, &end, 10);
    return word[0] >= '0' && word[0] <= '9' && *end == '\0' && errno == 0 && number > 0 && number <= INT_MAX
               ? (pid_t)number
               : 0;
}

int sj__target_read(pid_t process, struct sj_target *target)
{
    char link[64];
    *target = (struct sj_target){ .process = process };
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process);
    const ssize_t length = readlink(link, target->program, sizeof target->program - 1);
    if (length < 0 && errno != ENOENT)
        return errno;
    target->program[length > 0 ? length : 0] = '\0';
    make_printable(target->program, sizeof target->program);
    const int error = read_mappings(target);
    if (error != 0)
        return error;
    if (!target->found) { /* reading maps is allowed to more than reading memory is */
        char byte;
        if (read_memory(process, (unsigned long)&byte, &byte, 1) < 0 && errno == EPERM)
            return EPERM;
    }
    read_privilege(target);
    read_preload(target);
    return 0;
}
