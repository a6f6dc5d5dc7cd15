/* SPDX-License-Identifier: MIT
 *
 * What: the release clock with a clock and a kernel of the test's own: what is old goes back and what is young stays, of
 * runs, kept blocks and idle slabs; passes are bounded; refusals are answered; the books add up. And a model: random
 * allocations and frees of large blocks while time goes on, against an oracle that knows which blocks must be cold.
 *
 * Why this way: the clock is a variable, so "a second later" is an assignment and nothing waits. The kernel is a table
 * that counts calls and refuses from the Nth on, for each N in turn.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "front/control.h"
#include "front/entry.h"
#include "heap/pass.h"
#include "meta/arena.h"
#include "platform/clock.h"
#include "platform/pages.h"
#include "scrubjay.h"
#include "span/cache.h"
#include "span/large.h"
#include "span/run.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, AGE_MS = 1000, BLOCK_BYTES = 200 << 10, PAGE = 4096 };

static uint64_t now_ms = 1000000;

static uint64_t test_clock(void)
{
    return now_ms;
}

/* --- A kernel that counts, and refuses from the Nth call on. --- */

static uint64_t calls;
static uint64_t calls_allowed = UINT64_MAX;

static bool refuses(void)
{
    if (calls++ < calls_allowed)
        return false;
    errno = ENOMEM;
    return true;
}

static void *source_map(void *address, size_t bytes, int protection, int flags)
{
    return refuses() ? MAP_FAILED : mmap(address, bytes, protection, flags, -1, 0);
}

static int source_unmap(void *address, size_t bytes)
{
    return refuses() ? -1 : munmap(address, bytes);
}

static int source_protect(void *address, size_t bytes, int protection)
{
    return refuses() ? -1 : mprotect(address, bytes, protection);
}

static int signal_at_advice; /* to be raised then */

static int source_advise(void *address, size_t bytes, int advice)
{
    if (signal_at_advice != 0)
        (void)raise(signal_at_advice);
    return refuses() ? -1 : madvise(address, bytes, advice);
}

static void *source_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return refuses() ? MAP_FAILED : mremap(from, from_bytes, to_bytes, flags, to);
}

static const struct sj_page_source source = { source_map, source_unmap, source_protect, source_advise, source_move };

/* --- Helpers. --- */

static void set_limits(struct sj_hold hold)
{
    sj__release_set(&hold);
}

static struct sj_hold usual_limits(void)
{
    struct sj_hold hold = SJ_HOLD_DEFAULT;
    hold.release_ms = AGE_MS;
    return hold;
}

static void start_over(void)
{
    calls_allowed = UINT64_MAX;
    (void)sj_malloc_trim(0);
    set_limits(usual_limits());
    now_ms += 1;
    sj__pass_run(); /* the change of limits made one due */
}

static size_t held_bytes(void)
{
    struct sj_run_bytes runs;
    sj__run_read_bytes(&runs);
    return sj_run_held_bytes(&runs);
}

static bool is_resident(void *block, size_t bytes)
{
    unsigned char pages[4096];
    size_t resident = 0;
    if (mincore(block, bytes, pages) != 0)
        return false;
    for (size_t i = 0; i < bytes / PAGE; i++)
        resident += pages[i] & 1;
    return resident > 0;
}

static void *make(size_t bytes)
{
    void *block = sj_malloc(bytes);
    CHECK(block != NULL);
    return block != NULL ? memset(block, 0xa5, bytes) : NULL;
}

/* --- Ages. --- */

static void release_clock__gives_kept_block_back_when_old_and_not_before(void)
{
    start_over();
    void *block = make(BLOCK_BYTES);
    sj_free(block);
    CHECK_EQ(sj__cache_bytes(), BLOCK_BYTES);
    now_ms += AGE_MS - 1;
    CHECK(!sj_release_is_due());
    CHECK(is_resident(block, BLOCK_BYTES));
    now_ms += 1;
    CHECK(sj_release_is_due());
    sj_free(make(100 * PAGE)); /* a slow path */
    CHECK(!is_resident(block, BLOCK_BYTES));
    /* The address stays: the block is kept, cold. */
    struct sj_cache_counts before, after;
    bool rests = sj__sealed.settings.policy.delay != SJ_DELAY_LIFO; /* then a block waits for another of its size */
    sj__cache_read_counts(&before);
    void *other = make(BLOCK_BYTES);
    sj_free(other);
    sj__cache_read_counts(&after);
    CHECK(rests || other == block);
    CHECK_EQ(after.cold_hits, before.cold_hits + (rests ? 0 : 1));
}

static void release_clock__gives_run_back_when_old(void)
{
    start_over();
    struct sj_hold hold = usual_limits();
    hold.cache_max_count = 0;
    set_limits(hold);
    sj__pass_run();
    void *block = make(BLOCK_BYTES);
    sj_free(block);
    CHECK(held_bytes() >= BLOCK_BYTES);
    now_ms += AGE_MS - 1;
    CHECK(!sj_release_is_due());
    now_ms += 1;
    CHECK(sj_release_is_due());
    sj__pass_run();
    CHECK_EQ(held_bytes(), 0);
    CHECK(!is_resident(block, BLOCK_BYTES));
}

static void release_clock__gives_idle_slab_back_when_old(void)
{
    enum { BLOCKS = 300, BYTES = 1000 };
    static void *blocks[BLOCKS];
    struct sj_stats before, after;
    start_over();
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = make(BYTES);
    for (unsigned i = 0; i < BLOCKS; i++)
        sj_free(blocks[i]);
    CHECK_EQ(sj_stats_read(&before), 0);
    now_ms += AGE_MS;
    CHECK(sj_release_is_due());
    sj__pass_run();
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.slabs, before.slabs - 1);
    CHECK_EQ(after.free_held_bytes, 0);
}

static void release_clock__does_nothing_when_never(void)
{
    start_over();
    struct sj_hold hold = usual_limits();
    hold.release_ms = -1;
    set_limits(hold);
    sj__pass_run();
    sj_free(make(BLOCK_BYTES));
    now_ms += (uint64_t)1 << 40;
    CHECK(!sj_release_is_due());
    CHECK(sj__cache_bytes() > 0);
}

static void release_clock__gives_back_at_once_when_zero(void)
{
    start_over();
    struct sj_hold hold = usual_limits();
    hold.release_ms = 0;
    set_limits(hold);
    sj_free(make(BLOCK_BYTES));
    CHECK_EQ(sj__cache_bytes(), 0);
    CHECK_EQ(held_bytes(), 0);
}

static void release_clock__goes_on_when_a_pass_was_too_small(void)
{
    enum { BLOCKS = 16 };
    void *blocks[BLOCKS];
    start_over();
    struct sj_hold hold = usual_limits();
    hold.release_max_bytes = 2 * BLOCK_BYTES;
    set_limits(hold);
    sj__pass_run();
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = make(BLOCK_BYTES);
    for (unsigned i = 0; i < BLOCKS; i++)
        sj_free(blocks[i]);
    now_ms += AGE_MS;
    unsigned passes = 0;
    for (size_t left = sj__cache_bytes() + held_bytes(); sj_release_is_due() && passes < 100; passes++) {
        sj__pass_run();
        size_t still = sj__cache_bytes() + held_bytes();
        CHECK(left - still <= 3 * BLOCK_BYTES);
        left = still;
    }
    CHECK(passes >= BLOCKS / 3);
    CHECK_EQ(sj__cache_bytes() + held_bytes(), 0);
}

/* Each class keeps an empty slab: more than a pass may give back. */
static void release_clock__goes_on_when_idle_slabs_were_too_many(void)
{
    enum { SIZES = 12, BLOCKS = 1000, SLAB_MAX_BYTES = 512 << 10 };
    static void *blocks[BLOCKS];
    struct sj_pass_counts before, after;
    start_over();
    struct sj_hold hold = usual_limits();
    hold.release_max_bytes = 0; /* as few as there can be: 64 KiB */
    set_limits(hold);
    sj__pass_run();
    for (unsigned i = 0; i < SIZES; i++) {
        for (unsigned j = 0; j < BLOCKS; j++)
            blocks[j] = make(1024 + i * 512);
        for (unsigned j = 0; j < BLOCKS; j++)
            sj_free(blocks[j]);
    }
    /* With delay=quarantine a slot may wait in the one slab that a class has left. */
    CHECK(sj_load_relaxed_u32(&sj__heap_current->idle_slabs) >= SIZES / 2);
    now_ms += AGE_MS;
    unsigned passes = 0;
    for (; sj_release_is_due() && passes < 100; passes++) {
        sj__pass_read_counts(&before);
        sj__pass_run();
        sj__pass_read_counts(&after);
        CHECK(after.slab_bytes - before.slab_bytes < (64 << 10) + SLAB_MAX_BYTES);
    }
    NOTE("%u passes", passes);
    CHECK(passes > 2);
    CHECK_EQ(sj_load_relaxed_u32(&sj__heap_current->idle_slabs), 0);
}

/* --- Limits that are lowered. --- */

static uint64_t kept_after_a_slow_path(void)
{
    struct sj_cache_counts counts;
    sj_free(make(1024 * PAGE)); /* no kept block is as large, and neither will this be */
    sj__cache_read_counts(&counts);
    return counts.kept_blocks;
}

static void keep_some(bool cold)
{
    enum { BLOCKS = 6 };
    void *blocks[BLOCKS];
    start_over();
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = make(BLOCK_BYTES);
    for (unsigned i = 0; i < BLOCKS; i++)
        sj_free(blocks[i]);
    now_ms += cold ? AGE_MS : 0;
    sj__pass_run();
    struct sj_hold hold = usual_limits();
    hold.release_ms = -1;
    hold.cache_max_entry_bytes = BLOCK_BYTES;
    set_limits(hold);
    CHECK(kept_after_a_slow_path() >= BLOCKS);
}

static void release_limits__empty_the_cache_when_lowered_to_nothing(void)
{
    for (unsigned cold = 0; cold < 2; cold++) {
        keep_some(cold);
        CHECK_EQ(sj_ctl("cache_max_bytes", "0", NULL, 0), 0);
        CHECK_EQ(kept_after_a_slow_path(), 0);
        keep_some(cold);
        CHECK_EQ(sj__control_mallopt(-200, 0), 1);
        CHECK_EQ(kept_after_a_slow_path(), 0);
    }
}

static void release_limits__bound_free_runs_when_lowered(void)
{
    start_over();
    struct sj_hold hold = usual_limits();
    hold.release_ms = -1;
    hold.cache_max_count = 0;
    set_limits(hold);
    sj_free(make(BLOCK_BYTES));
    CHECK(held_bytes() >= BLOCK_BYTES);
    CHECK_EQ(sj_ctl("hold_max_bytes", "100k", NULL, 0), 0);
    (void)kept_after_a_slow_path();
    CHECK_EQ(held_bytes(), 0);
}

/* --- The kernel. --- */

static volatile sig_atomic_t forked_well;

static void fork_in_handler(int number)
{
    int status = -1;
    signal_at_advice = 0;
    pid_t child = fork();
    if (child == 0) {
        sj_free(sj_malloc(100000));
        _exit(number == SIGUSR1 ? 0 : 1);
    }
    forked_well = waitpid(child, &status, 0) == child && status == 0;
}

/* In a child. */
static _Noreturn void run_pass_with_signal(void)
{
    struct sigaction action = { .sa_handler = fork_in_handler };
    (void)sigaction(SIGUSR1, &action, NULL);
    sj_free(make(BLOCK_BYTES));
    now_ms += AGE_MS;
    signal_at_advice = SIGUSR1;
    sj__pass_run();
    _exit(forked_well && signal_at_advice == 0 ? 0 : 1);
}

/* The signal waits until the pass has let go of its lock. */
/* Near what the system allows, the pages of closed slabs go back in the call that comes near it: they could not serve it. */
static void release_pressure__takes_the_pages_that_size_classes_keep(void)
{
    enum { BLOCKS = 20000 };
    static void *blocks[BLOCKS];
    struct sj_run_bytes runs;
    size_t records, mapped;
    start_over();
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = make(200);
    for (unsigned i = 0; i < BLOCKS; i++)
        sj_free(blocks[i]);
    sj__run_read_bytes(&runs);
    if (runs.set_aside == 0)
        SKIP("size classes keep no places at this level");
    size_t kept = runs.set_aside;
    sj__arena_bytes(&records, &mapped);
    size_t all = runs.taken + runs.set_aside + sj_run_held_bytes(&runs) + records;
    sj__release_set_allowance((all + 4 * MIB) / 7 * 8); /* an eighth is left free */
    set_limits(usual_limits());
    sj_free(make(1 * MIB)); /* passes by */
    sj__run_read_bytes(&runs);
    CHECK(runs.set_aside >= kept);
    void *large = sj_malloc(64 * MIB);
    sj__run_read_bytes(&runs);
    CHECK_EQ(runs.set_aside, 0);
    sj_free(large);
    sj__release_set_allowance(UINT64_MAX);
    start_over();
}

static void release_clock__lets_a_handler_fork_when_it_comes_within(void)
{
    enum { ROUNDS = 3000 };
    int status = -1;
    start_over();
    pid_t child = fork();
    if (child == 0)
        run_pass_with_signal();
    unsigned round = 0;
    while (waitpid(child, &status, WNOHANG) == 0 && round++ < ROUNDS)
        (void)usleep(10000);
    if (round >= ROUNDS) { /* it waits for its own lock, with signals blocked */
        (void)kill(child, SIGKILL);
        (void)waitpid(child, &status, 0);
    }
    CHECK_EQ(status, 0);
}

static void release_clock__is_due_a_second_after_a_refusal(void)
{
    start_over();
    struct sj_hold hold = usual_limits();
    hold.release_ms = 5 * AGE_MS;
    set_limits(hold);
    sj__pass_run();
    sj_free(make(BLOCK_BYTES));
    now_ms += 5 * AGE_MS;
    calls_allowed = calls;
    sj__pass_run();
    CHECK_EQ(sj_load_relaxed_u64(&sj__release_due_ms), now_ms + 1000);
}

static void release_cache__makes_no_calls_when_blocks_come_and_go(void)
{
    start_over();
    for (unsigned i = 0; i < 4; i++)
        sj_free(make(800000));
    uint64_t before = calls;
    for (unsigned i = 0; i < 100000; i++) {
        char *block = sj_malloc(800000);
        block[i % 800000] = 1;
        sj_free(block);
        now_ms += i % 100 == 0;
    }
    NOTE("%llu calls", (unsigned long long)(calls - before));
    CHECK(calls - before < 100);
}

/* Every call of the kernel is the first one it refuses, in turn: nothing crashes, memory is what it must be, and the
 * ledger adds up. */
static void release_clock__stands_refusal_when_at_any_call(void)
{
    struct sj_stats stats;
    for (uint64_t allowed = 0; allowed < 40; allowed++) {
        void *blocks[8];
        start_over();
        for (unsigned i = 0; i < 8; i++)
            blocks[i] = make(BLOCK_BYTES + (i & 1) * PAGE);
        calls_allowed = calls + allowed;
        for (unsigned i = 0; i < 8; i++)
            sj_free(blocks[i]);
        for (unsigned i = 0; i < 10; i++) {
            now_ms += AGE_MS;
            sj__pass_run();
        }
        for (unsigned i = 0; i < 8; i++) {
            unsigned char *block = sj_calloc(1, BLOCK_BYTES);
            if (block == NULL)
                continue;
            for (size_t at = 0; at < BLOCK_BYTES; at += 512)
                CHECK_EQ(block[at], 0);
            sj_free(block);
        }
        CHECK_EQ(sj_stats_read(&stats), 0);
        CHECK_EQ(stats.freed_bytes,
                 stats.scrubbed_at_free + stats.scrubbed_at_reuse + stats.scrubbed_by_kernel + stats.owed_bytes);
    }
    start_over();
}

/* --- The model. --- */

enum { LIVE_MAX = 24, STEPS = 30000 };

/* Random blocks of a few sizes come and go while time passes. After each pass: no kept block may be warm that has been free
 * for AGE_MS, so the cache and the runs hold at most what was freed since. */
static void release_clock__holds_only_what_is_young_when_random(void)
{
    struct {
        unsigned char *start;
        size_t bytes;
    } live[LIVE_MAX] = { 0 };
    static struct {
        uint64_t ms;
        size_t bytes;
    } freed[STEPS];
    unsigned freed_count = 0, young = 0;
    uint64_t state = unit_state.seed;
    start_over();
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned slot = (unsigned)unit_random_below(&state, LIVE_MAX);
        now_ms += unit_random_below(&state, 8) == 0 ? unit_random_below(&state, 200) : 0;
        if (live[slot].start != NULL) {
            CHECK_EQ(live[slot].start[0], slot + 1);
            sj_free(live[slot].start);
            live[slot].start = NULL;
            freed[freed_count].ms = now_ms;
            freed[freed_count++].bytes = live[slot].bytes;
        } else {
            live[slot].bytes = (9 + unit_random_below(&state, 12) * unit_random_below(&state, 12)) * PAGE;
            live[slot].start = sj_malloc(live[slot].bytes);
            if (!CHECK(live[slot].start != NULL))
                return;
            if (sj__sealed.settings.policy.scrub != SJ_SCRUB_OFF)
                CHECK_EQ(live[slot].start[0] | live[slot].start[live[slot].bytes - 1], 0);
            live[slot].start[0] = live[slot].start[live[slot].bytes - 1] = (unsigned char)(slot + 1);
        }
        if (sj_release_is_due())
            sj__pass_run();
        size_t young_bytes = 0;
        while (young < freed_count && freed[young].ms + AGE_MS <= now_ms)
            young++;
        for (unsigned i = young; i < freed_count; i++)
            young_bytes += freed[i].bytes + SJ_GRANULE_BYTES;
        CHECK(sj__cache_bytes() <= young_bytes);
    }
    for (unsigned slot = 0; slot < LIVE_MAX; slot++)
        sj_free(live[slot].start);
    now_ms += AGE_MS;
    sj__pass_run();
    CHECK_EQ(sj__cache_bytes() + held_bytes(), 0);
    CHECK(!sj_release_is_due());
}

/* What goes into the books comes out of them: gaps of known length fall into their bucket, and holding is bytes x time. */
static void release_books__show_gaps_and_holding_when_known(void)
{
    struct sj_cache_counts before, after;
    start_over();
    void *a = make(BLOCK_BYTES), *b = make(BLOCK_BYTES);
    sj__cache_read_counts(&before);
    sj_free(a);
    sj_free(b);
    now_ms += 100;
    void *c = make(BLOCK_BYTES); /* held 100 ms: bucket 7, from 64 ms to 128 ms */
    now_ms += 50;                /* one block is left for another 50 ms */
    sj__cache_read_counts(&after);
    CHECK_EQ(after.hits - before.hits, 1);
    CHECK_EQ(after.books.gap_count[7] - before.books.gap_count[7], 1);
    CHECK_EQ(after.books.gap_bytes[7] - before.books.gap_bytes[7], BLOCK_BYTES);
    CHECK_EQ(after.books.held_byte_ms - before.books.held_byte_ms, (uint64_t)BLOCK_BYTES * (2 * 100 + 50));
    sj_free(c);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    sj_free(sj_malloc(1));
    sj__clock_set_source(test_clock);
    sj__pages_set_source(&source);
    RUN(release_clock__gives_kept_block_back_when_old_and_not_before);
    RUN(release_clock__gives_run_back_when_old);
    RUN(release_clock__gives_idle_slab_back_when_old);
    RUN(release_clock__does_nothing_when_never);
    RUN(release_clock__gives_back_at_once_when_zero);
    RUN(release_clock__goes_on_when_a_pass_was_too_small);
    RUN(release_clock__goes_on_when_idle_slabs_were_too_many);
    RUN(release_limits__empty_the_cache_when_lowered_to_nothing);
    RUN(release_limits__bound_free_runs_when_lowered);
    RUN(release_pressure__takes_the_pages_that_size_classes_keep);
    RUN(release_clock__lets_a_handler_fork_when_it_comes_within);
    RUN(release_clock__is_due_a_second_after_a_refusal);
    RUN(release_cache__makes_no_calls_when_blocks_come_and_go);
    RUN(release_books__show_gaps_and_holding_when_known);
    RUN(release_clock__holds_only_what_is_young_when_random);
    RUN(release_clock__stands_refusal_when_at_any_call);
    return unit_end();
}
