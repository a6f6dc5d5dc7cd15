/* SPDX-License-Identifier: MIT
 *
 * What: the few file calls that reports need: write to a descriptor, tell which file it is, read a file in pieces.
 *
 * Why this way: system calls straight, because libc's write, open and read are cancellation points: a thread with a
 * pending cancel would unwind out of the middle of malloc. Writing to a pipe nobody reads must not kill the process
 * with SIGPIPE either, when all it wanted was to warn.
 *
 * Invariants: errno is preserved. No call allocates or locks.
 *
 * Concurrency: any thread, any signal handler.
 */
#ifndef SJ_PLATFORM_DESCRIPTOR_H
#define SJ_PLATFORM_DESCRIPTOR_H

#include "base/compiler.h"

struct sj_file_identity {
    uint64_t device;
    uint64_t inode;
};

/* Which file `fd` is; false if it is closed. */
bool sj__descriptor_identify(int fd, struct sj_file_identity *identity);

/* Writes all of it, in one call if the kernel takes it so. 0, or the negative errno of the error that it gave up on. */
int sj__descriptor_write(int fd, const char *text, size_t bytes);

/* Opens for reading, close-on-exec; negative on failure. */
int sj__descriptor_open(const char *path);

/* Makes a file that only its owner can read and write, for appending, close-on-exec; -EEXIST if there is anything of that
 * name, be it a link, or another negative errno. */
int sj__descriptor_create(const char *path);

/* The same, but everybody may read it, as far as umask allows. */
int sj__descriptor_create_for_all(const char *path);

/* Has the file `from` take the place of `to`, of which nothing is followed. 0 or a negative errno. */
int sj__descriptor_rename(const char *from, const char *to);

/* The same if there is nothing of the name `to`; else -EEXIST. -EINVAL from file systems that can't tell. */
int sj__descriptor_rename_new(const char *from, const char *to);

/* Takes a name away. */
void sj__descriptor_unlink(const char *path);

/* Opens a file that exists for appending, close-on-exec; negative on failure. */
int sj__descriptor_open_append(const char *path);

/* Bytes read, 0 at the end, negative on failure. */
long sj__descriptor_read(int fd, void *buffer, size_t bytes);

void sj__descriptor_close(int fd);

#endif
