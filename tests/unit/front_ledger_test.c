/* SPDX-License-Identifier: MIT
 *
 * What: the ledger adds up: after random programs with threads, under every way of scrubbing, what was freed is what was
 * scrubbed at free, at reuse and by the kernel, and what is still owed; to the byte.
 *
 * Why this way: the policy is fixed at start, so each case runs this program again in a process of its own with other
 * options. There, threads allocate, resize and free blocks of all kinds, swap them through a shared table, and end; in
 * between, when nobody is inside the allocator, its statistics are compared with the program's own books.
 *
 * Invariants checked: allocated = live + freed, in blocks and bytes; the ledger; no old byte in a new block where the
 * policy scrubs; all is given back when all is freed.
 *
 * Concurrency: a block belongs to the thread that took it out of the table, under the table's lock. The books are atomic.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "platform/pages.h"
#include "scrubjay.h"

#include <pthread.h>
#include <sys/mman.h>

enum { THREADS = 3, ROUNDS = 4, STEPS = SJ_UNDER_TSAN ? 400 : 800, SHARED_BLOCKS = 256, OWN_BLOCKS = 64, OLD = 0xa7 };

struct block {
    unsigned char *start; /* NULL: none */
    size_t size_bytes;
    size_t usable_bytes;
    bool sized; /* its size is what free_sized must be told */
};

static bool kernel_refuses;

/* --- The program's own books. --- */

static struct block shared_blocks[SHARED_BLOCKS];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t live_blocks, live_bytes; /* atomic */
static bool old_bytes_may_show;

static void add(uint64_t *book, uint64_t value)
{
    (void)__atomic_fetch_add(book, value, __ATOMIC_RELAXED);
}

static void note_made(struct block *block, void *start, size_t size_bytes)
{
    block->start = start;
    block->size_bytes = size_bytes;
    block->usable_bytes = sj_malloc_usable_size(start);
    add(&live_blocks, 1);
    add(&live_bytes, block->usable_bytes);
    CHECK(block->usable_bytes >= size_bytes);
}

static void note_freed(struct block *block)
{
    add(&live_blocks, (uint64_t)-1);
    add(&live_bytes, (uint64_t)-block->usable_bytes);
    block->start = NULL;
}

/* Large blocks are written and looked at here and there. */
enum { WHOLE_MAX_BYTES = 65536, PAGE_STEP = 4096 };

static bool is_clean(const unsigned char *bytes, size_t count)
{
    if (count == 0)
        return true;
    if (count <= WHOLE_MAX_BYTES)
        return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
    bool clean = true;
    for (size_t at = 0; at < count; at += PAGE_STEP)
        clean &= bytes[at] == 0 && bytes[at + PAGE_STEP / 2] == 0;
    return clean;
}

static void fill(const struct block *block)
{
    if (block->usable_bytes <= WHOLE_MAX_BYTES) {
        memset(block->start, OLD, block->usable_bytes);
        return;
    }
    for (size_t at = 0; at < block->usable_bytes; at += PAGE_STEP)
        block->start[at] = block->start[at + PAGE_STEP / 2] = OLD;
}

/* --- The operations. --- */

static size_t random_size(uint64_t *state)
{
    unsigned kind = (unsigned)unit_random_below(state, 64);
    if (kind == 0)
        return 0;
    if (kind == 1)
        return 32769 + unit_random_below(state, (size_t)1 << (8 + unit_random_below(state, 15)));
    return 1 + unit_random_below(state, (size_t)1 << (4 + unit_random_below(state, 12)));
}

static void make(uint64_t *state, struct block *block)
{
    size_t size = random_size(state);
    unsigned how = (unsigned)unit_random_below(state, 4);
    void *start = how == 0   ? sj_calloc(1, size)
                  : how == 1 ? sj_aligned_alloc((size_t)16 << unit_random_below(state, 10), size)
                             : sj_malloc(size);
    if (start == NULL) {
        CHECK(kernel_refuses);
        return;
    }
    note_made(block, start, size);
    if (how == 0 || !old_bytes_may_show)
        CHECK(is_clean(block->start, how == 0 && size <= WHOLE_MAX_BYTES ? size : block->usable_bytes));
    block->sized = how != 1;
    fill(block);
}

static void destroy(uint64_t *state, struct block *block)
{
    unsigned char *start = block->start;
    note_freed(block);
    if (block->sized && unit_random_below(state, 4) == 0)
        sj_free_sized(start, block->size_bytes);
    else
        sj_free(start);
}

static void resize(uint64_t *state, struct block *block)
{
    size_t size = random_size(state);
    unsigned char *old = block->start;
    bool kept = size > 0 && block->usable_bytes > 0;
    unsigned char *start = sj_realloc(old, size);
    if (start == NULL && size > 0) {
        CHECK(kernel_refuses);
        return;
    }
    note_freed(block);
    if (start == NULL)
        return;
    note_made(block, start, size);
    block->sized = true;
    CHECK(!kept || start[0] == OLD);
    fill(block);
}

static void swap(uint64_t *state, struct block *block)
{
    (void)pthread_mutex_lock(&shared_lock);
    struct block *other = &shared_blocks[unit_random_below(state, SHARED_BLOCKS)];
    struct block kept = *other;
    *other = *block;
    *block = kept;
    (void)pthread_mutex_unlock(&shared_lock);
}

static void *run_thread(void *argument)
{
    uint64_t state = *(uint64_t *)argument;
    struct block blocks[OWN_BLOCKS] = { 0 };
    for (unsigned i = 0; i < STEPS; i++) {
        struct block *block = &blocks[unit_random_below(&state, OWN_BLOCKS)];
        unsigned op = (unsigned)unit_random_below(&state, 16);
        if (op < 5)
            swap(&state, block);
        else if (block->start == NULL)
            make(&state, block);
        else if (op < 8)
            resize(&state, block);
        else
            destroy(&state, block);
    }
    for (unsigned i = 0; i < OWN_BLOCKS; i++) /* the rest goes to whoever comes */
        for (unsigned tries = 0; blocks[i].start != NULL; tries++)
            if (tries < 4)
                swap(&state, &blocks[i]);
            else
                destroy(&state, &blocks[i]);
    return NULL;
}

/* --- Comparing. --- */

static bool scrubs; /* the policy does */

static void check_books(const struct sj_stats *stats)
{
    CHECK_EQ(stats->allocations - stats->frees, live_blocks);
    CHECK_EQ(stats->live_bytes, live_bytes);
    CHECK_EQ(stats->freed_bytes,
             stats->scrubbed_at_free + stats->scrubbed_at_reuse + stats->scrubbed_by_kernel + stats->owed_bytes);
    if (!scrubs)
        CHECK_EQ(stats->owed_bytes, stats->freed_bytes);
}

static void check_now(void)
{
    struct sj_stats stats;
    CHECK_EQ(sj_stats_read(&stats), 0);
    check_books(&stats);
    NOTE("freed %llu = at free %llu + at reuse %llu + by kernel %llu + owed %llu",
         (unsigned long long)stats.freed_bytes, (unsigned long long)stats.scrubbed_at_free,
         (unsigned long long)stats.scrubbed_at_reuse, (unsigned long long)stats.scrubbed_by_kernel,
         (unsigned long long)stats.owed_bytes);
}

static void run_round(uint64_t *state)
{
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = unit_random(state);
        if (!CHECK(pthread_create(&threads[i], NULL, run_thread, &seeds[i]) == 0))
            _exit(2);
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

static void check_end(uint64_t *state)
{
    struct sj_stats stats;
    for (unsigned i = 0; i < SHARED_BLOCKS; i++)
        if (shared_blocks[i].start != NULL)
            destroy(state, &shared_blocks[i]);
    check_now();
    CHECK_EQ(live_blocks, 0);
    CHECK_EQ(live_bytes, 0);
    (void)sj_malloc_trim(0);
    CHECK_EQ(sj_stats_read(&stats), 0);
    check_books(&stats);
    CHECK_EQ(stats.live_bytes, 0);
    CHECK_EQ(stats.large_live_blocks, 0);
    CHECK_EQ(stats.large_live_bytes, 0);
    CHECK_EQ(stats.slabs, 0);
    CHECK_EQ(stats.free_held_bytes, 0);
    if (scrubs)
        CHECK_EQ(stats.owed_bytes, 0);
}

static int run_program(const char *options)
{
    uint64_t state = unit_state.seed;
    char text[512];
    (void)sj_policy_text(text, sizeof text);
    scrubs = strstr(text, "scrub=off") == NULL;
    old_bytes_may_show = !scrubs;
    kernel_refuses = getenv("SJ_LEDGER_REFUSE") != NULL;
    if (kernel_refuses)
        sj__pages_set_source(&unit_moody_source);
    for (unsigned round = 0; round < ROUNDS && !unit_failed(); round++) {
        run_round(&state);
        check_now();
        if (round % 2 == 1) {
            (void)sj_malloc_trim(0);
            check_now();
        }
    }
    sj__pages_set_source(NULL);
    check_end(&state);
    if (unit_failed())
        unit_print("# with %s, SJ_TEST_SEED=%llu\n", options, (unsigned long long)unit_state.seed);
    return (int)unit_failed();
}

/* --- Each case in a process of its own. --- */

static void front_ledger__adds_up_at_level_0(void)
{
    check_under("level=0");
}

static void front_ledger__adds_up_at_level_1(void)
{
    check_under("level=1");
}

static void front_ledger__adds_up_at_level_2(void)
{
    check_under("level=2");
}

static void front_ledger__adds_up_when_scrubbing_at_reuse(void)
{
    check_under("level=2,scrub=reuse");
}

static void front_ledger__adds_up_when_scrubbing_at_free(void)
{
    check_under("level=2,scrub=free");
}

static void front_ledger__adds_up_when_freed_slots_go_straight_back(void)
{
    check_under("level=2,delay=lifo");
    check_under("level=0,scrub=reuse");
    check_under("level=0,scrub=free");
    check_under("level=0,scrub=auto,random=on");
}

static void front_ledger__adds_up_without_guards(void)
{
    check_under("level=2,guard=off");
    check_under("level=2,guard=off,scrub=off");
}

static void front_ledger__adds_up_with_samples(void)
{
    check_under("level=1,sample=5,sample_rate=0");
    check_under("level=2,sample=1,sample_rate=0");
    check_under("level=2,scrub=reuse,sample=5,sample_rate=0");
    check_under("level=2,scrub=free,sample=50,sample_rate=0");
}

static void front_ledger__adds_up_when_calls_are_refused(void)
{
    (void)setenv("SJ_LEDGER_REFUSE", "1", 1);
    check_under("level=0");
    check_under("level=2");
    check_under("level=2,scrub=reuse");
    check_under("level=2,scrub=free,guard=off");
    (void)unsetenv("SJ_LEDGER_REFUSE");
}

int main(int argc, char **argv)
{
    const char *options = unit_child_options();
    if (options != NULL)
        return run_program(options);
    unit_begin(argc, argv);
    RUN(front_ledger__adds_up_at_level_0);
    RUN(front_ledger__adds_up_at_level_1);
    RUN(front_ledger__adds_up_at_level_2);
    RUN(front_ledger__adds_up_when_scrubbing_at_reuse);
    RUN(front_ledger__adds_up_when_scrubbing_at_free);
    RUN(front_ledger__adds_up_when_freed_slots_go_straight_back);
    RUN(front_ledger__adds_up_without_guards);
    RUN(front_ledger__adds_up_with_samples);
    RUN(front_ledger__adds_up_when_calls_are_refused);
    return unit_end();
}
