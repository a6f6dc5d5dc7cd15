/* SPDX-License-Identifier: MIT */
/*
 * What: random operations against the oracle on several threads that hand blocks to each other and die.
 *
 * Why this way: each thread runs a model of its own; between pieces of its stream it sends some blocks to the
 * mailbox of another thread, which checks them and later frees or reallocs them: remote frees of all kinds with
 * contents checked. A thread ends after some pieces and another one goes on with its model, so that blocks outlive
 * the thread that made them and are freed by its successor.
 *
 * Invariants: as in support/model.h; overlap between blocks of different threads shows as changed contents.
 *
 * Concurrency: a mailbox is a ring under a mutex; nothing else is shared. Clean for ThreadSanitizer.
 */
#include "support/calls.h"
#include "unit/unit.h"

#include <pthread.h>

enum { THREADS = 4, MAILBOX_BLOCKS = 64, PIECE_RECORDS = 200, PIECES_A_LIFE = 20 };

struct mailbox {
    pthread_mutex_t lock;
    size_t count;
    struct model_block blocks[MAILBOX_BLOCKS];
};

struct worker {
    struct model model;
    uint64_t random;
    size_t index;
};

static struct mailbox mailboxes[THREADS];
static struct worker workers[THREADS];

static bool post(struct mailbox *box, struct model_block block)
{
    pthread_mutex_lock(&box->lock);
    bool fits = box->count < MAILBOX_BLOCKS;
    if (fits)
        box->blocks[box->count++] = block;
    pthread_mutex_unlock(&box->lock);
    return fits;
}

static struct model_block collect(struct mailbox *box)
{
    struct model_block block = { 0 };
    pthread_mutex_lock(&box->lock);
    if (box->count > 0)
        block = box->blocks[--box->count];
    pthread_mutex_unlock(&box->lock);
    return block;
}

static void send_some(struct worker *worker)
{
    for (int i = 0; i < 40; i++) {
        size_t slot = unit_random_below(&worker->random, MODEL_SLOTS);
        size_t to = unit_random_below(&worker->random, THREADS);
        struct model_block block = model_take(&worker->model, slot);
        if (block.bytes != NULL && !post(&mailboxes[to], block))
            model_put(&worker->model, slot, block);
    }
}

static bool receive_some(struct worker *worker)
{
    for (;;) {
        struct model_block block = collect(&mailboxes[worker->index]);
        if (block.bytes == NULL)
            return true;
        if (!model_check_block(&worker->model, &block))
            return false;
        bool placed = false;
        for (int tries = 0; tries < 8 && !placed; tries++)
            placed = model_put(&worker->model, unit_random_below(&worker->random, MODEL_SLOTS), block);
        if (!placed)
            worker->model.calls->free(block.bytes);
    }
}

static void *live(void *argument)
{
    static _Thread_local unsigned char stream[PIECE_RECORDS * MODEL_RECORD_BYTES];
    struct worker *worker = argument;
    for (int piece = 0; piece < PIECES_A_LIFE; piece++) {
        model_random_stream(unit_random(&worker->random), stream, sizeof stream);
        if (!model_run(&worker->model, stream, sizeof stream))
            break;
        send_some(worker);
        if (!receive_some(worker))
            break;
    }
    return NULL;
}

static void start_workers(const struct model_calls *calls, bool clean)
{
    for (size_t i = 0; i < THREADS; i++) {
        model_start(&workers[i].model, calls, clean);
        workers[i].model.limit_bytes = (size_t)16 << 20;
        workers[i].model.next_pattern = (uint64_t)i << 48;
        workers[i].random = unit_state.seed + i;
        workers[i].index = i;
        pthread_mutex_init(&mailboxes[i].lock, NULL);
        mailboxes[i].count = 0;
    }
}

static void model_threads__hold_when_blocks_change_hands(void)
{
    struct model_calls calls = calls_under_test();
    bool clean = calls_promise_clean_memory();
    double end = unit_now_seconds() + unit_budget_seconds(2);
    unsigned lives = 0;
    start_workers(&calls, clean);
    bool good = true;
    do {
        pthread_t threads[THREADS];
        for (size_t i = 0; i < THREADS; i++)
            REQUIRE(pthread_create(&threads[i], NULL, live, &workers[i]) == 0);
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (size_t i = 0; i < THREADS; i++)
            if (workers[i].model.failure[0] != '\0') {
                unit_print("# thread %zu, life %u: %s\n", i, lives, workers[i].model.failure);
                good = false;
            }
        lives++;
    } while (good && unit_now_seconds() < end);
    CHECK(good);
    for (size_t i = 0; good && i < THREADS; i++) {
        CHECK(receive_some(&workers[i]));
        CHECK(model_finish(&workers[i].model));
        if (workers[i].model.failure[0] != '\0')
            unit_print("# at the end, thread %zu: %s\n", i, workers[i].model.failure);
    }
    unit_print("# %u lives of %d threads\n", lives, (int)THREADS);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(model_threads__hold_when_blocks_change_hands);
    return unit_end();
}
