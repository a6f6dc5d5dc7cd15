/* SPDX-License-Identifier: MIT
 *
 * What: a raise of the level, looked at from inside: when the sealed page is open, how threads settle, what the call that
 * carries a request out returns.
 *
 * Why this way: a request is written into the control block as another process would write it, so that the moment at which it
 * is served is known to the call. The page source is replaced by one that watches the sealed page. A raise can't be undone, so
 * each test is a child process.
 *
 * Invariants: starts at level 1, whatever the environment says.
 *
 * Concurrency: threads wait for one another; the main thread looks.
 */
#include "unit/inside.h"

#include "front/entry.h"
#include "front/live.h"
#include "front/slow.h"
#include "report/control_block.h"
#include "report/report.h"
#include "scrubjay.h"
#include "span/release.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#define OPTIONS "level=1"

enum { SLOT_BYTES = 48, LARGE_BYTES = 200000, BLOCKS = 400, CALLS_MOST = 2000, SECONDS_MOST = 60 };

static void in_child(void (*test)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_MOST);
        test();
        _exit((int)unit_failed());
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static void ask(enum sj_command command, uint64_t number)
{
    struct sj_control *control = &sj__control_page.control;
    uint64_t sequence = sj_load_relaxed_u64(&control->request.sequence) + 7;
    control->request.command = command;
    control->request.number = number;
    control->request.checksum = sj_control_checksum(sequence, command, number);
    sj_store_release_u64(&control->request.sequence, sequence); /* pairs with the load of who serves */
    sj__release_lower_due(SJ_DUE_BY_LIMITS);
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static void leave_dirty(size_t size_bytes, size_t count)
{
    static void *blocks[BLOCKS];
    for (size_t i = 0; i < count; i++) {
        blocks[i] = sj_malloc(size_bytes);
        if (!CHECK(blocks[i] != NULL))
            _exit(1);
        memset(blocks[i], 0xee, size_bytes);
    }
    for (size_t i = 0; i < count; i++)
        sj_free(blocks[i]);
}

/* Has a raise to level 2 served by a call of `allocate`, and looks at what that call has returned. */
static void check_serving_call(void *(*allocate)(size_t), size_t size_bytes)
{
    ask(SJ_COMMAND_LEVEL, 2);
    for (int calls = 0; calls < CALLS_MOST && sj_control_block_is_pending(); calls++) {
        const unsigned char *block = allocate(size_bytes);
        if (!sj_control_block_is_pending())
            CHECK(block != NULL && is_zero(block, size_bytes));
    }
    CHECK_EQ(sj_load_relaxed_u32(&sj__control_page.control.level), 2);
}

static void *aligned(size_t size_bytes)
{
    return sj_aligned_alloc(16, size_bytes);
}

static void serve_by_malloc(void)
{
    leave_dirty(SLOT_BYTES, BLOCKS);
    check_serving_call(sj_malloc, SLOT_BYTES);
}

static void serve_by_aligned(void)
{
    leave_dirty(SLOT_BYTES, BLOCKS);
    (void)sj_malloc(SLOT_BYTES); /* its bin has slots now */
    check_serving_call(aligned, SLOT_BYTES);
}

static void serve_by_large(void)
{
    leave_dirty(LARGE_BYTES, 20);
    check_serving_call(sj_malloc, LARGE_BYTES);
}

static void front_live__call_that_serves_a_raise_returns_clean_memory(void)
{
    in_child(serve_by_malloc);
    in_child(serve_by_aligned);
    in_child(serve_by_large);
}

static void watch_faults(void)
{
    struct sigaction now = { 0 };
    (void)sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    ask(SJ_COMMAND_LEVEL, 3);
    for (int calls = 0; calls < CALLS_MOST && sj_control_block_is_pending(); calls++)
        (void)sj_malloc(SLOT_BYTES);
    REQUIRE(sigaction(SIGSEGV, NULL, &now) == 0);
    CHECK((now.sa_flags & SA_SIGINFO) != 0);
}

/* Started without what could fault, so that no handler is there before. */
static void front_live__request_for_a_level_brings_the_fault_handler(void)
{
    check_under("level=0");
}

/* ---- The sealed page --------------------------------------------------------------------------------------------- */

static bool page_is_open;
static unsigned calls_while_open, seals_to_refuse;

static void note_call(void)
{
    calls_while_open += page_is_open;
}

static void *watched_map(void *address, size_t bytes, int protection, int flags)
{
    note_call();
    return mmap(address, bytes, protection, flags, -1, 0);
}

static int watched_unmap(void *address, size_t bytes)
{
    note_call();
    return munmap(address, bytes);
}

static int watched_protect(void *address, size_t bytes, int protection)
{
    bool is_seal = address == (void *)&sj__sealed && protection == PROT_READ;
    if (is_seal && seals_to_refuse > 0) {
        seals_to_refuse--;
        errno = ENOMEM;
        return -1;
    }
    if (address == (void *)&sj__sealed)
        page_is_open = !is_seal;
    else
        note_call();
    return mprotect(address, bytes, protection);
}

static int watched_advise(void *address, size_t bytes, int advice)
{
    note_call();
    return madvise(address, bytes, advice);
}

static void *watched_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    note_call();
    return mremap(from, from_bytes, to_bytes, flags, to);
}

static const struct sj_page_source watched = { watched_map, watched_unmap, watched_protect, watched_advise,
                                               watched_move };

static void open_no_longer_than_needed(void)
{
    leave_dirty(LARGE_BYTES, 20); /* what a raise gives back */
    sj__pages_set_source(&watched);
    CHECK_EQ(sj__live_raise(3), 0);
    CHECK(!page_is_open);
    CHECK_EQ(calls_while_open, 0);
    CHECK_EQ(sj_load_relaxed_u32(&sj__control_page.control.unsealed), 0);
}

static void refused_once(void)
{
    sj__pages_set_source(&watched);
    seals_to_refuse = 1;
    CHECK_EQ(sj__live_raise(2), 0);
    CHECK(!page_is_open);
    CHECK_EQ(sj_load_relaxed_u32(&sj__control_page.control.unsealed), 0);
}

static void refused_for_good(void)
{
    char said[2048] = "";
    int ends[2];
    REQUIRE(pipe(ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 &&
            dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    sj__report_start(); /* that is where warnings go */
    sj__pages_set_source(&watched);
    seals_to_refuse = UINT32_MAX;
    CHECK_EQ(sj__live_raise(2), 0);
    CHECK(page_is_open);
    CHECK_EQ(sj_load_relaxed_u32(&sj__control_page.control.unsealed), 1);
    CHECK(read(ends[0], said, sizeof said - 1) > 0);
    CHECK(strstr(said, "stays writable") != NULL);
}

static void front_live__sealed_page_is_open_for_the_write_only(void)
{
    if (sj__page_bytes() > SJ_SEALED_PAGE_BYTES)
        SKIP("it is not sealed where pages are larger");
    in_child(open_no_longer_than_needed);
    in_child(refused_once);
    in_child(refused_for_good);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static pthread_barrier_t meeting;

static bool raise_waits(void)
{
    return sj_load_relaxed_u32(&sj__control_page.control.waiting) != 0;
}

/* Slow paths of all kinds; the raise should be over after a few. */
static void check_finishes(void)
{
    for (int calls = 0; calls < CALLS_MOST && raise_waits(); calls++)
        sj_free(sj_malloc((size_t)calls % 3000 + 1));
    CHECK(!raise_waits());
}

static void *idle_through_raise(void *argument)
{
    sj_free(sj_malloc(SLOT_BYTES)); /* has a heap */
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    return argument;
}

static void *refill_after_raise(void *argument)
{
    sj_free(sj_malloc(SLOT_BYTES));
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    for (int i = 0; i < BLOCKS; i++)
        (void)sj__slow_malloc(SLOT_BYTES); /* as one that was called before the raise */
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    return argument;
}

/* Raises the level while the thread waits between its first two meetings, and settles this one. */
static pthread_t raise_beside(void *(*run)(void *))
{
    pthread_t thread;
    if (!CHECK(pthread_barrier_init(&meeting, NULL, 2) == 0 && pthread_create(&thread, NULL, run, NULL) == 0))
        _exit(1);
    pthread_barrier_wait(&meeting);
    CHECK_EQ(sj__live_raise(2), 0);
    leave_dirty(SLOT_BYTES, BLOCKS);
    CHECK(raise_waits());
    return thread;
}

static void last_one_ends(void)
{
    pthread_t thread = raise_beside(idle_through_raise);
    pthread_barrier_wait(&meeting);
    pthread_join(thread, NULL);
    check_finishes();
}

static void last_one_refills(void)
{
    pthread_t thread = raise_beside(refill_after_raise);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    check_finishes();
    pthread_barrier_wait(&meeting);
    pthread_join(thread, NULL);
}

static void child_has_no_others(void)
{
    pthread_t thread = raise_beside(idle_through_raise);
    in_child(check_finishes);
    CHECK(raise_waits());
    pthread_barrier_wait(&meeting);
    pthread_join(thread, NULL);
}

static void front_live__raise_is_over_when_the_last_thread_is_settled_or_gone(void)
{
    in_child(last_one_ends);
    in_child(last_one_refills);
    in_child(child_has_no_others);
}

static void *take_slow_paths(void *argument)
{
    for (int i = 0; i < BLOCKS; i++)
        sj_free(sj_malloc((size_t)i % 3000 + 1));
    return argument;
}

static void others_go_on(void)
{
    pthread_t thread;
    sj__live_lock_for_fork(); /* as if this thread served */
    ask(SJ_COMMAND_COUNTERS, 0);
    REQUIRE(pthread_create(&thread, NULL, take_slow_paths, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK(sj_control_block_is_pending());
    sj__live_unlock_after_fork(false);
    (void)take_slow_paths(NULL);
    CHECK(!sj_control_block_is_pending());
}

static void front_live__slow_paths_do_not_wait_for_who_serves(void)
{
    in_child(others_go_on);
}

int main(int argc, char **argv)
{
    if (unit_child_options() != NULL) {
        watch_faults();
        return (int)unit_failed();
    }
    run_under(OPTIONS, argv);
    unit_begin(argc, argv);
    RUN(front_live__call_that_serves_a_raise_returns_clean_memory);
    RUN(front_live__request_for_a_level_brings_the_fault_handler);
    RUN(front_live__sealed_page_is_open_for_the_write_only);
    RUN(front_live__raise_is_over_when_the_last_thread_is_settled_or_gone);
    RUN(front_live__slow_paths_do_not_wait_for_who_serves);
    return unit_end();
}
