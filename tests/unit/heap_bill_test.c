/* SPDX-License-Identifier: MIT
 *
 * What: the memory bill adds up: its lines are what is committed, to the byte, whenever no thread is inside the allocator; where
 * threads are stopped in the middle of a call, but for what those calls have in hand. And its lines are true: what the program has,
 * and what the kernel says is resident.
 *
 * Why this way: each policy in a process of its own. Threads allocate, resize, free and swap blocks of all kinds; a quiet stop is a
 * barrier between two operations, a stop of any kind a signal whose handler waits until the bill is made.
 *
 * Invariants checked: in flight is 0 at quiet stops, and bounded at others; live bytes are those of the program's own books.
 *
 * Concurrency: a block belongs to the thread that took it out of the table, under the table's lock. The books are atomic.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "front/bill.h"
#include "meta/arena.h"
#include "scrubjay.h"
#include "span/large.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

enum {
    THREADS = 3,
    ARENAS = 2,
    OWN_BLOCKS = 48,
    SHARED_BLOCKS = 128,
    STEPS_A_STOP = 24,
    LARGE_MAX_BYTES = 600000,
    QUIET_STOPS = 112, /* of each case: more than a thousand in all */
    ANY_STOPS = 12,
    NAPS_A_STOP = 300,
    LONG_ANY_STOPS = 112, /* where there is time */
    QUICK_SECONDS = 2,
    /* What one call may have in hand: a large block and the place it moves to, each with guards, room and a piece to spare. */
    IN_HAND_BYTES = 2 * (LARGE_MAX_BYTES * 5 / 4 + 4 * SJ_GRANULE_BYTES)
};

struct block {
    unsigned char *start; /* NULL: none */
    size_t booked_bytes;
    uint64_t *book; /* whose */
};

static struct block shared_blocks[SHARED_BLOCKS];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t live_bytes, live_in_arena[ARENAS]; /* atomic; the former of all */
static struct sj_arena *arenas[ARENAS];            /* of policies that differ from the program's and each other */

static bool kernel_refuses;

/* --- The program. --- */

static size_t random_size(uint64_t *state)
{
    unsigned kind = (unsigned)unit_random_below(state, 32);
    if (kind == 0)
        return 0;
    if (kind < 4)
        return 32769 + unit_random_below(state, (size_t)LARGE_MAX_BYTES - 32769);
    return 1 + unit_random_below(state, (size_t)1 << (4 + unit_random_below(state, 12)));
}

/* The books of the arena that a block is in; NULL if it is in none. */
static uint64_t *arena_book(const void *start)
{
    struct sj_account_stats account;
    (void)sj_account_of(start, &account);
    return strcmp(account.arena, "internal") == 0 ? &live_in_arena[0]
           : strcmp(account.arena, "client") == 0 ? &live_in_arena[1]
                                                  : NULL;
}

static void book_again(struct block *block, const struct block *as)
{
    *block = *as;
    (void)__atomic_fetch_add(&live_bytes, block->booked_bytes, __ATOMIC_RELAXED);
    if (block->book != NULL)
        (void)__atomic_fetch_add(block->book, block->booked_bytes, __ATOMIC_RELAXED);
}

static void book(struct block *block, void *start, size_t size_bytes)
{
    book_again(block,
               &(struct block){
                   .start = start,
                   .booked_bytes = sj__large_containing(start) != NULL ? size_bytes : sj_malloc_usable_size(start),
                   .book = arena_book(start),
               });
}

static void unbook(struct block *block)
{
    (void)__atomic_fetch_sub(&live_bytes, block->booked_bytes, __ATOMIC_RELAXED);
    if (block->book != NULL)
        (void)__atomic_fetch_sub(block->book, block->booked_bytes, __ATOMIC_RELAXED);
    block->start = NULL;
}

static void *labelled_malloc(size_t size_bytes)
{
    bool is_pushed = sj_label_push("labelled") == 0;
    CHECK(is_pushed || kernel_refuses);
    void *start = sj_malloc(size_bytes);
    if (is_pushed)
        sj_label_pop();
    return start;
}

static void make(uint64_t *state, struct block *block)
{
    size_t size = random_size(state);
    unsigned how = (unsigned)unit_random_below(state, 8);
    void *start = how == 0   ? sj_arena_malloc(arenas[unit_random_below(state, ARENAS)], "part", size)
                  : how == 1 ? labelled_malloc(size)
                  : how < 4  ? sj_aligned_alloc((size_t)16 << unit_random_below(state, 10), size)
                             : sj_malloc(size);
    if (start == NULL)
        CHECK(kernel_refuses);
    else
        book(block, start, size);
}

static void destroy(struct block *block)
{
    unsigned char *start = block->start;
    unbook(block);
    sj_free(start);
}

static void resize(uint64_t *state, struct block *block)
{
    size_t size = random_size(state);
    struct block old = *block;
    unbook(block);
    unsigned char *start = sj_realloc(old.start, size);
    if (start == NULL && size > 0) {
        CHECK(kernel_refuses);
        book_again(block, &old);
    } else if (start != NULL) {
        book(block, start, size);
    }
}

static void swap(uint64_t *state, struct block *block)
{
    (void)pthread_mutex_lock(&shared_lock);
    struct block *other = &shared_blocks[unit_random_below(state, SHARED_BLOCKS)], kept = *other;
    *other = *block;
    *block = kept;
    (void)pthread_mutex_unlock(&shared_lock);
}

static void step(uint64_t *state, struct block *blocks)
{
    struct block *block = &blocks[unit_random_below(state, OWN_BLOCKS)];
    unsigned op = (unsigned)unit_random_below(state, 16);
    if (op < 4)
        swap(state, block);
    else if (block->start == NULL)
        make(state, block);
    else if (op < 7)
        resize(state, block);
    else
        destroy(block);
}

struct worker {
    pthread_t thread;
    uint64_t state;
    struct block blocks[OWN_BLOCKS];
};

static struct worker workers[THREADS];

static void start_workers(uint64_t *state, void *(*run)(void *))
{
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].state = unit_random(state);
        if (!CHECK(pthread_create(&workers[i].thread, NULL, run, &workers[i]) == 0))
            _exit(2);
    }
}

static void end_workers(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(workers[i].thread, NULL);
}

static void free_all(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned b = 0; b < OWN_BLOCKS; b++)
            if (workers[i].blocks[b].start != NULL)
                destroy(&workers[i].blocks[b]);
    for (unsigned i = 0; i < SHARED_BLOCKS; i++)
        if (shared_blocks[i].start != NULL)
            destroy(&shared_blocks[i]);
}

/* --- Quiet stops. --- */

static pthread_barrier_t barrier;
static unsigned quiet_stops;

static void *run_between_barriers(void *argument)
{
    struct worker *worker = argument;
    for (unsigned stop = 0; stop < quiet_stops; stop++) {
        unsigned steps = (unsigned)unit_random_below(&worker->state, STEPS_A_STOP);
        for (unsigned i = 0; i < steps; i++)
            step(&worker->state, worker->blocks);
        (void)pthread_barrier_wait(&barrier);
        (void)pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void check_quiet(void)
{
    struct sj_bill bill;
    sj__bill_fill(&bill, NULL, 0, false);
    CHECK_EQ(bill.in_flight_bytes, 0);
    CHECK_EQ(bill.line[SJ_BILL_LIVE], live_bytes);
    CHECK(bill.peak_bytes >= bill.committed_bytes);
    for (unsigned i = 0; i < ARENAS && arenas[i] != NULL; i++) {
        struct sj_bill part;
        CHECK_EQ(sj_arena_bill(arenas[i], &part, sizeof part), 0);
        CHECK_EQ(part.line[SJ_BILL_LIVE], live_in_arena[i]);
        for (unsigned line = 0; line < SJ_BILL_LINES; line++)
            CHECK(part.line[line] <= bill.line[line]);
    }
}

static void stop_quietly(uint64_t *state, unsigned stops)
{
    quiet_stops = stops;
    (void)pthread_barrier_init(&barrier, NULL, THREADS + 1);
    start_workers(state, run_between_barriers);
    for (unsigned stop = 0; stop < stops; stop++) {
        (void)pthread_barrier_wait(&barrier);
        check_quiet();
        if (unit_random_below(state, 32) == 0) {
            (void)sj_purge(0);
            check_quiet();
        }
        (void)pthread_barrier_wait(&barrier);
    }
    end_workers();
    check_quiet();
}

/* --- Stops of any kind. --- */

static unsigned stops_now, stopped, ended; /* atomic */

static void nap(void)
{
    const struct timespec pause = { .tv_nsec = 20000 };
    (void)nanosleep(&pause, NULL);
}

static void stop_here(int number)
{
    int saved_errno = errno;
    (void)number;
    (void)__atomic_fetch_add(&stopped, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&stops_now, __ATOMIC_ACQUIRE) != 0)
        nap();
    (void)__atomic_fetch_sub(&stopped, 1, __ATOMIC_ACQ_REL);
    errno = saved_errno;
}

static void *run_until_ended(void *argument)
{
    struct worker *worker = argument;
    while (__atomic_load_n(&ended, __ATOMIC_RELAXED) == 0)
        step(&worker->state, worker->blocks);
    return NULL;
}

/* False: one waits with signals blocked for what a stopped one holds, or gets no CPU. */
static bool have_all_stopped(void)
{
    for (unsigned naps = 0; naps < NAPS_A_STOP; naps++) {
        if (__atomic_load_n(&stopped, __ATOMIC_ACQUIRE) == THREADS)
            return true;
        nap();
    }
    return false;
}

static void wait_until_all_go_on(void)
{
    while (__atomic_load_n(&stopped, __ATOMIC_ACQUIRE) != 0)
        nap();
}

/* Returns how many bytes were in flight. */
static uint64_t check_stopped(void)
{
    struct sj_bill bill;
    sj__bill_fill(&bill, NULL, 0, false);
    int64_t bytes = bill.in_flight_bytes;
    if (!CHECK(bytes <= THREADS * (int64_t)IN_HAND_BYTES && bytes >= -THREADS * (int64_t)IN_HAND_BYTES))
        unit_print("# in flight: %lld of %llu\n", (long long)bytes, (unsigned long long)bill.committed_bytes);
    return (uint64_t)(bytes < 0 ? -bytes : bytes);
}

static void stop_anywhere(uint64_t *state, unsigned stops)
{
    unsigned inside = 0, whole = 0;
    uint64_t most_bytes = 0;
    struct sigaction action = { .sa_handler = stop_here, .sa_flags = SA_RESTART };
    (void)sigaction(SIGUSR1, &action, NULL);
    __atomic_store_n(&ended, 0, __ATOMIC_RELAXED);
    start_workers(state, run_until_ended);
    for (unsigned stop = 0; stop < stops; stop++) {
        for (uint64_t naps = unit_random_below(state, 4); naps > 0; naps--)
            nap();
        __atomic_store_n(&stops_now, 1, __ATOMIC_RELEASE);
        for (unsigned i = 0; i < THREADS; i++)
            (void)pthread_kill(workers[i].thread, SIGUSR1);
        if (have_all_stopped()) {
            uint64_t bytes = check_stopped();
            inside += bytes != 0;
            most_bytes = bytes > most_bytes ? bytes : most_bytes;
            whole++;
        }
        __atomic_store_n(&stops_now, 0, __ATOMIC_RELEASE);
        wait_until_all_go_on();
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
    end_workers();
    check_quiet();
    NOTE("%u of %u stops had something in flight, at most %llu bytes; %u stopped not all", inside, stops,
         (unsigned long long)most_bytes, stops - whole);
}

/* --- Each policy in a process of its own. --- */

static int run_program(const char *options)
{
    uint64_t state = unit_state.seed;
    bool is_long = unit_budget_seconds(0) > QUICK_SECONDS;
    check_quiet();
    arenas[0] = sj_arena_create("internal", "level=0");
    arenas[1] = sj_arena_create("client", "level=3");
    if (!CHECK(arenas[0] != NULL && arenas[1] != NULL))
        return 1;
    kernel_refuses = getenv("SJ_BILL_REFUSE") != NULL;
    if (kernel_refuses)
        sj__pages_set_source(&unit_moody_source);
    stop_quietly(&state, QUIET_STOPS);
    if (!SJ_UNDER_TSAN) /* where threads are stopped their heaps are looked at without their locks */
        stop_anywhere(&state, is_long ? LONG_ANY_STOPS : ANY_STOPS);
    sj__pages_set_source(NULL);
    free_all();
    check_quiet();
    CHECK_EQ(live_bytes, 0);
    for (unsigned i = 0; i < ARENAS; i++) {
        sj_arena_destroy(arenas[i]);
        arenas[i] = NULL;
    }
    check_quiet();
    if (unit_failed())
        unit_print("# with %s, SJ_TEST_SEED=%llu\n", options, (unsigned long long)unit_state.seed);
    return (int)unit_failed();
}

static void heap_bill__adds_up_at_each_level(void)
{
    check_under("level=0");
    check_under("level=1");
    check_under("level=2");
    check_under("level=3");
    check_under("level=4");
}

static void heap_bill__adds_up_with_single_options(void)
{
    check_under("level=2,sample=20,sample_rate=0");
    check_under("level=0,canary=exact,guard=every");
    check_under("level=2,delay=lifo,release_ms=0");
    check_under("level=3,cache_max_count=0,hold_max_bytes=0");
}

/* What it leaves unmapped, or faulting, is lost: on no line, and not committed. */
static void heap_bill__adds_up_when_calls_are_refused(void)
{
    (void)setenv("SJ_BILL_REFUSE", "1", 1);
    check_under("level=0,guard=every");
    check_under("level=2");
    check_under("level=4");
    (void)unsetenv("SJ_BILL_REFUSE");
}

/* Every byte written, so that the kernel has a page of its own for each that is said to be live. */
static void heap_bill__agrees_with_the_kernel_on_what_is_resident(void)
{
    enum { BLOCKS = 64, BLOCK_BYTES = 300000, SMALL_BLOCKS = 4000, SMALL_BYTES = 500 };
    static unsigned char *blocks[BLOCKS + SMALL_BLOCKS];
    struct sj_bill bill;
    size_t page_bytes = sj__page_bytes();
    for (unsigned i = 0; i < BLOCKS + SMALL_BLOCKS; i++) {
        size_t bytes = i < BLOCKS ? BLOCK_BYTES : SMALL_BYTES;
        blocks[i] = sj_malloc(bytes);
        REQUIRE(blocks[i] != NULL);
        memset(blocks[i], 1, bytes);
    }
    CHECK_EQ(sj_bill_read(&bill, sizeof bill), 0);
    int fd = open("/proc/self/pagemap", O_RDONLY);
    uint64_t present = 0, entry;
    for (size_t at = 0; at < sj_load_relaxed_size(&sj__window_limit_bytes); at += page_bytes)
        if (pread(fd, &entry, sizeof entry, (off_t)((sj__window_base + at) / page_bytes * sizeof entry)) ==
            sizeof entry)
            present += entry >> 63;
    (void)close(fd);
    if (bill.resident_bytes == 0 || present == 0)
        SKIP("/proc does not tell");
    uint64_t records_bytes = bill.line[SJ_BILL_RECORDS] + bill.line[SJ_BILL_MAP];
    uint64_t seen_bytes = present * page_bytes, said_bytes = bill.resident_bytes;
    CHECK(said_bytes >= seen_bytes - seen_bytes / 50 && said_bytes <= seen_bytes + seen_bytes / 50 + records_bytes);
    CHECK(said_bytes >= bill.line[SJ_BILL_LIVE]);
    CHECK_EQ(bill.committed_bytes - said_bytes, bill.untouched_bytes);
    for (unsigned i = 0; i < BLOCKS + SMALL_BLOCKS; i++)
        sj_free(blocks[i]);
}

static void heap_bill__fills_no_more_than_is_asked_for(void)
{
    struct sj_bill bill;
    memset(&bill, 0x55, sizeof bill);
    size_t asked = offsetof(struct sj_bill, peak_bytes);
    CHECK_EQ(sj_bill_read(&bill, asked), 0);
    CHECK_EQ(bill.version, SJ_BILL_VERSION);
    CHECK_EQ(bill.bytes, asked);
    CHECK_EQ(bill.peak_bytes, 0x5555555555555555u);
}

int main(int argc, char **argv)
{
    const char *options = unit_child_options();
    if (options != NULL)
        return run_program(options);
    unit_begin(argc, argv);
    RUN(heap_bill__adds_up_at_each_level);
    RUN(heap_bill__adds_up_with_single_options);
    RUN(heap_bill__adds_up_when_calls_are_refused);
    RUN(heap_bill__agrees_with_the_kernel_on_what_is_resident);
    RUN(heap_bill__fills_no_more_than_is_asked_for);
    return unit_end();
}
