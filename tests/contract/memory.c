/* SPDX-License-Identifier: MIT */
/*
 * What: how much memory and how many system calls things cost: growth by realloc, a peak that is freed, large blocks
 * that come and go, threads, consumers of other threads' blocks.
 * Why this way: each measure is taken in a child process, so that one peak does not hide the next; the bounds are what
 * users of other allocators found missing, with room for the harness itself.
 */
#include "scrubjay.h"
#include "support/process.h"
#include "unit/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

enum { MIB = 1 << 20 };

static long resident(void)
{
    return status_bytes("VmRSS:");
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Runs a measure in a child; its checks count as this test's. False: it can't be taken here. */
static bool in_child(void (*measure)(void))
{
    pid_t child = fork();
    if (child == 0) {
        alarm(100);
        measure();
        _exit((int)unit_failed());
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return false;
    CHECK_EQ(status, 0);
    return true;
}

static void double_to_256_mib(void)
{
    size_t size = 4096;
    char *block = malloc(size);
    for (; size < (size_t)256 * MIB; size *= 2) {
        block = realloc(block, size * 2);
        if (!CHECK(block != NULL))
            return;
        memset(block + size, 1, size);
    }
    long peak = status_bytes("VmHWM:");
    unit_print("# peak %ld MiB for a block of 256 MiB\n", peak / MIB);
    CHECK(peak <= 256L * MIB * 115 / 100);
    free(block);
}

static void memory_growth__peaks_little_above_final_size_when_doubling(void)
{
    (void)in_child(double_to_256_mib);
}

static void grow_in_pages(void)
{
    struct sj_stats before, after;
    double start = unit_now_seconds();
    char *block = NULL;
    sj_stats_read(&before);
    for (size_t size = 4096; size <= (size_t)64 * MIB; size += 4096) {
        block = realloc(block, size);
        if (!CHECK(block != NULL))
            return;
        block[size - 1] = 1;
    }
    unit_print("# 64 MiB in steps of 4 KiB: %.2f s, %ld faults\n", unit_now_seconds() - start, faults());
    CHECK(faults() < 16384 * 4);
    CHECK(unit_now_seconds() - start < 10);
    sj_stats_read(&after);
    CHECK(after.realloc_copied_bytes - before.realloc_copied_bytes <= 2 * 64 * (uint64_t)MIB);
    free(block);
}

/* What a shrink cuts off goes back to the system, and what stays is as it was. */
static void shrink_in_place(void)
{
    enum { WHOLE = 64 * MIB, PART = 4 * MIB };
    char *block = malloc(WHOLE);
    if (!CHECK(block != NULL))
        return;
    memset(block, 1, WHOLE);
    long before = resident();
    block = realloc(block, PART + 1);
    CHECK(resident() < before - (WHOLE - PART) + MIB);
    CHECK(block != NULL && block[0] == 1 && block[PART] == 1 && memcmp(block, block + 1, PART) == 0);
    free(block);
}

static void memory_shrink__gives_pages_back(void)
{
    (void)in_child(shrink_in_place);
}

static void memory_growth__is_amortised_when_in_small_steps(void)
{
    (void)in_child(grow_in_pages);
}

static void large_blocks_come_and_go(void)
{
    enum { ROUNDS = 100000, ENOUGH_SECONDS = 20, BLOCK_BYTES = 800000 };
    for (int i = 0; i < 10; i++)
        free(memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES));
    long before = faults();
    double start = unit_now_seconds();
    int rounds = 0; /* fewer where the system takes milliseconds to change a block's protection */
    for (; rounds < ROUNDS && unit_now_seconds() - start < ENOUGH_SECONDS; rounds++) {
        char *block = malloc(BLOCK_BYTES);
        for (size_t at = 0; at < BLOCK_BYTES; at += 65536)
            block[at] = 1;
        free(block);
    }
    unit_print("# %d large blocks: %.2f s, %ld faults\n", rounds, unit_now_seconds() - start, faults() - before);
    CHECK(faults() - before < rounds / 10 + 1);
}

static void memory_large_blocks__do_not_thrash_when_they_come_and_go(void)
{
    (void)in_child(large_blocks_come_and_go);
}

/* A large block may not be rounded up to a power of two. */
static void odd_large_block(void)
{
    size_t size = 5 * MIB + 1;
    char *block = malloc(size);
    CHECK(malloc_usable_size(block) < size + 8192);
    free(block);
}

static void memory_large_block__takes_its_pages_only(void)
{
    (void)in_child(odd_large_block);
}

/* After a peak of small blocks is freed, further work lets the process shrink, without trim. */
static void shrink_after_peak(void)
{
    enum { BLOCKS = 200000, BLOCK_BYTES = 1000 };
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
    long peak = resident();
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    malloc_trim(0);
    long after = resident();
    unit_print("# %ld MiB at the peak, %ld MiB after it\n", peak / MIB, after / MIB);
    CHECK(after < peak / 8);
}

static void memory_peak__is_given_back_when_trimmed(void)
{
    (void)in_child(shrink_after_peak);
}

static void *idle_thread(void *barrier)
{
    free(malloc(100));
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

/* One mapping (besides its stack and the guard of it) and 32 KiB of resident memory a thread (and its stack's pages). */
static void many_idle_threads(void)
{
    enum { THREADS = 200, STACK_RESIDENT = 16384 };
    static pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    free(malloc(100));
    long maps = mappings(), before = resident();
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        if (!CHECK(pthread_create(&threads[i], NULL, idle_thread, &barrier) == 0))
            return;
    pthread_barrier_wait(&barrier);
    long bytes = (resident() - before) / THREADS;
    long each = (mappings() - maps) * 100 / THREADS;
    unit_print("# a thread: %ld bytes, %ld/100 mappings, its stack in both\n", bytes, each);
    CHECK(bytes < 32768 + STACK_RESIDENT);
    CHECK(each <= 300);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void memory_threads__cost_little_when_idle(void)
{
    (void)in_child(many_idle_threads);
}

static void *free_all(void *argument)
{
    void **blocks = argument;
    for (int i = 0; i < 10000; i++)
        free(blocks[i]);
    return NULL;
}

/* This thread only makes, another one only frees: about 10 MB live at most. */
static void one_makes_another_frees(void)
{
    static void *blocks[10000];
    long warm = 0;
    for (int round = 0; round < 60; round++) {
        pthread_t thread;
        for (int i = 0; i < 10000; i++)
            blocks[i] = memset(malloc(1000), 1, 1000);
        if (!CHECK(pthread_create(&thread, NULL, free_all, blocks) == 0))
            return;
        pthread_join(thread, NULL);
        if (round == 1)
            warm = resident();
    }
    unit_print("# %ld MiB after two rounds, %ld MiB after sixty\n", warm / MIB, resident() / MIB);
    CHECK(resident() < warm + warm / 2);
}

static void memory_consumer__makes_nothing_grow(void)
{
    (void)in_child(one_makes_another_frees);
}

/* Sizes that wander: what is free in one class must not be lost to the others. */
static void sizes_that_wander(void)
{
    enum { BLOCKS = 20000, SIZES = 40 };
    static void *blocks[BLOCKS];
    long worst = 0;
    for (int round = 0; round < SIZES; round++) {
        size_t size = 64 + (size_t)round * 100;
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = memset(malloc(size), 1, size);
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
        worst = resident() > worst ? resident() : worst;
    }
    unit_print("# %ld MiB at most, %d MiB live at most\n", worst / MIB, BLOCKS * (64 + SIZES * 100) / MIB);
    CHECK(worst < 2L * BLOCKS * (64 + SIZES * 100));
}

static void memory_classes__share_memory_when_sizes_wander(void)
{
    (void)in_child(sizes_that_wander);
}

/* What one large block took must serve many small ones, which need records besides. */
static void small_blocks_in_the_room_of_a_large_one(void)
{
    enum { ROOM_MIB = 300, BLOCK_BYTES = 1000 };
    const char *options = getenv("SCRUBJAY_OPTIONS");
    bool half_is_guards = options != NULL && strstr(options, "level=4") != NULL;
    const int wanted = (half_is_guards ? 140 : 200) * MIB / BLOCK_BYTES;
    void *room = malloc((size_t)ROOM_MIB * MIB);
    REQUIRE(room != NULL);
    memset(room, 1, (size_t)ROOM_MIB * MIB);
    rlim_t all = (rlim_t)status_bytes("VmSize:");
    struct rlimit limit = { all, all };
    free(room);
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    int got = 0;
    while (got < wanted && malloc(BLOCK_BYTES) != NULL)
        got++;
    unit_print("# %d of %d blocks\n", got, wanted);
    CHECK_EQ(got, wanted);
}

static void memory_limit__leaves_room_for_records_when_large_blocks_are_freed(void)
{
    (void)in_child(small_blocks_in_the_room_of_a_large_one);
}

/* A large block that must be zero takes the pages that are touched, be it fresh or what another one has left. */
static void large_calloc(void)
{
    size_t size = (size_t)512 * MIB;
    for (int i = 0; i < 4; i++) {
        long before = resident();
        char *block = i == 2 ? malloc(size) : calloc(1, size);
        if (!CHECK(block != NULL))
            return;
        CHECK(i == 2 || (block[0] == 0 && block[size / 3] == 0 && block[size - 1] == 0));
        block[size / 2] = 1;
        long taken = resident() - before;
        unit_print("# time %d: %ld KiB\n", i + 1, taken / 1024);
        CHECK(taken < 4L * MIB);
        if (i == 2) /* the next one is made of pages full of old bytes */
            memset(block, 1, (size_t)64 * MIB);
        free(block);
    }
    CHECK(resident() < 64L * MIB);
}

static void memory_calloc__takes_what_is_touched_only(void)
{
    (void)in_child(large_calloc);
}

/* More than the machine has, a byte here and there: and then fork. */
static void sparse_beyond_memory(void)
{
    struct sysinfo machine;
    size_t each = (size_t)256 * MIB, wanted = 0;
    sysinfo(&machine);
    while (wanted < machine.totalram + machine.totalswap + 4 * each) {
        char *block = calloc(1, each);
        if (block == NULL)
            _exit(77);
        block[each / 2] = 1;
        wanted += each;
    }
    unit_print("# %zu MiB of address space, %ld MiB resident\n", wanted / MIB, resident() / MIB);
    CHECK(resident() < (long)(wanted / 1024));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void memory_sparse__can_be_larger_than_the_machine_and_forks(void)
{
    if (!in_child(sparse_beyond_memory))
        SKIP("the system grants no more memory than it has");
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(memory_growth__peaks_little_above_final_size_when_doubling);
    RUN(memory_growth__is_amortised_when_in_small_steps);
    RUN(memory_shrink__gives_pages_back);
    RUN(memory_large_blocks__do_not_thrash_when_they_come_and_go);
    RUN(memory_large_block__takes_its_pages_only);
    RUN(memory_peak__is_given_back_when_trimmed);
    RUN(memory_threads__cost_little_when_idle);
    RUN(memory_consumer__makes_nothing_grow);
    RUN(memory_classes__share_memory_when_sizes_wander);
    RUN(memory_calloc__takes_what_is_touched_only);
    RUN(memory_sparse__can_be_larger_than_the_machine_and_forks);
    RUN(memory_limit__leaves_room_for_records_when_large_blocks_are_freed);
    return unit_end();
}
