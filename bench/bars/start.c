/* SPDX-License-Identifier: MIT
 *
 * What: starts /bin/true 200 times with a library preloaded and 200 times without, in turn, and prints the difference of
 * the median times in milliseconds.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

enum { STARTS = 200 };

static double start_once(char **environment)
{
    struct timespec before, after;
    char *arguments[] = { "true", NULL };
    pid_t child;
    int status;
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environment) != 0 ||
        waitpid(child, &status, 0) != child)
        exit(1);
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    return (double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double with[STARTS], without[STARTS];
    char preload[4096];
    if (argc < 2)
        return 2;
    (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", argv[1]);
    char *environment_with[] = { preload, NULL }, *environment_without[] = { "LD_NOTHING=", NULL };
    for (int i = 0; i < STARTS; i++) {
        with[i] = start_once(environment_with);
        without[i] = start_once(environment_without);
    }
    qsort(with, STARTS, sizeof *with, compare);
    qsort(without, STARTS, sizeof *without, compare);
    printf("%.3f\n", with[STARTS / 2] - without[STARTS / 2]);
    return 0;
}
