/* SPDX-License-Identifier: MIT */
/*
 * What: chains of threads that replace random blocks of an array and hand the array on. larson [THREADS] [GENERATIONS].
 *
 * Why this way: a server keeps a few thousand blocks of 8 to 1,000 bytes for each session, replaces them at random, and a
 * session moves to a new thread now and then, so that blocks are freed by threads that did not make them and threads
 * die with blocks alive. The classic program runs for a fixed time and counts; here the number of replacements is
 * fixed, so that one process is one number and the result can be checked.
 *
 * Invariants: a block's first bytes hold its tag, which is read back when it is dropped; the sum of the tags read is the
 * checksum and depends on the seed alone.
 *
 * Concurrency: a session belongs to one thread at a time: the successor starts when its predecessor has done its last
 * replacement, and main waits for the last of each chain.
 */
#include "common.h"
#include "larson.h"

#include <pthread.h>
#include <semaphore.h>

enum { BLOCKS = 5000, MINIMUM_BYTES = 8, MAXIMUM_BYTES = 1000, REPLACEMENTS = 100000, WARMUP_ROUNDS = 4 };

struct slot {
    uint32_t *block;
    size_t size_bytes;
};

struct session {
    struct slot slots[BLOCKS];
    struct bench_random random;
    uint64_t sum;
    size_t generations_left;
    sem_t *done;
};

static void slot_fill(struct slot *slot, struct bench_random *random)
{
    slot->size_bytes = bench_random_size(random, MINIMUM_BYTES, MAXIMUM_BYTES);
    slot->block = larson_block_make(slot->size_bytes);
    slot->block[0] = (uint32_t)slot->size_bytes;
    slot->block[1] = bench_random_next(random);
}

static uint64_t slot_empty(struct slot *slot)
{
    if (slot->block[0] != slot->size_bytes) {
        bench_fail("larson: a block lost its tag");
    }
    uint64_t tag = slot->block[1];
    larson_block_drop(slot->block, slot->size_bytes);
    return tag;
}

/* One generation: replaces blocks, then starts its successor, or reports the end of the chain. */
static void *session_run(void *argument)
{
    struct session *session = argument;
    uint64_t sum = 0;
    for (size_t i = 0; i < REPLACEMENTS; i++) {
        struct slot *slot = &session->slots[bench_random_below(&session->random, BLOCKS)];
        sum += slot_empty(slot);
        slot_fill(slot, &session->random);
    }
    session->sum += sum;
    if (--session->generations_left == 0) {
        sem_post(session->done);
        return NULL;
    }
    pthread_t successor;
    if (pthread_create(&successor, NULL, session_run, session) != 0) {
        bench_fail("cannot create a thread");
    }
    pthread_detach(successor);
    return NULL;
}

/* Fills all sessions from one thread and shuffles the blocks across them, so that at first every free is remote. */
static void sessions_fill(struct session *sessions, size_t count, struct bench_random *random)
{
    size_t total = count * BLOCKS;
    for (size_t i = 0; i < total; i++) {
        slot_fill(&sessions[i / BLOCKS].slots[i % BLOCKS], random);
    }
    for (size_t i = total; i > 1; i--) {
        size_t j = bench_random_below(random, (uint32_t)i);
        struct slot *a = &sessions[(i - 1) / BLOCKS].slots[(i - 1) % BLOCKS];
        struct slot *b = &sessions[j / BLOCKS].slots[j % BLOCKS];
        struct slot swap = *a;
        *a = *b;
        *b = swap;
    }
    for (size_t i = 0; i < WARMUP_ROUNDS * total; i++) {
        size_t j = bench_random_below(random, (uint32_t)total);
        struct slot *slot = &sessions[j / BLOCKS].slots[j % BLOCKS];
        slot_empty(slot);
        slot_fill(slot, random);
    }
}

int larson_main(const char *name, int count, char **arguments)
{
    size_t threads = bench_argument(count, arguments, 1, 2);
    size_t generations = bench_argument(count, arguments, 2, 120);
    struct session *sessions = bench_allocate_zeroed(threads, sizeof *sessions);
    struct bench_random random = bench_random_seeded(4141);
    sem_t done;
    sem_init(&done, 0, 0);
    sessions_fill(sessions, threads, &random);
    for (size_t i = 0; i < threads; i++) {
        sessions[i].random = bench_random_seeded(i);
        sessions[i].generations_left = generations;
        sessions[i].done = &done;
    }
    /* The first generation is joined, the others are detached: what ends a chain is its last post. */
    bench_run_threads(threads, session_run, sessions, sizeof *sessions);
    uint64_t checksum = 0;
    for (size_t i = 0; i < threads; i++) {
        sem_wait(&done);
    }
    for (size_t i = 0; i < threads; i++) {
        for (size_t j = 0; j < BLOCKS; j++) {
            sessions[i].sum += slot_empty(&sessions[i].slots[j]);
        }
        checksum = bench_mix(checksum ^ sessions[i].sum);
    }
    free(sessions);
    return bench_finish(name, checksum);
}
