/* SPDX-License-Identifier: MIT */
/*
 * What: writes to freed blocks, found when the slot is handed out again; SJ-013.
 *
 * Why this way: allocates until the slot comes back, as a program that goes on would. Where none of a run finds it the
 * case ends quietly, which is what it does at levels that do not verify.
 *
 * Invariants: the write is one byte, at a place the case chooses.
 *
 * Concurrency: freed_in_thread starts one thread and joins it.
 */
#include "death.h"

#include <pthread.h>
#include <unistd.h>

enum { BATCH_BYTES = 2 << 20, BATCH_MAX = 40000, ROUNDS = 8 };

static void *batch[BATCH_MAX];

/* Allocates more than any delay lets rest, and frees it: slots come back, or their slabs are closed. */
static void go_on(size_t size)
{
    size_t count = BATCH_BYTES / size < BATCH_MAX ? BATCH_BYTES / size : BATCH_MAX;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++)
            batch[i] = death_hide(malloc(size));
        for (size_t i = 0; i < count; i++)
            death_free(batch[i]);
    }
    _exit(0);
}

static void write_at(bool misuse, size_t size, size_t offset)
{
    char *block = death_new(size);
    death_free(block);
    if (misuse)
        ((volatile char *)block)[offset] = 0x41;
    go_on(size);
}

static void first_byte(bool misuse, size_t size)
{
    write_at(misuse, size, 0);
}
static void middle_byte(bool misuse, size_t size)
{
    write_at(misuse, size, size / 2);
}
static void last_byte(bool misuse, size_t size)
{
    write_at(misuse, size, size - 1);
}

static void *free_it(void *block)
{
    death_free(block);
    return NULL;
}

static void freed_in_thread(bool misuse, size_t size)
{
    char *block = death_new(size);
    pthread_t thread;
    if (pthread_create(&thread, NULL, free_it, block) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
    if (misuse)
        ((volatile char *)block)[size / 2] = 0x41;
    go_on(size);
}

static const size_t sizes[] = { 8, 16, 17, 33, 48, 65, 100, 128, 129, 200, 300, 1000, 5000, 32760, SIZE_MAX };

/* Large blocks that are kept when they are freed. */
static const size_t kept[] = { 40000, 100001, 300000, 1000000, SIZE_MAX };

#define KEPT(name, function)                                    \
    {                                                           \
        name, DEATH_FAULT, "3,4", DEATH_SIZE, 0, kept, function \
    }

#define BY_SIZE(name, function)                               \
    {                                                         \
        name, "SJ-013", "3,4", DEATH_SIZE, 0, sizes, function \
    }

const struct death_family death_written[] = {
    BY_SIZE("written_first", first_byte),
    BY_SIZE("written_middle", middle_byte),
    BY_SIZE("written_last", last_byte),
    BY_SIZE("written_freed_in_thread", freed_in_thread),
    KEPT("kept_first", first_byte),
    KEPT("kept_middle", middle_byte),
    KEPT("kept_last", last_byte),
    KEPT("kept_freed_in_thread", freed_in_thread),
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
