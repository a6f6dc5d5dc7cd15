/* SPDX-License-Identifier: MIT
 *
 * What: misuses the heap in each way that onerror=report refuses, and checks that nothing has happened. Status 0, or the line
 * of the first check that failed. With an argument: the twin, which does the same calls on what they are for.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void free_sized(void *, size_t) __attribute__((weak));

#define CHECK(condition)              \
    do {                              \
        if (!(condition))             \
            exit(__LINE__ % 126 + 1); \
    } while (0)

enum { TIMES = 5, BYTES = 48, SLOTS = 512 };

static void *hide(void *pointer)
{
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

static void wrong_frees(char *block)
{
    int local;
    for (int i = 0; i < TIMES; i++) {
        errno = 77;
        free(hide(block + 8)); /* SJ-002 */
        free(hide(&local));    /* SJ-001 */
        CHECK(errno == 77);
    }
    for (int i = 0; i < BYTES; i++)
        CHECK(block[i] == 'x');
}

/* One site, many blocks: one report. */
static void *free_twice(void *unused)
{
    for (int i = 0; i < TIMES; i++) {
        char *block = hide(malloc(BYTES));
        free(block);
        free(hide(block)); /* SJ-004 */
    }
    return unused;
}

static void *free_all_twice(void *blocks)
{
    char **block = blocks;
    for (int i = 0; i < SLOTS; i++)
        free(hide(block[i]));
    for (int i = 0; i < SLOTS; i++)
        free(hide(block[i])); /* SJ-004, while the first is queued for the owner */
    return NULL;
}

/* Blocks that another thread frees twice come back once, and clean. */
static void remote_frees(int twin)
{
    static char *blocks[SLOTS], *again[SLOTS];
    pthread_t thread;
    for (int i = 0; i < SLOTS; i++)
        memset(blocks[i] = malloc(BYTES), 'x', BYTES);
    if (twin)
        for (int i = 0; i < SLOTS; i++)
            free(blocks[i]);
    else
        CHECK(pthread_create(&thread, NULL, free_all_twice, blocks) == 0 && pthread_join(thread, NULL) == 0);
    for (int i = 0; i < SLOTS; i++) {
        again[i] = malloc(BYTES);
        for (int at = 0; at < BYTES; at++)
            CHECK(again[i][at] == 0);
        memset(again[i], i, BYTES);
    }
    for (int i = 0; i < SLOTS; i++) {
        for (int at = 0; at < BYTES; at++)
            CHECK(again[i][at] == (char)i);
        free(again[i]);
    }
}

static void wrong_uses(void)
{
    char *block = hide(malloc(BYTES));
    free(block);
    errno = 0;
    CHECK(realloc(hide(block), 100) == NULL && errno == ENOMEM); /* SJ-005 */
    CHECK(malloc_usable_size(hide(block)) == 0);                 /* SJ-005, another site */
    char *large = hide(malloc(1 << 20));
    free(large);
    free(hide(large)); /* SJ-004 */
}

int main(int argc, char **argv)
{
    const int twin = argc > 1;
    char *block = memset(hide(malloc(BYTES)), 'x', BYTES);
    (void)argv;
    if (!twin) {
        wrong_frees(block);
        free_twice(NULL);
        wrong_uses();
    }
    remote_frees(twin);
    if (free_sized != NULL)
        free_sized(hide(block), twin ? BYTES : 1000); /* SJ-006: freed all the same */
    else
        free(block);
    return 0;
}
