/* SPDX-License-Identifier: MIT
 *
 * What: takes all that the system lets it map, gives it back, and tells what did not come back or fails later.
 *
 * Why this way: nothing is touched but a byte a block, so it takes address space and no memory.
 *
 * Invariants: says nothing if all is well.
 *
 * Concurrency: none.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)64 << 20)
enum { BLOCKS_MAX = 1 << 16, SPARE_KIB = 1 << 16, STATUS_BYTES = 8192 };

static char *blocks[BLOCKS_MAX];

/* Without stdio: at the limit that may fail to get its buffer. */
static long data_kib(void)
{
    static char text[STATUS_BYTES];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *line = strstr(text, "VmData:");
    return line != NULL ? atol(line + strlen("VmData:")) : -1;
}

static size_t take(size_t most)
{
    size_t count = 0;
    while (count < most && (blocks[count] = malloc(BLOCK_BYTES)) != NULL)
        blocks[count++][0] = 1;
    return count;
}

static void give(size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    (void)malloc_trim(0);
}

int main(void)
{
    long before_kib = data_kib();
    errno = 0;
    size_t count = take(BLOCKS_MAX);
    if (count == 0 || count == BLOCKS_MAX || errno != ENOMEM)
        printf("%zu blocks of 64 MiB were had, then errno %d\n", count, errno);
    give(count);
    long after_kib = data_kib();
    if (before_kib < 0 || after_kib > before_kib + SPARE_KIB)
        printf("%ld KiB are charged after all was freed, %ld before\n", after_kib, before_kib);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        printf("no child: errno %d, status %d\n", errno, status);
    size_t again = take(count / 2);
    if (again != count / 2)
        printf("%zu blocks were had again, not %zu\n", again, count / 2);
    give(again);
    return 0;
}
