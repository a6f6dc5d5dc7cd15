/* SPDX-License-Identifier: MIT
 *
 * What: starts 1,000 threads that allocate once and wait, and prints what a thread added: KiB of RSS and mappings.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 1000, STACK_BYTES = 65536 };

static pthread_barrier_t barrier;

static void *allocate_once(void *unused)
{
    (void)unused;
    void *block = malloc(100);
    if (block == NULL)
        abort();
    memset(block, 1, 100);
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_barrier_wait(&barrier);
    free(block);
    return NULL;
}

static long read_rss_kib(void)
{
    char line[256];
    long rss_kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            rss_kib = strtol(line + 6, NULL, 10);
    if (file != NULL)
        (void)fclose(file);
    return rss_kib;
}

static long count_mappings(void)
{
    int c;
    long lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file != NULL && (c = fgetc(file)) != EOF)
        lines += c == '\n';
    if (file != NULL)
        (void)fclose(file);
    return lines;
}

int main(void)
{
    static pthread_t threads[THREADS];
    pthread_attr_t attributes;
    (void)pthread_barrier_init(&barrier, NULL, THREADS + 1);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    long rss_kib = read_rss_kib(), mappings = count_mappings();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &attributes, allocate_once, NULL) != 0)
            return 1;
    (void)pthread_barrier_wait(&barrier);
    rss_kib = read_rss_kib() - rss_kib;
    mappings = count_mappings() - mappings;
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    printf("%.1f %.2f\n", (double)rss_kib / THREADS, (double)mappings / THREADS);
    return 0;
}
