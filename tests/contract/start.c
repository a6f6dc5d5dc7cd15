/* SPDX-License-Identifier: MIT */
/*
 * What: allocation before main, after main, and by libraries that come and go.
 * Why this way: the calls before main are made by the program's own preinit array and constructors, and main looks at
 * what they left.
 */
#include "unit/unit.h"

#include <dlfcn.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>

enum { EARLY = 200 };

static unsigned char *early[EARLY];
static unsigned char *constructed[EARLY];
static void *early_thread_result;

static void fill_early(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    (void)environment;
    for (size_t i = 0; i < EARLY; i++) {
        early[i] = malloc(i * 50 + 1);
        if (early[i] != NULL)
            memset(early[i], (int)i, i * 50 + 1);
    }
    for (size_t i = 0; i < EARLY; i += 2)
        early[i] = realloc(early[i], i * 70 + 1);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **, char **) = fill_early;

static void *in_early_thread(void *unused)
{
    (void)unused;
    free(malloc(500));
    return calloc(1, 123);
}

__attribute__((constructor(101))) static void first_constructor(void)
{
    pthread_t thread;
    for (size_t i = 0; i < EARLY; i++)
        constructed[i] = calloc(1, i * 200 + 1);
    if (pthread_create(&thread, NULL, in_early_thread, NULL) == 0)
        pthread_join(thread, &early_thread_result);
}

__attribute__((destructor(101))) static void last_destructor(void)
{
    free(early_thread_result);
    for (size_t i = 0; i < 1000; i++)
        free(malloc(i));
    for (size_t i = 1; i < EARLY; i += 2)
        free(constructed[i]);
}

static void start_blocks_from_before_main__are_whole(void)
{
    for (size_t i = 0; i < EARLY; i++) {
        REQUIRE(early[i] != NULL && constructed[i] != NULL);
        for (size_t k = 0; k < i * 50 + 1; k++)
            if (!CHECK_EQ(early[i][k], i & 0xff))
                break;
        for (size_t k = 0; k < i * 200 + 1; k++)
            if (!CHECK_EQ(constructed[i][k], 0))
                break;
        CHECK(malloc_usable_size(early[i]) >= i * 50 + 1);
        free(early[i]);
        if (i % 2 == 0)
            free(constructed[i]);
    }
    CHECK(early_thread_result != NULL);
}

static void start_libraries__come_and_go(void)
{
    static const char *const names[] = { "libm.so.6", "libz.so.1", "libresolv.so.2", "libstdc++.so.6",
                                         "libsqlite3.so.0" };
    int loaded = 0;
    for (int round = 0; round < 40; round++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            void *library = dlopen(names[i], RTLD_NOW | (round % 2 ? RTLD_LOCAL : RTLD_GLOBAL));
            if (library == NULL)
                continue;
            loaded++;
            free(malloc(1000));
            CHECK_EQ(dlclose(library), 0);
        }
    CHECK(loaded > 0);
}

static void *load_in_thread(void *name)
{
    for (int i = 0; i < 50; i++) {
        void *library = dlopen(name, RTLD_LAZY);
        void *block = malloc(100);
        if (library != NULL)
            dlclose(library);
        free(block);
    }
    return NULL;
}

static void start_libraries__come_and_go_in_threads(void)
{
    pthread_t threads[3];
    static char names[3][20] = { "libz.so.1", "libresolv.so.2", "libm.so.6" };
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], NULL, load_in_thread, names[i]) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void start_own_library__stays_when_closed(void)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, "sj_malloc");
    if (symbol == NULL || dladdr(symbol, &info) == 0)
        SKIP("another allocator is under test");
    void *block = malloc(100);
    for (int i = 0; i < 5; i++) {
        void *library = dlopen(info.dli_fname, RTLD_NOW);
        CHECK(library != NULL);
        CHECK_EQ(dlclose(library), 0);
    }
    free(block);
}

static void start_libc__works_on_top(void)
{
    char *line = NULL, *text = NULL;
    size_t size = 0;
    FILE *stream = fopen("/proc/self/maps", "re");
    REQUIRE(stream != NULL);
    while (getline(&line, &size, stream) > 0)
        ;
    free(line);
    fclose(stream);
    CHECK(asprintf(&text, "%0500d", 7) == 500);
    free(text);
    setlocale(LC_ALL, "C.UTF-8");
    setlocale(LC_ALL, "C");
    char *copy = strdup("text");
    free(copy);
    stream = open_memstream(&text, &size);
    REQUIRE(stream != NULL);
    for (int i = 0; i < 10000; i++)
        fprintf(stream, "%d,", i);
    fclose(stream);
    CHECK_EQ(size, 48890);
    free(text);
    free(realpath("/proc/self/../self", NULL));
    free(getcwd(NULL, 0));
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(start_blocks_from_before_main__are_whole);
    RUN(start_libraries__come_and_go);
    RUN(start_libraries__come_and_go_in_threads);
    RUN(start_own_library__stays_when_closed);
    RUN(start_libc__works_on_top);
    return unit_end();
}
