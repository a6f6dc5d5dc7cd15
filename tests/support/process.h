/* SPDX-License-Identifier: MIT */
/*
 * What: what a test asks about its own process: resident bytes, mappings, whether touching a byte ends it.
 *
 * Why this way: read by plain calls, so that looking allocates nothing. Names are functions of this header, so that a test
 * of the plain names needs nothing else.
 *
 * Invariants: -1 where the system does not tell.
 *
 * Concurrency: touching_faults forks.
 */
#ifndef SJ_TESTS_SUPPORT_PROCESS_H
#define SJ_TESTS_SUPPORT_PROCESS_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((unused)) static long resident_bytes(void)
{
    char text[128] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    long total = 0, resident = 0;
    if (length <= 0 || sscanf(text, "%ld %ld", &total, &resident) != 2)
        return -1;
    return resident * sysconf(_SC_PAGESIZE);
}

/* A line of /proc/self/status that is in kB, such as "VmHWM:". */
__attribute__((unused)) static long status_bytes(const char *key)
{
    char text[8192];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, key);
    return line != NULL ? strtol(line + strlen(key), NULL, 10) * 1024 : -1;
}

__attribute__((unused)) static long mappings(void)
{
    static char text[1 << 16];
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    long lines = file < 0 ? -1 : 0;
    for (ssize_t got; (got = read(file, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < got; i++)
            lines += text[i] == '\n';
    close(file);
    return lines;
}

/* True if touching the byte ends a child: by SIGSEGV, the report that the library makes of it, or a sanitizer. */
__attribute__((unused)) static bool touching_faults(volatile char *byte, bool write_to_it)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        (void)close(STDERR_FILENO);
        if (write_to_it)
            *byte = 1;
        else
            (void)*byte;
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status != 0;
}

#endif
