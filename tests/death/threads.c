/* SPDX-License-Identifier: MIT */
/*
 * What: double frees across threads; SJ-004, whichever of the two frees is the remote one.
 *
 * Why this way: the threads take turns (each step is a thread that is joined), so that every order of owner and
 * stranger is a case by itself and not a matter of luck: local then remote, remote then local with the first still
 * queued, remote twice by one and by two threads, and after the owner is gone. The raced case is the one exception:
 * there both calls may return, and the report must come at the latest at exit.
 *
 * Invariants: no allocation of the class happens between the two frees. All but the raced cases end by _exit, so a
 * check at exit does not help them.
 *
 * Concurrency: as the names say.
 */
#include "death.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

static void *free_once(void *block)
{
    death_free(block);
    return NULL;
}

static void *free_twice(void *block)
{
    death_free(block);
    death_free(block);
    return NULL;
}

static void *make_block(void *size)
{
    return death_new((size_t)(uintptr_t)size);
}

/* Runs one step in a thread of its own, and returns what it returned. */
static void *in_thread(void *(*step)(void *), void *argument)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, step, argument) != 0)
        death_cannot("no thread");
    pthread_join(thread, &result);
    return result;
}

static void remote_twice(bool misuse, size_t size)
{
    in_thread(misuse ? free_twice : free_once, death_new(size));
    _exit(0);
}

static void two_remotes(bool misuse, size_t size)
{
    void *block = death_new(size);
    in_thread(free_once, block);
    if (misuse)
        in_thread(free_once, block);
    _exit(0);
}

/* A thread that is there before the block is freed, so that starting it allocates nothing in between. */
struct waiting {
    pthread_t thread;
    sem_t go;
    void *block;
};

static void *wait_and_free(void *argument)
{
    struct waiting *waiting = argument;
    sem_wait(&waiting->go);
    if (waiting->block != NULL)
        death_free(waiting->block);
    return NULL;
}

static void local_then_remote(bool misuse, size_t size)
{
    struct waiting waiting;
    sem_init(&waiting.go, 0, 0);
    if (pthread_create(&waiting.thread, NULL, wait_and_free, &waiting) != 0)
        death_cannot("no thread");
    void *block = death_new(size);
    death_free(block);
    waiting.block = misuse ? block : NULL;
    sem_post(&waiting.go);
    pthread_join(waiting.thread, NULL);
    _exit(0);
}

/* pthread_create allocates: the second free must not pass even if that reuses the memory for another size. */
static void local_then_new_thread(bool misuse, size_t size)
{
    void *block = death_new(size);
    death_free(block);
    if (misuse)
        in_thread(free_once, block);
    _exit(0);
}

static void remote_then_local(bool misuse, size_t size)
{
    void *block = death_new(size);
    in_thread(free_once, block);
    if (misuse)
        death_free(block);
    _exit(0);
}

/* As above, with other blocks of the slab queued too, and after other work of the owner's. */
static void remote_then_local_queued(bool misuse, size_t size)
{
    enum { BLOCKS = 8 };
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = death_new(size);
    for (int i = 0; i < BLOCKS; i++)
        in_thread(free_once, blocks[i]);
    death_free(death_new(size < 4096 ? 5000 : 100));
    if (misuse)
        death_free(blocks[BLOCKS / 2]);
    _exit(0);
}

/* The first, remote free has been taken in by the owner before the second comes. */
static void remote_folded_then_remote(bool misuse, size_t size)
{
    enum { ROUNDS = 2000, KEPT = 200 };
    static void *kept[KEPT];
    void *neighbour = death_new(size);
    void *block = death_new(size);
    in_thread(free_once, block);
    /* Enough of other classes to reach the slow paths many times. */
    for (int i = 0; i < ROUNDS; i++) {
        free(kept[i % KEPT]);
        kept[i % KEPT] = malloc(size < 4096 ? 8000 : 48);
    }
    if (misuse)
        in_thread(free_once, block);
    death_free(neighbour);
    _exit(0);
}

static void owner_gone(bool misuse, size_t size)
{
    void *block = in_thread(make_block, (void *)(uintptr_t)size);
    death_free(block);
    if (misuse)
        death_free(block);
    _exit(0);
}

static void owner_gone_two_threads(bool misuse, size_t size)
{
    void *block = in_thread(make_block, (void *)(uintptr_t)size);
    in_thread(free_once, block);
    if (misuse)
        death_free(block);
    _exit(0);
}

static void *make_and_free(void *size)
{
    void *block = death_new((size_t)(uintptr_t)size);
    death_free(block);
    return block;
}

static void freed_by_gone_owner(bool misuse, size_t size)
{
    void *block = in_thread(make_and_free, (void *)(uintptr_t)size);
    if (misuse)
        death_free(block);
    _exit(0);
}

/* The second free comes from the destructor of a thread's key, when its heap may be gone. */
static pthread_key_t late_key;

static void free_late(void *block)
{
    death_free(block);
}

static void *free_now_and_late(void *block)
{
    pthread_setspecific(late_key, block);
    death_free(block);
    return NULL;
}

static void *free_late_only(void *block)
{
    pthread_setspecific(late_key, block);
    return NULL;
}

static void by_key_destructor(bool misuse, size_t size)
{
    pthread_key_create(&late_key, free_late);
    in_thread(misuse ? free_now_and_late : free_late_only, death_new(size));
    _exit(0);
}

enum { RACES = 300 };

static struct {
    atomic_int ready;
    void *blocks[RACES];
    bool misuse;
} race;

static void *race_frees(void *argument)
{
    for (int i = 0; i < RACES; i++) {
        atomic_fetch_add(&race.ready, 1);
        for (int spins = 0; atomic_load(&race.ready) < 2 * (i + 1); spins++)
            if (spins % 1000 == 999)
                sched_yield();
        if (argument != NULL || race.misuse)
            death_free(race.blocks[i]);
    }
    return NULL;
}

/* The owner and a stranger free each block at the same moment. */
static void raced_with_owner(bool misuse, size_t size)
{
    pthread_t other;
    race.misuse = misuse;
    for (int i = 0; i < RACES; i++)
        race.blocks[i] = death_new(size);
    if (pthread_create(&other, NULL, race_frees, NULL) != 0)
        death_cannot("no thread");
    race_frees(&race);
    pthread_join(other, NULL);
    /* No _exit: the report may come as late as at exit. */
}

static void raced_by_strangers(bool misuse, size_t size)
{
    pthread_t threads[2];
    race.misuse = misuse;
    for (int i = 0; i < RACES; i++)
        race.blocks[i] = death_new(size);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, race_frees, i == 0 ? NULL : &race) != 0)
            death_cannot("no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* A single race, so that only the check at exit is left to find it. */
static void raced_once(bool misuse, size_t size)
{
    pthread_t other;
    race.misuse = misuse;
    race.blocks[0] = death_new(size);
    for (int i = 1; i < RACES; i++)
        race.blocks[i] = NULL;
    if (pthread_create(&other, NULL, race_frees, NULL) != 0)
        death_cannot("no thread");
    race_frees(&race);
    pthread_join(other, NULL);
}

static const size_t slot_sizes[] = { 8, 48, 256, 1000, 4096, 32768, SIZE_MAX };
static const size_t block_sizes[] = { 33792, 1048576, SIZE_MAX };
static const size_t some_sizes[] = { 8, 48, 256, 1000, 4096, 32768, 33792, 1048576, SIZE_MAX };

#define BY_SIZE(name, list, function)                          \
    {                                                          \
        name, "SJ-004", "0,1,2", DEATH_SIZE, 0, list, function \
    }

const struct death_family death_threads[] = {
    BY_SIZE("thread_remote_twice", death_all_sizes, remote_twice),
    BY_SIZE("thread_two_remotes", some_sizes, two_remotes),
    BY_SIZE("thread_local_then_remote", death_all_sizes, local_then_remote),
    /* Level 0 takes a freed large block's memory for anything at once: a second free after that is not to be told. */
    { "thread_local_then_new_thread_large", "SJ-004|SJ-003|SJ-002", "1,2", DEATH_SIZE, 0, block_sizes,
      local_then_new_thread },
    { "thread_local_then_new_thread", "SJ-004|SJ-003|SJ-002", "0,1,2", DEATH_SIZE, 0, slot_sizes,
      local_then_new_thread },
    BY_SIZE("thread_remote_then_local", death_all_sizes, remote_then_local),
    BY_SIZE("thread_remote_then_local_queued", some_sizes, remote_then_local_queued),
    BY_SIZE("thread_remote_folded_then_remote", slot_sizes, remote_folded_then_remote),
    BY_SIZE("thread_owner_gone", some_sizes, owner_gone),
    BY_SIZE("thread_owner_gone_two_threads", some_sizes, owner_gone_two_threads),
    BY_SIZE("thread_freed_by_gone_owner", some_sizes, freed_by_gone_owner),
    BY_SIZE("thread_by_key_destructor", some_sizes, by_key_destructor),
    BY_SIZE("thread_raced_with_owner", some_sizes, raced_with_owner),
    BY_SIZE("thread_raced_by_strangers", some_sizes, raced_by_strangers),
    BY_SIZE("thread_raced_once", some_sizes, raced_once),
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
