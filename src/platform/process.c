/* SPDX-License-Identifier: MIT
 *
 * What: facts about this process.
 *
 * Why this way: files are opened, read and closed by syscall(): libc's wrappers are cancellation points, and a thread
 * cancelled inside an allocation would leave the allocator's locks held for ever. No stdio, since it allocates. /proc
 * is read through a 256-byte window, because the lines wanted may lie behind a list of a thousand groups and a thread's
 * stack may be small.
 *
 * Invariants: no allocation; errno preserved; every descriptor opened here is close-on-exec and closed here.
 *
 * Concurrency: nothing shared but the cached thread id, which is thread-local.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "platform/process.h"

#include "base/format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;
extern void *__libc_stack_end SJ_WEAK; /* glibc's loader has it, musl has not */

enum {
    PROCESS_MAX_ARGUMENTS = 1 << 22, /* above this, what lies at __libc_stack_end is not an argument count */
    PROCESS_PATH_BYTES = 4096
};

static long process_open(const char *path, int more_flags)
{
    return syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more_flags, 0);
}

static void process_close(long descriptor)
{
    (void)syscall(SYS_close, (int)descriptor);
}

/* Reads at most `bytes` bytes; 0 at the end, -errno on failure. */
static long process_read(long descriptor, char *buffer, size_t bytes)
{
    long got;

    do
        got = syscall(SYS_read, (int)descriptor, buffer, bytes);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* --- Reading a file byte by byte. --- */

struct process_reader {
    long descriptor;
    size_t at;   /* next byte of the window */
    size_t have; /* bytes in the window */
    char window[256];
};

static bool process_reader_open(struct process_reader *reader, const char *path)
{
    reader->descriptor = process_open(path, O_NOFOLLOW);
    reader->at = 0;
    reader->have = 0;
    return reader->descriptor >= 0;
}

/* The next byte, or -1 at the end or on failure. */
static int process_reader_next(struct process_reader *reader)
{
    if (reader->at == reader->have) {
        long got = process_read(reader->descriptor, reader->window, sizeof reader->window);

        if (got <= 0)
            return -1;
        reader->at = 0;
        reader->have = (size_t)got;
    }
    return (unsigned char)reader->window[reader->at++];
}

/* --- Privileges. --- */

bool sj__process_is_secure(void)
{
    int saved_errno = errno;
    bool secure = getauxval(AT_SECURE) != 0;

    errno = saved_errno;
    return secure;
}

/* --- Environment. --- */

static const char *process_find_in_vector(char *const *vector, const char *name)
{
    size_t name_bytes = strlen(name);

    for (; *vector != NULL; vector++) {
        if (strncmp(*vector, name, name_bytes) == 0 && (*vector)[name_bytes] == '=')
            return *vector + name_bytes + 1;
    }
    return NULL;
}

/* The environment as the kernel laid it out above the argument vector, or NULL where that can't be found. */
static char *const *process_initial_environment(void)
{
    if (&__libc_stack_end == NULL || __libc_stack_end == NULL)
        return NULL;

    const long *count = __libc_stack_end; /* argc, argv[0..argc-1], NULL, environment, NULL */
    char *const *vector = (char *const *)(count + 1);

    if (*count < 0 || *count > PROCESS_MAX_ARGUMENTS || vector[*count] != NULL)
        return NULL;
    return vector + *count + 1;
}

/* Copies the bytes up to the next NUL. False if they don't fit: half a value is not a value. */
static bool process_copy_value(struct process_reader *reader, char *buffer, size_t buffer_bytes)
{
    for (size_t i = 0; i < buffer_bytes; i++) {
        int byte = process_reader_next(reader);

        buffer[i] = byte < 0 ? '\0' : (char)byte;
        if (byte <= 0)
            return true;
    }
    return false;
}

static bool process_find_in_file(struct process_reader *reader, const char *name, char *buffer, size_t buffer_bytes)
{
    size_t matched = 0; /* bytes of `name` matched in this entry, or SIZE_MAX if it is another */

    for (int byte = process_reader_next(reader); byte >= 0; byte = process_reader_next(reader)) {
        if (byte == '\0')
            matched = 0;
        else if (matched == SIZE_MAX)
            continue;
        else if (name[matched] == '\0' && byte == '=')
            return process_copy_value(reader, buffer, buffer_bytes);
        else
            matched = name[matched] == (char)byte ? matched + 1 : SIZE_MAX;
    }
    return false;
}

const char *sj__process_environment(const char *name, char *buffer, size_t buffer_bytes)
{
    int saved_errno = errno;
    char *const *vector = environ != NULL ? environ : process_initial_environment();
    const char *value = NULL;
    struct process_reader reader;

    if (vector != NULL)
        return process_find_in_vector(vector, name);
    if (process_reader_open(&reader, "/proc/self/environ")) {
        if (process_find_in_file(&reader, name, buffer, buffer_bytes))
            value = buffer;
        process_close(reader.descriptor);
    }
    errno = saved_errno;
    return value;
}

/* --- Name. --- */

void sj__process_name(char *buffer, size_t bytes)
{
    static const char deleted[] = " (deleted)"; /* the kernel's mark for a file that has been replaced */
    char path[PROCESS_PATH_BYTES];
    int saved_errno = errno;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    errno = saved_errno;
    if (bytes == 0)
        return;
    path[length > 0 ? length : 0] = '\0';
    size_t end = strlen(path);
    size_t mark = sizeof deleted - 1;

    if (end > mark && strcmp(path + end - mark, deleted) == 0)
        path[end - mark] = '\0';
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    size_t base_bytes = strlen(base);

    if (base_bytes > bytes - 1)
        base_bytes = bytes - 1;
    memcpy(buffer, base, base_bytes);
    buffer[base_bytes] = '\0';
}

/* --- Files. --- */

static bool process_file_is_trusted(long descriptor)
{
    struct stat about;

    return fstat((int)descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == 0 &&
           (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Reads until the file ends; -EFBIG if it does not end within `bytes`. */
static long process_read_all(long descriptor, char *buffer, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        long got = process_read(descriptor, buffer + done, bytes - done);

        if (got <= 0)
            return got < 0 ? got : (long)done;
        done += (size_t)got;
    }
    return -EFBIG;
}

long sj__process_read_file(const char *path, bool trusted_only, char *buffer, size_t bytes)
{
    int saved_errno = errno;
    long result;

    if (bytes == 0)
        return -EINVAL;
    buffer[0] = '\0';
    long descriptor = process_open(path, trusted_only ? O_NOFOLLOW : 0);

    if (descriptor < 0) {
        result = -errno;
    } else {
        if (trusted_only && !process_file_is_trusted(descriptor))
            result = -EPERM;
        else
            result = process_read_all(descriptor, buffer, bytes); /* the last one is the NUL's */
        process_close(descriptor);
    }
    buffer[result > 0 ? result : 0] = '\0';
    errno = saved_errno;
    return result;
}

/* --- Memory. --- */

size_t sj__process_address_space_limit(void)
{
    int saved_errno = errno;
    struct rlimit limit;
    bool known = getrlimit(RLIMIT_AS, &limit) == 0;

    errno = saved_errno;
    if (!known || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > (rlim_t)SIZE_MAX)
        return SIZE_MAX;
    return (size_t)limit.rlim_cur;
}

/* Reads one line of at most bytes-1 characters, dropping what is longer. False at the end of the file. */
static bool process_read_line(struct process_reader *reader, char *line, size_t bytes)
{
    size_t length = 0;
    int byte = process_reader_next(reader);

    if (byte < 0)
        return false;
    for (; byte >= 0 && byte != '\n'; byte = process_reader_next(reader)) {
        if (length < bytes - 1)
            line[length++] = (char)byte;
    }
    line[length] = '\0';
    return true;
}

/* The value of a line `Key:   123 kB` in bytes; `key` has its colon. Leaves *value alone on other lines. */
static void process_take_kilobytes(const char *line, const char *key, size_t *value)
{
    size_t key_bytes = strlen(key);
    size_t kilobytes = 0;

    if (strncmp(line, key, key_bytes) != 0)
        return;
    for (const char *at = line + key_bytes; *at != '\0'; at++) {
        if (*at >= '0' && *at <= '9')
            kilobytes = kilobytes * 10 + (size_t)(*at - '0');
    }
    *value = kilobytes * 1024;
}

void sj__process_resident(size_t *now_bytes, size_t *peak_bytes)
{
    int saved_errno = errno;
    struct process_reader reader;
    char line[64] = "";

    *now_bytes = 0;
    *peak_bytes = 0;
    if (process_reader_open(&reader, "/proc/self/status")) {
        while ((*now_bytes == 0 || *peak_bytes == 0) && process_read_line(&reader, line, sizeof line)) {
            process_take_kilobytes(line, "VmHWM:", peak_bytes);
            process_take_kilobytes(line, "VmRSS:", now_bytes);
        }
        process_close(reader.descriptor);
    }
    errno = saved_errno;
}

static const char *process_take_hex(const char *at, uintptr_t *number)
{
    for (*number = 0;; at++) {
        if (*at >= '0' && *at <= '9')
            *number = *number * 16 + (uintptr_t)(*at - '0');
        else if (*at >= 'a' && *at <= 'f')
            *number = *number * 16 + (uintptr_t)(*at - 'a') + 10;
        else
            return at;
    }
}

/* The first line of a mapping, `start-end rights ...`; the others begin with a capital letter. */
static bool process_take_mapping(const char *line, struct sj_stretch *mapping)
{
    const char *at = process_take_hex(line, &mapping->start);
    if (at == line || *at != '-')
        return false;
    (void)process_take_hex(at + 1, &mapping->end);
    return true;
}

static bool process_is_within(const struct sj_stretch *mapping, const struct sj_stretch *stretches, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (mapping->start < stretches[i].end && stretches[i].start < mapping->end)
            return true;
    }
    return false;
}

size_t sj__process_resident_within(const struct sj_stretch *stretches, unsigned count)
{
    int saved_errno = errno;
    struct process_reader reader;
    struct sj_stretch mapping;
    char line[64] = "";
    bool is_within = false;
    size_t resident_bytes = 0;

    if (process_reader_open(&reader, "/proc/self/smaps")) {
        while (process_read_line(&reader, line, sizeof line)) {
            size_t bytes = 0;

            if (process_take_mapping(line, &mapping))
                is_within = process_is_within(&mapping, stretches, count);
            process_take_kilobytes(line, "Rss:", &bytes);
            resident_bytes += is_within ? bytes : 0;
        }
        process_close(reader.descriptor);
    }
    errno = saved_errno;
    return resident_bytes;
}

/* --- Ids. --- */

static _Thread_local uint32_t process_thread_id; /* 0 until asked for */

uint32_t sj__process_thread_id(void)
{
    if (sj_unlikely(process_thread_id == 0))
        process_thread_id = (uint32_t)syscall(SYS_gettid);
    return process_thread_id;
}

void sj__process_forked(void)
{
    process_thread_id = 0;
}

uint32_t sj__process_id(void)
{
    return (uint32_t)getpid();
}

uint32_t sj__process_cpus(void)
{
    uint64_t mask[16] = { 0 };
    uint32_t cpus = 0;
    int saved_errno = errno;

    (void)syscall(SYS_sched_getaffinity, 0, sizeof mask, mask); /* also refused if there are more than 1,024 */
    for (size_t i = 0; i < sizeof mask / sizeof mask[0]; i++)
        cpus += (uint32_t)__builtin_popcountll(mask[i]);
    errno = saved_errno;
    return cpus != 0 ? cpus : UINT32_MAX;
}

bool sj__process_pays_for_addresses(void)
{
    char mode[8];
    return sj__process_read_file("/proc/sys/vm/overcommit_memory", false, mode, sizeof mode) > 0 && mode[0] == '2';
}
