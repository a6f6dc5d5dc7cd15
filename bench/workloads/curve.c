/* SPDX-License-Identifier: MIT */
/*
 * What: one point of a cost curve: the time of an operation and the memory held, for one size of block, one number of
 * threads and one size of live heap. curve LIVE_MIB THREADS SIZE_BYTES [FILE] [OPERATIONS].
 *
 * Why this way: single numbers hide where an allocator stops scaling. A point is a process, so that points do not touch
 * each other, and a runner draws the curve. The result goes to FILE (`-`: nowhere), since it differs from run to run while
 * standard output must not.
 *
 * Invariants: the live heap is LIVE_MIB divided by the size, at least one block a thread; each page of a block is touched
 * when the heap is filled, so that "bytes held for each byte asked" compares like with like. In the churn, only the first
 * and last byte are.
 *
 * Concurrency: threads share nothing; they meet at barriers between the phases, where the main thread measures.
 */
#include "common.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { READ_EMPTY, READ_FILLED, READ_CHURNED, READ_FREED, READINGS };
enum { STACK_BYTES = 256 << 10, TOUCH_BUDGET_BYTES = 64 << 20 };

struct worker {
    pthread_barrier_t *phase;
    unsigned char **blocks;
    size_t count;
    size_t size_bytes;
    size_t operations;
    uint64_t sum;
    struct bench_random random;
    char padding[BENCH_CACHE_LINE_BYTES];
};

/* What the main thread sees at the end of a phase. */
struct reading {
    double wall_s;
    double cpu_s;
    double resident_bytes;
};

static double clock_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Resident bytes from /proc, read without stdio, so that reading does not allocate. */
static double resident_bytes(void)
{
    unsigned long long resident_pages = 0;
    char text[128] = { 0 };
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, text, sizeof text - 1) <= 0 || sscanf(text, "%*u %llu", &resident_pages) != 1) {
        bench_fail("curve: cannot read /proc/self/statm");
    }
    close(file);
    return (double)resident_pages * (double)sysconf(_SC_PAGESIZE);
}

static struct reading read_now(void)
{
    return (struct reading){ clock_s(CLOCK_MONOTONIC), clock_s(CLOCK_PROCESS_CPUTIME_ID), resident_bytes() };
}

static void block_tag(unsigned char *block, size_t size_bytes, unsigned char tag)
{
    block[size_bytes - 1] = tag;
    block[0] = tag;
}

static void fill(struct worker *worker)
{
    for (size_t i = 0; i < worker->count; i++) {
        unsigned char *block = bench_allocate(worker->size_bytes);
        for (size_t at = 0; at < worker->size_bytes; at += BENCH_PAGE_BYTES) {
            block[at] = 1;
        }
        block_tag(block, worker->size_bytes, (unsigned char)i);
        worker->blocks[i] = block;
    }
}

static void churn(struct worker *worker)
{
    for (size_t i = 0; i < worker->operations; i++) {
        unsigned char **slot = &worker->blocks[bench_random_below(&worker->random, (uint32_t)worker->count)];
        worker->sum += (*slot)[0];
        free(*slot);
        *slot = bench_allocate(worker->size_bytes);
        block_tag(*slot, worker->size_bytes, (unsigned char)i);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    pthread_barrier_wait(worker->phase); /* the empty process is measured before this */
    fill(worker);
    pthread_barrier_wait(worker->phase); /* filled */
    pthread_barrier_wait(worker->phase); /* measured */
    churn(worker);
    pthread_barrier_wait(worker->phase); /* churned */
    pthread_barrier_wait(worker->phase); /* measured */
    for (size_t i = 0; i < worker->count; i++) {
        worker->sum += worker->blocks[i][worker->size_bytes - 1];
        free(worker->blocks[i]);
    }
    pthread_barrier_wait(worker->phase); /* freed */
    pthread_barrier_wait(worker->phase); /* measured */
    return NULL;
}

/* Starts the threads on small stacks: a thousand of them must fit anywhere. */
static pthread_t *workers_start(struct worker *workers, size_t threads)
{
    pthread_t *ids = bench_allocate(threads * sizeof *ids);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < threads; i++) {
        if (pthread_create(&ids[i], &attributes, work, &workers[i]) != 0) {
            bench_fail("cannot create a thread");
        }
    }
    pthread_attr_destroy(&attributes);
    return ids;
}

/* One allocation of zeroed room for the pointers, touched, so that it is not counted as held by the blocks. */
static void workers_prepare(struct worker *workers, size_t threads, size_t live_bytes, size_t size_bytes)
{
    size_t blocks = live_bytes / size_bytes / threads;
    blocks = blocks == 0 ? 1 : blocks;
    if (blocks > UINT32_MAX) {
        bench_fail("curve: too many blocks a thread");
    }
    for (size_t i = 0; i < threads; i++) {
        workers[i].count = blocks;
        workers[i].size_bytes = size_bytes;
        workers[i].random = bench_random_seeded(i);
        workers[i].blocks = bench_allocate(blocks * sizeof workers[i].blocks[0]);
        for (size_t at = 0; at < blocks; at++) {
            workers[i].blocks[at] = NULL;
        }
    }
}

static void write_result(const char *path, const struct reading *readings, const struct worker *worker, size_t threads)
{
    const struct reading *empty = &readings[READ_EMPTY];
    const struct reading *filled = &readings[READ_FILLED];
    const struct reading *churned = &readings[READ_CHURNED];
    const struct reading *freed = &readings[READ_FREED];
    double blocks = (double)worker->count * (double)threads;
    double operations = (double)worker->operations * (double)threads;
    double asked_bytes = blocks * (double)worker->size_bytes;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        bench_fail("curve: cannot write the result");
    }
    fprintf(file, "fill_cpu_ns=%.2f fill_wall_ns=%.2f churn_cpu_ns=%.2f churn_wall_ns=%.2f ",
            (filled->cpu_s - empty->cpu_s) * 1e9 / blocks, (filled->wall_s - empty->wall_s) * 1e9 / blocks,
            (churned->cpu_s - filled->cpu_s) * 1e9 / operations, (churned->wall_s - filled->wall_s) * 1e9 / operations);
    fprintf(file, "asked_bytes=%.0f held_filled=%.4f held_churned=%.4f held_freed=%.4f\n", asked_bytes,
            (filled->resident_bytes - empty->resident_bytes) / asked_bytes,
            (churned->resident_bytes - empty->resident_bytes) / asked_bytes,
            (freed->resident_bytes - empty->resident_bytes) / asked_bytes);
    fclose(file);
}

/* Large blocks cost faults: fewer operations, so that a point takes about as long as any other. */
static size_t default_operations(size_t size_bytes)
{
    size_t touched_bytes = size_bytes < 2 * BENCH_PAGE_BYTES ? 64 : 2 * BENCH_PAGE_BYTES;
    return (size_t)TOUCH_BUDGET_BYTES / touched_bytes;
}

/* Leads the threads through the phases and reads the clocks and the memory at each end. */
static void measure(pthread_barrier_t *phase, struct reading *readings)
{
    readings[READ_EMPTY] = read_now();
    pthread_barrier_wait(phase);
    for (int i = READ_FILLED; i < READINGS; i++) {
        pthread_barrier_wait(phase);
        readings[i] = read_now();
        pthread_barrier_wait(phase);
    }
}

int main(int count, char **arguments)
{
    size_t live_bytes = bench_argument(count, arguments, 1, 16) << 20;
    size_t threads = bench_argument(count, arguments, 2, 1);
    size_t size_bytes = bench_argument(count, arguments, 3, 64);
    size_t operations = bench_argument(count, arguments, 5, default_operations(size_bytes)) / threads;
    struct worker *workers = bench_allocate_zeroed(threads, sizeof *workers);
    struct reading readings[READINGS];
    pthread_barrier_t phase;
    pthread_barrier_init(&phase, NULL, (unsigned)threads + 1);
    workers_prepare(workers, threads, live_bytes, size_bytes);
    for (size_t i = 0; i < threads; i++) {
        workers[i].phase = &phase;
        workers[i].operations = operations == 0 ? 1 : operations;
    }
    pthread_t *ids = workers_start(workers, threads);
    measure(&phase, readings);
    uint64_t checksum = 0;
    for (size_t i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        free(workers[i].blocks);
        checksum = bench_mix(checksum ^ workers[i].sum);
    }
    if (count > 4 && strcmp(arguments[4], "-") != 0) {
        write_result(arguments[4], readings, &workers[0], threads);
    }
    pthread_barrier_destroy(&phase);
    free(ids);
    free(workers);
    return bench_finish("curve", checksum);
}
