/* SPDX-License-Identifier: MIT */
/*
 * What: one run of all kinds of calls, repeated with each of its system calls for memory failing in turn: the first, the
 * second, ... and in a second round each of them and all that follow.
 *
 * Why this way: the page source is replaced by one that counts. A run is a child process with a fixed stream, so the Nth call
 * is the same call each time as long as none fails. What may happen is NULL with ENOMEM; contents, alignment, zeroes and
 * cleanness must hold as ever, and at the end all that is live can be freed. A first child without failures says how
 * many calls there are.
 *
 * Invariants: a child ends with 0, or the call number is printed: SJ_TEST_CALL=N repeats that one.
 *
 * Concurrency: one thread a child.
 */
#include "inside.h"
#include "support/calls.h"
#include "unit/unit.h"

enum { HELD = 200, ROUNDS = 2500, CALLS_MAX = 100000 };

static unsigned long calls_made, fail_at;
static bool fail_rest;

static bool fails(void)
{
    calls_made++;
    if (fail_at == 0 || calls_made < fail_at || (!fail_rest && calls_made > fail_at))
        return false;
    errno = ENOMEM;
    return true;
}

static void *failing_map(void *address, size_t bytes, int protection, int flags)
{
    return fails() ? MAP_FAILED : mmap(address, bytes, protection, flags, -1, 0);
}

static int failing_unmap(void *address, size_t bytes)
{
    return fails() ? -1 : munmap(address, bytes);
}

static int failing_protect(void *address, size_t bytes, int protection)
{
    return fails() ? -1 : mprotect(address, bytes, protection);
}

static int failing_advise(void *address, size_t bytes, int advice)
{
    return fails() ? -1 : madvise(address, bytes, advice);
}

static void *failing_move(void *from, size_t from_bytes, size_t to_bytes, int flags, void *to)
{
    return fails() ? MAP_FAILED : mremap(from, from_bytes, to_bytes, flags, to);
}

static const struct sj_page_source failing = { failing_map, failing_unmap, failing_protect, failing_advise,
                                               failing_move };

static bool all_equal(const unsigned char *bytes, size_t count, unsigned char value)
{
    return count == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static unsigned char *resize(unsigned char *block, size_t old_bytes, size_t bytes, unsigned char mark)
{
    errno = 0;
    unsigned char *moved = sj_realloc(block, bytes);
    CHECK(moved != NULL || errno == ENOMEM);
    const unsigned char *now = moved != NULL ? moved : block;
    CHECK(block == NULL || all_equal(now, old_bytes < bytes ? old_bytes : bytes, mark));
    if (moved == NULL)
        sj_free(block);
    return moved;
}

static unsigned char *make(unsigned kind, size_t bytes, bool clean)
{
    errno = 0;
    unsigned char *block = kind == 1 ? sj_calloc(1, bytes) : kind == 2 ? sj_memalign(512, bytes) : sj_malloc(bytes);
    CHECK(block != NULL || errno == ENOMEM);
    CHECK(block == NULL || kind != 2 || (uintptr_t)block % 512 == 0);
    CHECK(block == NULL || (kind != 1 && !clean) || all_equal(block, bytes, 0));
    return block;
}

static void work(void)
{
    static unsigned char *held[HELD];
    static size_t sizes[HELD];
    bool clean = calls_promise_clean_memory();
    uint64_t random = 42;
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t slot = unit_random_below(&random, HELD), kind = unit_random_below(&random, 40);
        size_t bytes = unit_random_below(&random, kind == 0 ? 4000000 : kind < 10 ? 60000 : 1500) + 1;
        unsigned char mark = (unsigned char)(slot | 1);
        CHECK(held[slot] == NULL || all_equal(held[slot], sizes[slot], mark));
        if (i % 4 == 0) {
            held[slot] = resize(held[slot], sizes[slot], bytes, mark);
        } else {
            sj_free(held[slot]);
            held[slot] = make(i % 4, bytes, clean);
        }
        sizes[slot] = held[slot] != NULL ? bytes : 0;
        if (held[slot] != NULL)
            memset(held[slot], mark, bytes);
        if (i % 500 == 499)
            sj_malloc_trim(0);
    }
    for (size_t slot = 0; slot < HELD; slot++) {
        CHECK(held[slot] == NULL || all_equal(held[slot], sizes[slot], (unsigned char)(slot | 1)));
        sj_free(held[slot]);
    }
}

/* Runs a child in which call `at` fails (0: none), and with `rest` all after it; how many calls it made, in *made. */
static bool survives(unsigned long at, bool rest, unsigned long *made)
{
    int ends[2], status = -1;
    *made = 0;
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        fail_at = at;
        fail_rest = rest;
        sj__pages_set_source(&failing);
        work();
        ssize_t written = write(ends[1], &calls_made, sizeof calls_made);
        _exit(written == (ssize_t)sizeof calls_made ? (int)unit_failed() : 9);
    }
    close(ends[1]);
    bool told = read(ends[0], made, sizeof *made) == (ssize_t)sizeof *made;
    close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && told;
}

/* All of them in a long run; in a short one a part, another for each seed. */
static unsigned long step_for(unsigned long calls)
{
    const char *text = getenv("SJ_TEST_SECONDS");
    bool all = text != NULL && strtoul(text, NULL, 10) > 10;
    return all ? 1 : calls / (SJ_UNDER_ASAN ? 8 : 50) + 1;
}

static void fail_each(bool rest)
{
    const char *one = getenv("SJ_TEST_CALL");
    unsigned long calls = 0, made = 0, tried = 0;
    REQUIRE(survives(0, false, &calls));
    REQUIRE(calls > 0 && calls < CALLS_MAX);
    unsigned long step = step_for(calls);
    unsigned long first = one != NULL ? strtoul(one, NULL, 10) : 1 + unit_state.seed % step;
    for (unsigned long at = first; at <= (one != NULL ? first : calls); at += step, tried++)
        if (!CHECK(survives(at, rest, &made)))
            unit_print("# call %lu of %lu failing%s; repeat it with SJ_TEST_CALL=%lu\n", at, calls,
                       rest ? ", and all after it" : "", at);
    unit_print("# %lu of %lu calls made to fail\n", tried, calls);
}

static void front_failing_calls__leave_all_as_it_was_when_one_fails(void)
{
    fail_each(false);
}

static void front_failing_calls__leave_all_as_it_was_when_all_fail_from_there(void)
{
    fail_each(true);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(front_failing_calls__leave_all_as_it_was_when_one_fails);
    RUN(front_failing_calls__leave_all_as_it_was_when_all_fail_from_there);
    return unit_end();
}
