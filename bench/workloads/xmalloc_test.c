/* SPDX-License-Identifier: MIT */
/*
 * What: producers make batches of blocks, consumers free them. xmalloc-test [THREADS] [BATCHES].
 *
 * Why this way: the pattern of Lever and Boreham's malloc-test as xmalloc runs it: every block dies in a thread that never
 * made one, through a bounded queue of batches of 4,096 blocks of 64 bytes. It is the worst case for caches a thread.
 * Fixed work: the batches are numbered and the consumers stop after the last.
 *
 * Invariants: each batch is made once and freed once; the tags add up to the same whoever frees it.
 *
 * Concurrency: the queue has one lock and two conditions; numbers are taken from atomic counters.
 */
#include "common.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { BATCH_BLOCKS = 4096, QUEUE_LIMIT = 100, BLOCK_BYTES = 64 };

struct batch {
    struct batch *next;
    unsigned char *blocks[BATCH_BLOCKS];
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_full;
    pthread_cond_t not_empty;
    struct batch *top;
    size_t length;
    size_t batches;
    atomic_size_t to_make;
    atomic_size_t to_free;
};

struct worker {
    struct queue *queue;
    bool produces;
    uint64_t sum;
    char padding[BENCH_CACHE_LINE_BYTES];
};

static void queue_put(struct queue *queue, struct batch *batch)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->length >= QUEUE_LIMIT) {
        pthread_cond_wait(&queue->not_full, &queue->lock);
    }
    batch->next = queue->top;
    queue->top = batch;
    queue->length++;
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

static struct batch *queue_get(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->top == NULL) {
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    }
    struct batch *batch = queue->top;
    queue->top = batch->next;
    queue->length--;
    pthread_cond_signal(&queue->not_full);
    pthread_mutex_unlock(&queue->lock);
    return batch;
}

static void produce(struct queue *queue)
{
    for (;;) {
        size_t number = atomic_fetch_add_explicit(&queue->to_make, 1, memory_order_relaxed);
        if (number >= queue->batches) {
            return;
        }
        struct batch *batch = bench_allocate(sizeof *batch);
        for (size_t i = 0; i < BATCH_BLOCKS; i++) {
            batch->blocks[i] = bench_allocate(BLOCK_BYTES);
            memset(batch->blocks[i], (int)(number + i), BLOCK_BYTES);
        }
        queue_put(queue, batch);
    }
}

static uint64_t consume(struct queue *queue)
{
    uint64_t sum = 0;
    while (atomic_fetch_add_explicit(&queue->to_free, 1, memory_order_relaxed) < queue->batches) {
        struct batch *batch = queue_get(queue);
        for (size_t i = 0; i < BATCH_BLOCKS; i++) {
            sum += batch->blocks[i][i % BLOCK_BYTES];
            free(batch->blocks[i]);
        }
        free(batch);
    }
    return sum;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    if (worker->produces) {
        produce(worker->queue);
    } else {
        worker->sum = consume(worker->queue);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    size_t pairs = (bench_argument(count, arguments, 1, 8) + 1) / 2;
    struct queue queue = { .batches = bench_argument(count, arguments, 2, 1500) };
    struct worker *workers = bench_allocate_zeroed(2 * pairs, sizeof *workers);
    pthread_mutex_init(&queue.lock, NULL);
    pthread_cond_init(&queue.not_full, NULL);
    pthread_cond_init(&queue.not_empty, NULL);
    for (size_t i = 0; i < 2 * pairs; i++) {
        workers[i].queue = &queue;
        workers[i].produces = i % 2 == 0;
    }
    bench_run_threads(2 * pairs, work, workers, sizeof *workers);
    uint64_t sum = 0;
    for (size_t i = 0; i < 2 * pairs; i++) {
        sum += workers[i].sum;
    }
    free(workers);
    return bench_finish("xmalloc-test", bench_mix(sum));
}
