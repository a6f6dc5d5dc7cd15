/* SPDX-License-Identifier: MIT
 *
 * What: a program that uses the family from threads and across forks, and looks at what it got; for builds of every kind.
 *
 * Why this way: plain C that any libc can compile and link, with no part of the test harness. With an argument it frees
 * a block twice: a report shows who serves the process.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 20000, HELD = 64, FORKS = 20 };

static int is_all(const unsigned char *block, size_t bytes, unsigned char value)
{
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != value)
            return 0;
    return 1;
}

/* Allocates and frees at random; NULL if all was as it should be. */
static void *churn(void *seed)
{
    unsigned char *held[HELD] = { NULL };
    size_t sizes[HELD] = { 0 };
    unsigned random = (unsigned)(uintptr_t)seed;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1103515245 + 12345;
        unsigned slot = random >> 16 & (HELD - 1);
        size_t bytes = (random >> 8 & 4095) * (i % 500 == 0 ? 100 : 1);
        if (!is_all(held[slot], sizes[slot], (unsigned char)slot))
            return "a block has changed";
        if (i % 7 == 0) {
            held[slot] = realloc(held[slot], bytes + 1);
        } else {
            free(held[slot]);
            held[slot] = i % 3 == 0 ? calloc(1, bytes) : i % 5 == 0 ? memalign(64, bytes) : malloc(bytes);
            if (i % 3 == 0 && !is_all(held[slot], bytes, 0))
                return "calloc gave used memory";
        }
        if (held[slot] == NULL)
            return "no memory";
        sizes[slot] = bytes;
        memset(held[slot], (int)slot, bytes);
    }
    for (unsigned slot = 0; slot < HELD; slot++)
        free(held[slot]);
    return NULL;
}

/* Forks while other threads are inside the allocator; the child must find it whole. */
static void *fork_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(churn((void *)(uintptr_t)i) == NULL ? 0 : 1);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return "a child failed";
    }
    return NULL;
}

/* What libc allocates by itself. */
static const char *use_libc(void)
{
    char *line = NULL, *text = strdup("text"), *path = realpath("/", NULL);
    size_t bytes = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    if (file == NULL || getline(&line, &bytes, file) <= 0 || text == NULL || path == NULL)
        return "libc has no memory";
    fclose(file);
    free(line);
    free(text);
    free(path);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS + 1];
    const char *fault = use_libc();
    (void)argv;
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) != 0)
            return 2;
    if (pthread_create(&threads[THREADS], NULL, fork_often, NULL) != 0)
        return 2;
    for (unsigned i = 0; i <= THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        fault = result != NULL ? result : fault;
    }
    if (fault != NULL) {
        puts(fault);
        return 1;
    }
    if (argc > 1) {
        void *volatile block = malloc(100);
        free(block);
        free(block);
    }
    return 0;
}
