/* SPDX-License-Identifier: MIT */
/*
 * What: a hundred thousand threads, and key destructors that allocate when the thread's heap may be gone.
 * Why this way: what a thread leaves behind shows only in numbers, so the resident size is looked at along the way.
 */
#include "support/process.h"
#include "unit/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 100000, WARM_UP = 5000, GROWTH_BYTES = 8 << 20 };

/* Frees what the thread before it left, and leaves something itself. */
static void *short_life(void *left)
{
    free(left);
    void *a = malloc(100), *b = malloc(3000);
    memset(a, 1, 100);
    memset(b, 1, 3000);
    free(a);
    a = realloc(b, 20);
    return a;
}

static void threads_churn__leaves_nothing(void)
{
    double end = unit_now_seconds() + unit_budget_seconds(1000);
    long resident = 0, maps = 0;
    void *left = NULL;
    int count = 0;
    for (; count < THREADS && unit_now_seconds() < end; count++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, short_life, left) == 0);
        pthread_join(thread, &left);
        if (count == WARM_UP) {
            resident = resident_bytes();
            maps = mappings();
        }
    }
    free(left);
    long grown = resident_bytes() - resident;
    unit_print("# %d threads, %ld KiB grown after the first %d\n", count, grown / 1024, (int)WARM_UP);
    CHECK(count < WARM_UP || grown < GROWTH_BYTES);
    CHECK(count < WARM_UP || mappings() <= maps + 20);
}

/* Many threads at once, that all hold memory and go away together. */
static void *hold_and_wait(void *barrier)
{
    void *blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = malloc((size_t)i * 20);
    pthread_barrier_wait(barrier);
    for (int i = 0; i < 100; i++)
        free(blocks[i]);
    return NULL;
}

static void threads_many_at_once__leave_nothing(void)
{
    enum { AT_ONCE = 200, ROUNDS = 20 };
    long resident = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[AT_ONCE];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, AT_ONCE);
        for (int i = 0; i < AT_ONCE; i++)
            REQUIRE(pthread_create(&threads[i], NULL, hold_and_wait, &barrier) == 0);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&barrier);
        if (round == 3)
            resident = resident_bytes();
    }
    /* Free memory up to 32 MiB is held for reuse, and random placement touches more and more of its pages. */
    CHECK(resident_bytes() - resident < GROWTH_BYTES + (32 << 20));
}

static pthread_key_t keys[3];
static atomic_int destructor_runs;

static void destroy(void *value)
{
    static _Thread_local int rounds;
    free(value);
    void *block = calloc(1, 500);
    for (int i = 0; i < 50; i++)
        free(malloc((size_t)i * 100));
    atomic_fetch_add(&destructor_runs, 1);
    /* Once more, until the system gives up: the last block is freed in the last round. */
    if (++rounds < 6)
        pthread_setspecific(keys[rounds % 3], block);
    else
        free(block);
}

static void *set_keys(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++)
        pthread_setspecific(keys[i], malloc(100));
    return malloc(10);
}

static void threads_key_destructors__may_allocate_and_free(void)
{
    long resident = 0;
    for (int i = 0; i < 3000; i++) {
        pthread_t thread;
        void *block;
        REQUIRE(pthread_create(&thread, NULL, set_keys, NULL) == 0);
        pthread_join(thread, &block);
        free(block);
        if (i == 500)
            resident = resident_bytes();
    }
    CHECK(atomic_load(&destructor_runs) >= 3 * 3000);
    CHECK(resident_bytes() - resident < GROWTH_BYTES);
}

/* A thread whose only use of the allocator is in its key's destructor. */
static void *set_key_only(void *block)
{
    pthread_setspecific(keys[0], block);
    return NULL;
}

static void threads_key_destructors__may_be_the_first_use(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_key_create(&keys[i], destroy) == 0);
    for (int i = 0; i < 1000; i++) {
        REQUIRE(pthread_create(&thread, NULL, set_key_only, malloc(200)) == 0);
        pthread_join(thread, NULL);
    }
}

static void *cancelled(void *unused)
{
    (void)unused;
    for (;;) {
        void *block = malloc(1000);
        pthread_testcancel();
        free(block);
    }
    return NULL;
}

static void threads_cancelled__leave_heap_whole(void)
{
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, cancelled, NULL) == 0);
        if (i % 2 == 0)
            usleep(50);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    free(malloc(10));
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(threads_key_destructors__may_be_the_first_use);
    RUN(threads_key_destructors__may_allocate_and_free);
    RUN(threads_cancelled__leave_heap_whole);
    RUN(threads_many_at_once__leave_nothing);
    RUN(threads_churn__leaves_nothing);
    return unit_end();
}
