/* SPDX-License-Identifier: MIT */
/*
 * What: isolate: of the addresses that small blocks had, none is ever had by a block of another size class or by a large
 * one; with isolate=off, the same program shows that they are.
 * Why this way: threads allocate and free at random in phases that leave whole slabs empty, and every block notes its
 * usable size, which names its class, in a table by granule of 64 KiB. Options are fixed when a process starts, so the
 * test runs itself again. And when places are given up, which ends it: in a program that has freed all its small blocks.
 */
#include "scrubjay.h"
#include "support/process.h"
#include "unit/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
    THREADS = 4,
    OPERATIONS = 300000, /* a thread */
    HELD = 4000,
    PHASE = 20000,
    GRANULE_SHIFT = 16,
    TABLE_SHIFT = 18,
    SMALL_MAX = 32768,
    LARGE = 1 /* no class has this usable size */
};

struct entry {
    uintptr_t granule; /* atomic; 0: free */
    size_t size;       /* atomic: usable size of the class, LARGE; 0: not known yet */
};

static struct entry table[1 << TABLE_SHIFT];
static unsigned long classes_mixed, large_mixed; /* atomic */

static struct entry *entry_of(uintptr_t granule)
{
    size_t index = (granule * 0x9e3779b97f4a7c15ull) >> (64 - TABLE_SHIFT);
    for (;; index = (index + 1) & ((1 << TABLE_SHIFT) - 1)) {
        uintptr_t found = 0;
        if (__atomic_compare_exchange_n(&table[index].granule, &found, granule, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            found == granule)
            return &table[index];
    }
}

static void note(const void *block, size_t usable)
{
    size_t size = usable > SMALL_MAX ? LARGE : usable;
    uintptr_t first = (uintptr_t)block >> GRANULE_SHIFT, last = ((uintptr_t)block + usable - 1) >> GRANULE_SHIFT;
    for (uintptr_t granule = first; granule <= last; granule++) {
        size_t seen = 0;
        if (!__atomic_compare_exchange_n(&entry_of(granule)->size, &seen, size, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED) &&
            seen != size) {
            __atomic_store_n(&entry_of(granule)->size, size, __ATOMIC_RELAXED);
            (void)__atomic_fetch_add(size == LARGE || seen == LARGE ? &large_mixed : &classes_mixed, 1,
                                     __ATOMIC_RELAXED);
        }
    }
}

/* Each phase favours sizes of its own. */
static size_t random_size(uint64_t *state, unsigned phase)
{
    uint64_t kind = unit_random_below(state, 100);
    if (kind < 3)
        return SMALL_MAX + 1 + (size_t)unit_random_below(state, 400000);
    if (kind < 70)
        return 1 + (size_t)unit_random_below(state, 16) + 48 * (phase * 7 % 40);
    return 1 + (size_t)unit_random_below(state, kind < 95 ? 1024 : SMALL_MAX);
}

static void *churn(void *argument)
{
    uint64_t state = unit_state.seed + (uintptr_t)argument * 7919;
    static _Thread_local void *held[HELD];
    for (unsigned i = 0; i < OPERATIONS; i++) {
        void **block = &held[unit_random_below(&state, HELD)];
        if (i % PHASE == PHASE - 1) /* whole slabs get empty */
            for (unsigned j = 0; j < HELD; j++) {
                free(held[j]);
                held[j] = NULL;
            }
        free(*block);
        *block = malloc(random_size(&state, i / PHASE));
        if (*block == NULL)
            abort();
        note(*block, malloc_usable_size(*block));
    }
    for (unsigned j = 0; j < HELD; j++)
        free(held[j]);
    return NULL;
}

/* In a process of its own: 0 if no address was shared, 1 if some were by classes, 2 with large blocks, 3 both. */
static int run_program(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) != 0)
            return 4;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return (classes_mixed != 0) + 2 * (large_mixed != 0);
}

/* --- When places are given up. --- */

/* Leaves places of one class that hold nothing, `bytes` of them. */
static void leave_places(size_t bytes)
{
    enum { BLOCK = 1000 };
    size_t count = bytes / BLOCK;
    void **blocks = calloc(count, sizeof *blocks);
    if (blocks == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        blocks[i] = malloc(BLOCK);
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    free(blocks);
}

static bool are_given_up(void)
{
    struct sj_stats stats;
    return sj_stats_read(&stats) != 0 || stats.places_not_isolated != 0;
}

static bool absurd_lengths_fail(void)
{
    enum { HUGE_SHIFT = 45 };
    bool failed = malloc(PTRDIFF_MAX) == NULL && calloc(SIZE_MAX, 2) == NULL && malloc(SIZE_MAX) == NULL &&
                  aligned_alloc((size_t)1 << 62, 100) == NULL && realloc(NULL, PTRDIFF_MAX - 4096) == NULL;
    free(malloc((size_t)1 << HUGE_SHIFT)); /* there may be such a system */
    return failed;
}

static bool limit_is_reached(void)
{
    enum { LIMIT = 8 << 20 };
    if (sj_ctl("limit_bytes", "8m", NULL, 0) != 0)
        return false;
    if (malloc(LIMIT) != NULL || calloc(2, LIMIT) != NULL)
        return false;
    for (size_t size = 64; size <= SMALL_MAX; size *= 4)
        for (size_t taken = 0; malloc(size) != NULL; taken += size)
            if (taken > LIMIT)
                return false;
    return true;
}

static bool address_space_is_had_again(void)
{
    enum { LEFT = 4 << 20, WANTED = 32 << 20 };
    rlim_t allowed = (rlim_t)status_bytes("VmSize:") + LEFT;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){ allowed, allowed }) != 0)
        return false;
    return malloc(WANTED) != NULL;
}

/* In a process of its own: 0 if all went as it should. */
static int run_giving_up(const char *how)
{
    leave_places(64 << 20);
    if (strcmp(how, "absurd") == 0)
        return !absurd_lengths_fail() + 2 * are_given_up();
    if (strcmp(how, "limit") == 0)
        return !limit_is_reached() + 2 * are_given_up();
    return !address_space_is_had_again() + 2 * !are_given_up();
}

/* --- Processes. --- */

static int status_of(const char *more, const char *what, const char *how)
{
    char options[256], seed[32];
    const char *given = getenv("SCRUBJAY_OPTIONS");
    int status = -1;
    /* Without canaries and samples: usable sizes are to name classes. */
    (void)snprintf(options, sizeof options, "%s,%s,canary=off,sample=off", given != NULL ? given : "", more);
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)unit_state.seed);
    pid_t child = fork();
    if (child == 0) {
        (void)setenv("SCRUBJAY_OPTIONS", options, 1);
        (void)setenv("SJ_TEST_SEED", seed, 1);
        execl("/proc/self/exe", "isolate", what, how, (char *)NULL);
        _exit(3);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

/* Sampled blocks lie in places of no class. */
static int status_under(const char *more)
{
    return status_of(more, "--program", NULL);
}

static void isolate__keeps_addresses_of_a_class_when_on(void)
{
    CHECK_EQ(status_under("isolate=on,release_ms=20,sample=0"), 0);
    CHECK_EQ(status_under("isolate=on,guard=every,sample=0"), 0);
}

static void isolate__lets_classes_share_when_off(void)
{
    CHECK_EQ(status_under("isolate=off,guard=large,sample=0"), 3 << 8);
}

static void isolate__gives_places_up_only_when_that_helps(void)
{
    CHECK_EQ(status_of("isolate=on", "--giving-up", "absurd"), 0);
    CHECK_EQ(status_of("isolate=on", "--giving-up", "limit"), 0);
    CHECK_EQ(status_of("isolate=on", "--giving-up", "addresses"), 0);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--giving-up") == 0)
        return run_giving_up(argv[2]);
    if (argc > 1 && strcmp(argv[1], "--program") == 0) {
        unit_state.seed = strtoull(getenv("SJ_TEST_SEED"), NULL, 0);
        return run_program();
    }
    unit_begin(argc, argv);
    RUN(isolate__keeps_addresses_of_a_class_when_on);
    RUN(isolate__lets_classes_share_when_off);
    RUN(isolate__gives_places_up_only_when_that_helps);
    return unit_end();
}
