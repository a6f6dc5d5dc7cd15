/* SPDX-License-Identifier: MIT */
/*
 * What: the free protocol under load: remote frees, hand-overs, threads that exit with frees queued, heaps of dead
 * threads taken over, consumers that outlive their producers.
 *
 * Why this way: every block carries a tag that whoever frees it checks. All sharing between the threads of the
 * test goes through queues under a mutex, so that ThreadSanitizer judges the library and not the test.
 *
 * Invariants: each block made is freed exactly once; the library must not report.
 *
 * Concurrency: four threads at a time.
 */
#include "support/calls.h"
#include "support/process.h"
#include "support/tagged.h"
#include "unit/unit.h"

#include <pthread.h>

enum { THREADS = 4, QUEUE_BLOCKS = 1024 };

struct queue {
    pthread_mutex_t lock;
    size_t count;
    bool closed;
    void *blocks[QUEUE_BLOCKS];
};

static struct model_calls calls;
static struct queue queues[THREADS];

static void queue_open(struct queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    queue->count = 0;
    queue->closed = false;
}

static bool queue_push(struct queue *queue, void *block)
{
    pthread_mutex_lock(&queue->lock);
    bool fits = queue->count < QUEUE_BLOCKS;
    if (fits)
        queue->blocks[queue->count++] = block;
    pthread_mutex_unlock(&queue->lock);
    return fits;
}

/* Takes from the middle, so that neighbours are not freed in order; NULL if empty. */
static void *queue_pop(struct queue *queue, uint64_t *random)
{
    void *block = NULL;
    pthread_mutex_lock(&queue->lock);
    if (queue->count > 0) {
        size_t at = unit_random_below(random, queue->count);
        block = queue->blocks[at];
        queue->blocks[at] = queue->blocks[--queue->count];
    }
    pthread_mutex_unlock(&queue->lock);
    return block;
}

static void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_mutex_unlock(&queue->lock);
}

static bool queue_is_closed(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool closed = queue->closed;
    pthread_mutex_unlock(&queue->lock);
    return closed;
}

static size_t pick_size(uint64_t *random)
{
    uint64_t kind = unit_random_below(random, 100);
    if (kind < 70)
        return TAGGED_LEAST + unit_random_below(random, 200);
    if (kind < 97)
        return TAGGED_LEAST + unit_random_below(random, 4000);
    return TAGGED_LEAST + unit_random_below(random, 100000);
}

static void *make_block(uint64_t *random)
{
    return tagged_make(&calls, pick_size(random));
}

static void end_block(void *block)
{
    tagged_end(&calls, block);
}

struct job {
    size_t index;
    size_t operations;
    uint64_t random;
};

/* Each thread makes blocks for all queues, and frees what is in its own. */
static void *exchange(void *argument)
{
    struct job *job = argument;
    for (size_t i = 0; i < job->operations; i++) {
        void *block = make_block(&job->random);
        if (!queue_push(&queues[unit_random_below(&job->random, THREADS)], block))
            end_block(block);
        if (i % 3 != 0)
            end_block(queue_pop(&queues[job->index], &job->random));
    }
    return NULL;
}

static void run_jobs(void *(*work)(void *), struct job *jobs, size_t count)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < count; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void prepare_jobs(struct job *jobs, size_t operations)
{
    for (size_t i = 0; i < THREADS; i++)
        jobs[i] = (struct job){ .index = i, .operations = operations, .random = unit_state.seed * 31 + i };
}

static void open_queues(void)
{
    for (size_t i = 0; i < THREADS; i++)
        queue_open(&queues[i]);
}

static void drain_queues(uint64_t *random)
{
    for (size_t i = 0; i < THREADS; i++)
        for (void *block; (block = queue_pop(&queues[i], random)) != NULL;)
            end_block(block);
}

static void stress_free__holds_when_all_free_for_all(void)
{
    struct job jobs[THREADS];
    double end = unit_now_seconds() + unit_budget_seconds(2) / 4;
    open_queues();
    prepare_jobs(jobs, 20000);
    do
        run_jobs(exchange, jobs, THREADS);
    while (!unit_failed() && unit_now_seconds() < end);
    drain_queues(&jobs[0].random);
}

/* Lives too short to take in what others free for them: their heaps go to the next thread with frees still queued. */
static void stress_exit__holds_when_threads_die_with_frees_queued(void)
{
    struct job jobs[THREADS];
    double end = unit_now_seconds() + unit_budget_seconds(2) / 4;
    open_queues();
    prepare_jobs(jobs, 50);
    do
        run_jobs(exchange, jobs, THREADS);
    while (!unit_failed() && unit_now_seconds() < end);
    drain_queues(&jobs[0].random);
}

static void *produce(void *argument)
{
    struct job *job = argument;
    for (size_t i = 0; i < job->operations; i++) {
        void *block = make_block(&job->random);
        while (!queue_push(&queues[job->index % 2], block))
            sched_yield();
    }
    return NULL;
}

static void *consume(void *argument)
{
    struct job *job = argument;
    struct queue *queue = &queues[job->index % 2];
    for (;;) {
        bool last = queue_is_closed(queue);
        void *block = queue_pop(queue, &job->random);
        if (block != NULL)
            end_block(block);
        else if (last)
            return NULL;
        else
            sched_yield();
    }
}

/* Producers come and go; the two consumers stay, and only free. */
static void stress_consumers__hold_when_producers_are_gone(void)
{
    struct job makers[THREADS], users[2];
    pthread_t consumers[2];
    double end = unit_now_seconds() + unit_budget_seconds(2) / 4;
    open_queues();
    prepare_jobs(makers, 500);
    for (size_t i = 0; i < 2; i++) {
        users[i] = (struct job){ .index = i, .random = unit_state.seed + 77 + i };
        REQUIRE(pthread_create(&consumers[i], NULL, consume, &users[i]) == 0);
    }
    do
        run_jobs(produce, makers, 2);
    while (!unit_failed() && unit_now_seconds() < end);
    for (size_t i = 0; i < 2; i++)
        queue_close(&queues[i]);
    for (size_t i = 0; i < 2; i++)
        pthread_join(consumers[i], NULL);
}

static void *make_many(void *argument)
{
    enum { BLOCKS = 20000 };
    uint64_t random = unit_state.seed;
    void **blocks = argument;
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = make_block(&random);
    return NULL;
}

/*
 * One dead producer after the other; only this thread frees, and never allocates. Measured while all blocks live:
 * their pages are there whatever the release clock has given back.
 */
static void stress_memory__stays_bounded_when_producers_die(void)
{
    enum { BLOCKS = 20000, ROUNDS = 12 };
    static void *blocks[BLOCKS];
    long first = 0, last = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, make_many, blocks) == 0);
        pthread_join(thread, NULL);
        last = resident_bytes();
        if (round == 1)
            first = last;
        for (size_t i = 0; i < BLOCKS; i++)
            end_block(blocks[i]);
    }
    unit_print("# %ld KiB with two producers, %ld KiB with %d\n", first / 1024, last / 1024, (int)ROUNDS);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    SKIP("a sanitizer's own memory is in the numbers");
#else
    CHECK(last < first + first / 2);
#endif
}

/* Two threads hammer slots of the same few slabs: makes, hands over one by one, frees. */
static void *ping(void *argument)
{
    struct job *job = argument;
    for (size_t i = 0; i < job->operations; i++) {
        void *block = tagged_make(&calls, 64);
        if (!queue_push(&queues[1 - job->index], block))
            end_block(block);
        end_block(queue_pop(&queues[job->index], &job->random));
        end_block(queue_pop(&queues[job->index], &job->random));
    }
    return NULL;
}

static void stress_pair__holds_when_slots_go_back_and_forth(void)
{
    struct job jobs[THREADS];
    double end = unit_now_seconds() + unit_budget_seconds(2) / 4;
    open_queues();
    prepare_jobs(jobs, 20000);
    do
        run_jobs(ping, jobs, 2);
    while (!unit_failed() && unit_now_seconds() < end);
    drain_queues(&jobs[0].random);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    calls = calls_under_test();
    RUN(stress_free__holds_when_all_free_for_all);
    RUN(stress_exit__holds_when_threads_die_with_frees_queued);
    RUN(stress_consumers__hold_when_producers_are_gone);
    RUN(stress_pair__holds_when_slots_go_back_and_forth);
    RUN(stress_memory__stays_bounded_when_producers_die);
    return unit_end();
}
