/* SPDX-License-Identifier: MIT */
/*
 * What: an input as a file, for readers that take a path; and a reader's end by exit() as a return.
 *
 * Why this way: what the command says of a bad file and then exit() is the right answer, so exit is wrapped by the linker
 * (--wrap=exit) and comes back here by longjmp. A memory file needs no disk.
 *
 * Invariants: what a reader has allocated when it ends so is lost; leaks are not looked for in these targets.
 *
 * Concurrency: one input at a time.
 */
#ifndef SJ_TESTS_FUZZ_AS_FILE_H
#define SJ_TESTS_FUZZ_AS_FILE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/target.h"

_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);
const char *__asan_default_options(void);

static jmp_buf as_file_end;
static bool as_file_reading;

_Noreturn void __wrap_exit(int status)
{
    if (as_file_reading)
        longjmp(as_file_end, 1);
    __real_exit(status);
}

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* Calls read(path) with a file that has these bytes. */
static void as_file(const uint8_t *data, size_t size, void (*read_file)(const char *path))
{
    char path[64];
    int file = memfd_create("input", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    as_file_reading = true;
    if (setjmp(as_file_end) == 0)
        read_file(path);
    as_file_reading = false;
    close(file);
}

#endif
