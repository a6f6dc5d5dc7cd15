/* SPDX-License-Identifier: MIT
 *
 * What: the few file calls that reports need; see descriptor.h.
 *
 * Why this way: SIGPIPE is blocked around the write and, if this write raised it, taken back with sigtimedwait, so
 * that the program neither dies of it nor finds it pending. One that was pending before is left alone.
 *
 * Invariants: see descriptor.h.
 *
 * Concurrency: SIGPIPE of a write goes to the writing thread, so the mask of this thread is all that matters.
 */
#include "platform/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { KERNEL_SIGSET_BYTES = 8, NO_REPLACE = 1 /* RENAME_NOREPLACE, which musl has no name for */ };

bool sj__descriptor_identify(int fd, struct sj_file_identity *identity)
{
    const int saved_errno = errno;
    struct stat status;
    const bool open = fstat(fd, &status) == 0;
    if (open)
        *identity = (struct sj_file_identity){ .device = (uint64_t)status.st_dev, .inode = (uint64_t)status.st_ino };
    errno = saved_errno;
    return open;
}

/* Writes until done or refused: 0 or a negative errno. */
static int write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const long written = syscall(SYS_write, fd, text, bytes);
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        text += written;
        bytes -= (size_t)written;
    }
    return 0;
}

int sj__descriptor_write(int fd, const char *text, size_t bytes)
{
    const int saved_errno = errno;
    sigset_t pipe_only, before, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    const bool masked = sigprocmask(SIG_BLOCK, &pipe_only, &before) == 0;
    const int error = write_all(fd, text, bytes);
    if (error == -EPIPE && masked && !was_pending) {
        const struct timespec at_once = { 0, 0 };
        syscall(SYS_rt_sigtimedwait, &pipe_only, NULL, &at_once, KERNEL_SIGSET_BYTES);
    }
    if (masked)
        sigprocmask(SIG_SETMASK, &before, NULL);
    errno = saved_errno;
    return error;
}

enum { OWNER_ONLY = 0600, ALL_READ = 0644 };

/* Negative errno on failure. */
static int open_with(const char *path, int flags, int mode)
{
    const int saved_errno = errno;
    const long fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY, mode);
    const int answer = fd < 0 ? -errno : (int)fd;
    errno = saved_errno;
    return answer;
}

static int open_as(const char *path, int flags)
{
    return open_with(path, flags, OWNER_ONLY);
}

int sj__descriptor_open(const char *path)
{
    return open_as(path, O_RDONLY);
}

int sj__descriptor_create(const char *path)
{
    return open_as(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW);
}

int sj__descriptor_create_for_all(const char *path)
{
    return open_with(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, ALL_READ);
}

static int rename_with(const char *from, const char *to, unsigned flags)
{
    const int saved_errno = errno;
    const int answer = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags) == 0 ? 0 : -errno;
    errno = saved_errno;
    return answer;
}

int sj__descriptor_rename(const char *from, const char *to)
{
    return rename_with(from, to, 0);
}

int sj__descriptor_rename_new(const char *from, const char *to)
{
    return rename_with(from, to, NO_REPLACE);
}

void sj__descriptor_unlink(const char *path)
{
    const int saved_errno = errno;
    syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    errno = saved_errno;
}

int sj__descriptor_open_append(const char *path)
{
    return open_as(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
}

long sj__descriptor_read(int fd, void *buffer, size_t bytes)
{
    const int saved_errno = errno;
    long got;
    do
        got = syscall(SYS_read, fd, buffer, bytes);
    while (got < 0 && errno == EINTR);
    errno = saved_errno;
    return got;
}

void sj__descriptor_close(int fd)
{
    const int saved_errno = errno;
    syscall(SYS_close, fd);
    errno = saved_errno;
}
