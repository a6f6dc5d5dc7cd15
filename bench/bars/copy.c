/* SPDX-License-Identifier: MIT
 *
 * What: what checked copies cost: nanoseconds of a memcpy and a memset by size, into a block of the heap and into memory
 * that is not the heap's, through the name that a program calls and through libc's own function, in turn.
 *
 * Why this way: both run in one process, in short rounds by turns, so that the machine's moods hit both; the median of
 * the rounds is printed. libc's function is found with dlsym in libc itself.
 *
 * Output, a line a size: size, then for heap and for static memory: called, libc's, difference.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 301, COPY_BYTES_A_ROUND = 1 << 20, CALLS_MAX = 20000, BLOCK_BYTES = 65536 };

typedef void *copy_function(void *, const void *, size_t);

static char source[BLOCK_BYTES], foreign[BLOCK_BYTES];

static double nanoseconds(copy_function *volatile function, char *to, size_t bytes, long calls)
{
    struct timespec before, after;
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    for (long i = 0; i < calls; i++)
        (void)function(to, source, bytes);
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    return ((double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec)) / (double)calls;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(copy_function *called, copy_function *own, char *to, size_t bytes)
{
    static double times[2][ROUNDS], differences[ROUNDS];
    long calls = COPY_BYTES_A_ROUND / (long)bytes;
    if (calls > CALLS_MAX)
        calls = CALLS_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        int first = round & 1;
        times[first][round] = nanoseconds(first == 0 ? called : own, to, bytes, calls);
        times[!first][round] = nanoseconds(first == 0 ? own : called, to, bytes, calls);
        differences[round] = times[0][round] - times[1][round];
    }
    qsort(times[0], ROUNDS, sizeof(double), compare);
    qsort(times[1], ROUNDS, sizeof(double), compare);
    qsort(differences, ROUNDS, sizeof(double), compare);
    printf(" | %.2f | %.2f | %+.2f", times[0][ROUNDS / 2], times[1][ROUNDS / 2], differences[ROUNDS / 2]);
}

int main(void)
{
    static const size_t sizes[] = { 8, 16, 32, 64, 128, 256, 1024, 4096, 16384 };
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    copy_function *own = libc != NULL ? (copy_function *)dlsym(libc, "memcpy") : NULL;
    if (own == NULL)
        return 1;
    puts("| bytes | heap: called | libc's | more | not heap: called | libc's | more |\n|---|---|---|---|---|---|---|");
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *block = malloc(sizes[i]);
        if (block == NULL)
            return 1;
        printf("| %zu", sizes[i]);
        measure(memcpy, own, block, sizes[i]);
        measure(memcpy, own, foreign, sizes[i]);
        puts(" |");
        free(block);
    }
    return 0;
}
