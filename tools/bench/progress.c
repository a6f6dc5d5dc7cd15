/* SPDX-License-Identifier: MIT
 *
 * What: see progress.h.
 *
 * Why this way: see progress.h.
 */
#include "bench/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { PROGRESS_WIDTH = 30, PROGRESS_STEPS = 10 };

static bool progress_stands;

void bench_progress_clear(void)
{
    if (progress_stands)
        fputs("\r\033[K", stderr);
    progress_stands = false;
}

void bench_progress(const char *name, size_t done, size_t total, double left_seconds)
{
    unsigned left = (unsigned)(left_seconds + 0.5);
    if (isatty(STDERR_FILENO) == 0) {
        if (done * PROGRESS_STEPS / total != (done - 1) * PROGRESS_STEPS / total)
            fprintf(stderr, "# %s: %zu %%, %u:%02u left\n", name, 100 * done / total, left / 60, left % 60);
        return;
    }
    size_t filled = done * PROGRESS_WIDTH / total;
    fputs("\r\033[K[", stderr);
    for (size_t i = 0; i < PROGRESS_WIDTH; i++)
        fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %zu %%, %u:%02u left, %s", 100 * done / total, left / 60, left % 60, name);
    fflush(stderr);
    progress_stands = true;
}
