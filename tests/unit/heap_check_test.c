/* SPDX-License-Identifier: MIT
 *
 * What: the heap check: each kind of damage it proves absent is planted and found, and programs without damage are let be.
 *
 * Why this way: damage is written straight into records, planes, the map and free slots, in a process of its own that is
 * started anew, so that its report goes to a fd 2 that the parent reads. The same process without the write is the twin.
 *
 * Invariants: what is planted is one word or byte, so that nothing but the check comes to harm by it.
 *
 * Concurrency: the twins with threads check while others allocate, free each other's blocks, and are interrupted by handlers that
 * allocate.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "front/entry.h"
#include "front/slow.h"
#include "heap/adopt.h"
#include "scrubjay.h"
#include "span/large.h"

#include <pthread.h>
#include <signal.h>

#define OPTIONS "level=3"

enum { LARGE_BYTES = 300000, CLASS_BYTES = 1000 };

/* --- What is planted, unless `planted` is false; then the process must end well. --- */

static void *small(size_t size)
{
    void *block = sj_malloc(size);
    if (block == NULL || slab_of(block) == NULL)
        _exit(9);
    return block;
}

static struct sj_large *large(void)
{
    void *block = sj_malloc(LARGE_BYTES);
    struct sj_span *span = sj__window_find(block);
    if (block == NULL || sj_load_relaxed_u32(&span->kind) != SJ_SPAN_LARGE)
        _exit(9);
    return (struct sj_large *)(void *)span;
}

static void wild_map_entry(bool planted)
{
    void *block = small(48);
    if (planted)
        sj_window_set(sj_window_granule(block), block);
}

static void null_map_entry(bool planted)
{
    void *block = small(48);
    if (planted)
        sj_window_set(sj_window_granule(block), NULL);
}

static void exchanged_map_entry(bool planted)
{
    struct sj_slab *slab = slab_of(small(48));
    struct sj_large *block = large();
    if (planted)
        sj_window_set(sj_window_granule(block->start), &slab->span);
}

static void lost_map_entry(bool planted)
{
    struct sj_slab *slab = slab_of(small(32000)); /* of several granules */
    if (planted)
        sj_window_set(slab->first_granule + 1, sj__window_freed);
}

static void unknown_kind(bool planted)
{
    struct sj_slab *slab = slab_of(small(48));
    if (planted)
        sj_store_relaxed_u32(&slab->span.kind, 77);
}

static void wrong_owner(bool planted)
{
    struct sj_slab *slab = slab_of(small(48));
    if (planted)
        sj_store_relaxed_ptr(&slab->span.owner, slab);
}

static void wrong_class(bool planted)
{
    struct sj_slab *slab = slab_of(small(48));
    slab->class_index = planted ? (uint8_t)(slab->class_index + 1) : slab->class_index;
}

static void no_class(bool planted)
{
    struct sj_slab *slab = slab_of(small(48));
    slab->class_index = planted ? UINT8_MAX : slab->class_index;
}

static void wrong_slot_size(bool planted)
{
    slab_of(small(48))->slot_bytes += planted ? 16 : 0;
}

static void wrong_base(bool planted)
{
    slab_of(small(48))->base += planted ? 16 : 0;
}

static void wrong_count(bool planted)
{
    slab_of(small(48))->until_slow += planted ? 1 << 20 : 0;
}

static void wrong_remote_pointer(bool planted)
{
    struct sj_slab *slab = slab_of(small(48));
    static char elsewhere[4096];
    if (planted)
        slab->remote = (struct sj_remote *)(void *)elsewhere;
}

static void guard_that_is_none(bool planted)
{
    struct sj_slab *slab = slab_of(small(48));
    slab->guarded |= planted;
}

static void never_opened_slot_is_free(bool planted)
{
    struct sj_slab *slab = slab_of(small(48));
    unsigned w = 0;
    while (sj__slab_opened_of(slab, w) != 0)
        if (++w == slab->words)
            _exit(9);
    slab->planes[w].available |= planted;
}

static void bin_that_points_elsewhere(bool planted)
{
    const struct sj_slab *slab = slab_of(small(48));
    sj__heap_current->bins[slab->class_index].word_start += planted ? 16 : 0;
}

static struct sj_slab *partial_slab(void)
{
    static void *blocks[2000];
    for (unsigned i = 0; i < 2000; i++)
        blocks[i] = small(CLASS_BYTES);
    for (unsigned i = 0; i < 2000; i += 2)
        sj_free(blocks[i]);
    for (unsigned i = 1; i < 2000; i += 2)
        if (slab_of(blocks[i])->place == SJ_SLAB_PARTIAL)
            return slab_of(blocks[i]);
    _exit(9);
}

static void broken_list(bool planted)
{
    struct sj_slab *slab = partial_slab();
    slab->previous = planted ? slab : slab->previous;
}

static void wild_list(bool planted)
{
    struct sj_slab *slab = partial_slab();
    slab->next = planted ? (struct sj_slab *)(void *)(slab->base) : slab->next;
}

static void twice_freed_at_once(bool planted)
{
    void *block = small(CLASS_BYTES);
    struct sj_slab *slab = slab_of(block);
    unsigned slot = slot_of(block);
    sj_free(block);
    if (planted)
        (void)sj_fetch_or_acq_rel_u64(&slab->remote->bits[slot / SJ_WORD_BITS], (uint64_t)1 << slot % SJ_WORD_BITS);
}

static void written_to(size_t size, size_t offset, bool planted)
{
    volatile char *block = small(size);
    sj_free((void *)(uintptr_t)block);
    if (planted)
        block[offset] = 'x';
}

static void small_slot_written_to(bool planted)
{
    written_to(48, 47, planted);
}

static void middle_slot_written_to(bool planted)
{
    written_to(3000, 1500, planted);
}

static void last_slot_of_several_granules_written_to(bool planted)
{
    void *blocks[16];
    for (unsigned i = 0; i < 16; i++)
        blocks[i] = small(32000);
    for (unsigned i = 0; i < 16; i++)
        sj_free(blocks[i]);
    for (unsigned i = 0; planted && i < 16; i++)
        if (slab_of(blocks[i]) != NULL && slot_of(blocks[i]) != 0)
            *(volatile char *)blocks[i] = 'x';
}

/* Leaves a block, so that the slab of the freed one stays when the thread has ended. */
static void *make_and_free(void *block_of)
{
    void *block = sj_malloc(200);
    *(void **)block_of = block;
    void *left = sj_malloc(200);
    sj_free(block);
    return left;
}

static void slot_of_ended_thread_written_to(bool planted)
{
    void *block;
    pthread_t thread;
    if (pthread_create(&thread, NULL, make_and_free, &block) != 0 || pthread_join(thread, NULL) != 0)
        _exit(9);
    if (planted && slab_of(block) != NULL)
        *(volatile char *)block = 'x';
}

/* A byte of the slot's last ones, that is not what was left there whatever the canary. */
static void overrun(void *block, bool planted)
{
    struct sj_slab *slab = slab_of(block);
    if (slab == NULL || slab->canary == SJ_CANARY_OFF)
        _exit(9);
    uint8_t byte = 1;
    for (size_t i = 0; i < SJ_CANARY_BYTES; i++)
        if (byte == sj__canary_byte(block, i)) {
            byte++;
            i = SIZE_MAX; /* from the first again */
        }
    if (planted)
        ((volatile uint8_t *)block)[slab->slot_bytes - 1] = byte;
}

static void live_slot_overrun(bool planted)
{
    overrun(small(48), planted);
}

static void live_slot_of_several_granules_overrun(bool planted)
{
    overrun(small(30000), planted);
}

static void live_slot_of_ended_thread_overrun(bool planted)
{
    void *block, *left;
    pthread_t thread;
    if (pthread_create(&thread, NULL, make_and_free, &block) != 0 || pthread_join(thread, &left) != 0)
        _exit(9);
    overrun(left, planted);
}

static void large_block_elsewhere(bool planted)
{
    large()->start += planted ? SJ_GRANULE_BYTES : 0;
}

static void large_block_not_of_pages(bool planted)
{
    large()->usable_bytes += planted ? 16 : 0;
}

static void large_block_too_long(bool planted)
{
    large()->usable_bytes += planted ? (size_t)64 << 20 : 0;
}

static void large_block_outside(bool planted)
{
    large()->granules += planted ? (size_t)1 << 40 : 0;
}

static void large_block_smaller_than_asked_for(bool planted)
{
    large()->requested_bytes += planted ? LARGE_BYTES : 0;
}

static void large_block_with_another_in_it(bool planted)
{
    struct sj_large *block = large(), *other = large();
    if (planted)
        sj_window_set(sj_window_granule(block->start) + 1, &other->span);
}

static void run_elsewhere(bool planted)
{
    sj_free(small(48)); /* now there is a window */
    size_t granules = sj_load_relaxed_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT;
    for (size_t granule = 0; granule < granules; granule++) {
        struct sj_span *span = sj_window_lookup(granule);
        uint32_t kind = sj_load_relaxed_u32(&span->kind);
        if (kind != SJ_SPAN_RUN && kind != SJ_SPAN_FRESH)
            continue;
        ((size_t *)(void *)(span + 1))[0] += planted; /* its first granule */
        return;
    }
    _exit(9);
}

/* --- How it is found. --- */

static void by_whole_check(void)
{
    if (sj_check(0) != 1)
        _exit(8);
}

static void by_steps(void)
{
    int reached;
    while ((reached = sj_check(1)) == 0) {
    }
    if (reached != 1)
        _exit(8);
}

static void by_walk(void)
{
    for (unsigned i = 0; i < 20000; i++)
        sj_free(sj_malloc(LARGE_BYTES)); /* two slow paths */
}

static const struct fault {
    const char *name;
    const char *options;
    const char *id;
    void (*plant)(bool planted);
    void (*find)(void);
} faults[] = {
    { "wild map entry", OPTIONS, "SJ-008", wild_map_entry, by_whole_check },
    { "null map entry", OPTIONS, "SJ-008", null_map_entry, by_whole_check },
    { "exchanged map entry", OPTIONS, "SJ-008", exchanged_map_entry, by_whole_check },
    { "lost map entry", OPTIONS, "SJ-008", lost_map_entry, by_whole_check },
    { "unknown kind", OPTIONS, "SJ-008", unknown_kind, by_whole_check },
    { "wrong owner", OPTIONS, "SJ-008", wrong_owner, by_whole_check },
    { "wrong class", OPTIONS, "SJ-008", wrong_class, by_whole_check },
    { "no class", OPTIONS, "SJ-008", no_class, by_whole_check },
    { "wrong slot size", OPTIONS, "SJ-008", wrong_slot_size, by_whole_check },
    { "wrong base", OPTIONS, "SJ-008", wrong_base, by_whole_check },
    { "wrong count", OPTIONS, "SJ-008", wrong_count, by_whole_check },
    { "wrong remote pointer", OPTIONS, "SJ-008", wrong_remote_pointer, by_whole_check },
    { "guard that is none", "level=2", "SJ-008", guard_that_is_none, by_whole_check },
    { "never opened slot is free", OPTIONS, "SJ-008", never_opened_slot_is_free, by_whole_check },
    { "bin that points elsewhere", OPTIONS, "SJ-008", bin_that_points_elsewhere, by_whole_check },
    { "broken list", OPTIONS, "SJ-008", broken_list, by_whole_check },
    { "wild list", OPTIONS, "SJ-008", wild_list, by_whole_check },
    { "twice freed at once", OPTIONS, "SJ-004", twice_freed_at_once, by_whole_check },
    { "twice freed at once, level 0", "level=0", "SJ-004", twice_freed_at_once, by_whole_check },
    { "small slot written to", OPTIONS, "SJ-013", small_slot_written_to, by_whole_check },
    { "small slot written to, found by steps", OPTIONS, "SJ-013", small_slot_written_to, by_steps },
    { "small slot written to, found by walk", "level=3,walk=3", "SJ-013", small_slot_written_to, by_walk },
    { "middle slot written to", "level=4", "SJ-013", middle_slot_written_to, by_whole_check },
    { "last slot of several granules", OPTIONS, "SJ-013", last_slot_of_several_granules_written_to, by_whole_check },
    { "slot of ended thread", OPTIONS, "SJ-013", slot_of_ended_thread_written_to, by_whole_check },
    { "live slot overrun", OPTIONS, "SJ-016", live_slot_overrun, by_whole_check },
    { "live slot overrun, found by steps", "level=4", "SJ-016", live_slot_overrun, by_steps },
    { "live slot overrun, found by walk", "level=3,walk=3", "SJ-016", live_slot_overrun, by_walk },
    { "live slot overrun, canary alone", "level=0,canary=exact,scrub=free", "SJ-016", live_slot_overrun,
      by_whole_check },
    { "live slot of several granules overrun", "level=4", "SJ-016", live_slot_of_several_granules_overrun,
      by_whole_check },
    { "live slot of ended thread overrun", OPTIONS, "SJ-016", live_slot_of_ended_thread_overrun, by_whole_check },
    { "large block elsewhere", OPTIONS, "SJ-008", large_block_elsewhere, by_whole_check },
    { "large block not of pages", OPTIONS, "SJ-008", large_block_not_of_pages, by_whole_check },
    { "large block too long", OPTIONS, "SJ-008", large_block_too_long, by_whole_check },
    { "large block outside", OPTIONS, "SJ-008", large_block_outside, by_whole_check },
    { "large block smaller than asked for", OPTIONS, "SJ-008", large_block_smaller_than_asked_for, by_whole_check },
    { "large block with another in it", OPTIONS, "SJ-008", large_block_with_another_in_it, by_whole_check },
    { "run elsewhere", OPTIONS, "SJ-008", run_elsewhere, by_whole_check },
};

/* In a process that was started for it: argument "NUMBER planted" or "NUMBER". */
static int run_fault(const char *which)
{
    const struct fault *fault = &faults[strtoul(which, NULL, 10)];
    fault->plant(strstr(which, "planted") != NULL);
    fault->find();
    _exit(0);
}

/* Starts a process under `options` that plants fault `which`; reads the first of what it says on fd 2. */
static int status_of(const char *options, const char *which, char *said, size_t bytes)
{
    int ends[2], status = -1;
    size_t length = 0;
    ssize_t got;
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)setenv("SCRUBJAY_OPTIONS", without_samples(options), 1);
        (void)setenv("SJ_UNIT_FAULT", which, 1);
        (void)execl("/proc/self/exe", "child", (char *)NULL);
        _exit(3);
    }
    (void)close(ends[1]);
    while ((got = read(ends[0], said + length, bytes - 1 - length)) > 0)
        length += (size_t)got;
    said[length] = '\0';
    (void)close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

/* Contents, and large blocks, are judged only where stores stay in order. */
static bool is_looked_for(const struct fault *fault)
{
    bool is_of_contents = strcmp(fault->id, "SJ-013") == 0 || strcmp(fault->id, "SJ-016") == 0;
    return SJ_STORES_STAY_IN_ORDER || (!is_of_contents && strncmp(fault->name, "large block", 11) != 0);
}

static void heap_check__finds_what_was_planted_and_nothing_else(void)
{
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (!is_looked_for(&faults[i]))
            continue;
        char said[8192], which[32], line[64];
        (void)snprintf(which, sizeof which, "%u planted", i);
        (void)snprintf(line, sizeof line, "scrubjay: %s ", faults[i].id);
        int status = status_of(faults[i].options, which, said, sizeof said);
        bool found = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strncmp(said, line, strlen(line)) == 0;
        (void)snprintf(which, sizeof which, "%u", i);
        char also[8192];
        int twin = status_of(faults[i].options, which, also, sizeof also);
        if (!CHECK(found) || !CHECK(twin == 0 && also[0] == '\0'))
            unit_print("# %s: status %x, said %.300s; twin %x %.300s\n", faults[i].name, (unsigned)status, said,
                       (unsigned)twin, also);
    }
}

static void heap_check__looks_at_free_slots_only_where_they_are_verified(void)
{
    char said[8192], which[32];
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (faults[i].plant != small_slot_written_to)
            continue;
        (void)snprintf(which, sizeof which, "%u planted", i);
        CHECK_EQ(status_of("level=2", which, said, sizeof said), 0);
        CHECK_EQ(status_of("level=3,verify=off,walk=3", which, said, sizeof said), 0);
        if (faults[i].find == by_walk)
            CHECK_EQ(status_of("level=3", which, said, sizeof said), 0);
    }
}

/* --- What it promises. --- */

static void heap_check__reaches_the_end_after_as_many_steps_as_the_budget_says(void)
{
    void *blocks[64];
    for (unsigned i = 0; i < 64; i++)
        REQUIRE((blocks[i] = sj_malloc(i % 2 == 0 ? LARGE_BYTES : CLASS_BYTES)) != NULL);
    size_t granules = sj_load_relaxed_size(&sj__window_limit_bytes) >> SJ_GRANULE_SHIFT, steps = 1;
    errno = 77;
    while (sj_check(4 * SJ_GRANULE_BYTES - 1) == 0)
        steps++;
    CHECK_EQ(steps, (granules + 3) / 4);
    CHECK_EQ(sj_check(0), 1);
    CHECK_EQ(sj_check(SIZE_MAX), 1);
    CHECK_EQ(errno, 77);
    for (unsigned i = 0; i < 64; i++)
        sj_free(blocks[i]);
}

static void heap_check__says_eagain_where_the_allocator_was_interrupted(void)
{
    sj__heap_inside = SJ_INSIDE_HEAP;
    int answer = sj_check(0), error = errno;
    sj__heap_inside = SJ_OUTSIDE;
    CHECK_EQ(answer, -1);
    CHECK_EQ(error, EAGAIN);
}

static void heap_check__passes_over_a_heap_whose_thread_stands_still(void)
{
    struct sj_slab *slab = slab_of(small(48));
    REQUIRE(slab != NULL);
    struct sj_heap *heap = sj__heap_current;
    sj__lock(&heap->lock);
    slab->slot_bytes += 16;
    int answer = sj_check(0);
    slab->slot_bytes -= 16;
    sj__unlock(&heap->lock);
    CHECK_EQ(answer, 1);
    CHECK_EQ(sj_check(0), 1);
}

/* --- No false alarm while threads run. --- */

enum { THREADS = 3, EXCHANGE = 512, CHECKS = 120, SIGNALS_A_CHECK = 20 };

static struct sj_atomic_ptr exchange[EXCHANGE];
static struct sj_atomic_u32 stopped;

static void allocate_in_handler(int number)
{
    (void)number;
    int saved_errno = errno;
    if (sj__slow_is_inside())
        return;
    for (size_t size = 16; size < 200; size += 48)
        sj_free(sj_malloc(size));
    errno = saved_errno;
}

static size_t any_size(uint64_t *state)
{
    uint64_t kind = unit_random_below(state, 40);
    return kind == 0  ? 40000 + unit_random_below(state, 2000000)
           : kind < 4 ? 1 + unit_random_below(state, 32768)
                      : 1 + unit_random_below(state, 300);
}

/* A thread's small blocks are freed by all, its large ones grow and shrink. */
static void *live_at_random(void *seed)
{
    uint64_t state = *(uint64_t *)seed;
    char *own = NULL;
    while (sj_load_relaxed_u32(&stopped) == 0) {
        size_t size = any_size(&state);
        char *block = sj_malloc(size);
        if (block == NULL)
            break;
        block[0] = block[size - 1] = 'a';
        if (unit_random_below(&state, 4) == 0) { /* within its slot, mostly */
            char *resized = sj_realloc(block, size + unit_random_below(&state, 12));
            block = resized != NULL ? resized : block;
            memset(block, 'b', size);
        }
        sj_free(sj_exchange_acq_rel_ptr(&exchange[unit_random_below(&state, EXCHANGE)], block));
        if (unit_random_below(&state, 50) == 0) {
            char *resized = sj_realloc(own, 40000 + unit_random_below(&state, 500000));
            own = resized != NULL ? resized : own;
        }
    }
    sj_free(own);
    return NULL;
}

static void check_while_threads_run(void)
{
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    struct sigaction action = { .sa_handler = allocate_in_handler, .sa_flags = SA_RESTART };
    REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = unit_state.seed + i;
        REQUIRE(pthread_create(&threads[i], NULL, live_at_random, &seeds[i]) == 0);
    }
    uint64_t state = unit_state.seed ^ 0x5eed;
    for (unsigned checks = 0; checks < CHECKS; checks++) {
        CHECK(sj_check(checks % 2 == 0 ? 0 : unit_random_below(&state, 4 << 20)) >= 0);
        for (unsigned i = 0; i < SIGNALS_A_CHECK; i++)
            (void)pthread_kill(threads[i % THREADS], SIGUSR1);
        if (checks % 10 == 0) { /* heaps of ended threads, too */
            pthread_t short_lived;
            void *block = NULL, *left = NULL;
            if (CHECK(pthread_create(&short_lived, NULL, make_and_free, &block) == 0))
                (void)pthread_join(short_lived, &left);
            sj_free(left);
        }
    }
    sj_store_relaxed_u32(&stopped, 1);
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    CHECK_EQ(sj_check(0), 1);
    for (unsigned i = 0; i < EXCHANGE; i++)
        sj_free(sj_exchange_acq_rel_ptr(&exchange[i], NULL));
    CHECK_EQ(sj_check(0), 1);
}

static void heap_check__has_no_false_alarm_while_threads_run(void)
{
    check_under("level=0");
    check_under("level=2");
    check_under("level=4");
    check_under("level=3,walk=1");
    check_under("level=0,verify=on");
    check_under("level=0,canary=exact,scrub=free");
    check_under("level=2,sample=50");
}

static int child_main(void)
{
    check_while_threads_run();
    return (int)unit_failed();
}

int main(int argc, char **argv)
{
    if (getenv("SJ_UNIT_FAULT") != NULL)
        return run_fault(getenv("SJ_UNIT_FAULT"));
    if (unit_child_options() != NULL)
        return child_main();
    run_under(OPTIONS, argv);
    unit_begin(argc, argv);
    RUN(heap_check__finds_what_was_planted_and_nothing_else);
    RUN(heap_check__looks_at_free_slots_only_where_they_are_verified);
    RUN(heap_check__reaches_the_end_after_as_many_steps_as_the_budget_says);
    RUN(heap_check__says_eagain_where_the_allocator_was_interrupted);
    RUN(heap_check__passes_over_a_heap_whose_thread_stands_still);
    RUN(heap_check__has_no_false_alarm_while_threads_run);
    return unit_end();
}
