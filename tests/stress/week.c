/* SPDX-License-Identifier: MIT */
/*
 * What: a week of a server's memory, in seconds: how much of what is resident the program has a use for.
 *
 * Why this way: fragmentation comes of days of blocks of changing sizes and ages, so the clock of the release, which has a seam for
 * tests, is driven by the operations: each of them moves it on by a part of the week. Two loads: a store of keys that are
 * overwritten, expire and are driven out at a limit, while the sizes of values shift from day to day, as in redis; and requests
 * with bursts of small blocks, sessions of hours and a cache of pages, by threads that free one another's, as behind a web
 * server, with few users at night. Live bytes are what was asked for; resident ones are the kernel's, less those of before.
 *
 * Invariants: each hour is looked at. After the first day live bytes are on the average at least LEAST_PERCENT of the resident
 * ones for requests. For stores the bounds are what must not get worse, and below what is wished: doc/reliability.md has the figures.
 * Blocks carry their address and size.
 *
 * Concurrency: the threads of the second load take turns under a mutex.
 */
#include "support/calls.h"
#include "support/process.h"
#include "support/tagged.h"
#include "unit/unit.h"

#include "platform/clock.h"
#include "platform/pages.h"

#include <pthread.h>
#include <sched.h>

enum {
    HOURS = 24 * 7,
    HOUR_MS = 3600 * 1000,
    MIB = 1 << 20,
    LEAST_PERCENT = 70,
    LEAST_PERCENT_STORE = 50,
    LEAST_PERCENT_LEAPING = 45,
    WORKERS = 4
};

static const bool counts_memory = !SJ_UNDER_ASAN && !SJ_UNDER_TSAN;

static struct model_calls calls;
static uint64_t now_ms = HOUR_MS; /* of the week */
static size_t live_bytes, base_bytes, hour_operations;
static double live_sum, resident_sum, worst;

static uint64_t read_clock(void)
{
    return __atomic_load_n(&now_ms, __ATOMIC_RELAXED);
}

static void move_clock(uint64_t ms)
{
    __atomic_store_n(&now_ms, now_ms + ms, __ATOMIC_RELAXED);
}

struct block {
    void *bytes;
    size_t count;
};

static void make(struct block *block, size_t count)
{
    block->count = count < TAGGED_LEAST ? TAGGED_LEAST : count;
    block->bytes = tagged_make(&calls, block->count);
    if (block->bytes == NULL)
        exit(1);
    memset((char *)block->bytes + 16, 0x5a, block->count / 8 * 8 - 24); /* a program writes what it stores */
    live_bytes += block->count;
}

static void end(struct block *block)
{
    if (block->bytes == NULL)
        return;
    live_bytes -= block->count;
    tagged_end(&calls, block->bytes);
    block->bytes = NULL;
}

/* Most are near `usual`, some are many times as large. */
static size_t size_around(uint64_t *random, size_t usual)
{
    uint64_t kind = unit_random_below(random, 1000);
    size_t most = kind < 800 ? usual : kind < 985 ? 8 * usual : 128 * usual;
    return most / 4 + unit_random_below(random, most);
}

/* At the end of each hour. */
static void look(unsigned hour)
{
    size_t resident = (size_t)resident_bytes() - base_bytes;
    if (hour < 24)
        return;
    live_sum += (double)live_bytes;
    resident_sum += (double)resident;
    double percent = 100 * (double)live_bytes / (double)resident;
    worst = percent < worst ? percent : worst;
    if (hour % 24 == 12 || hour % 24 == 0)
        NOTE("hour %u: live %zu KiB of %zu KiB, %.0f %%", hour, live_bytes / 1024, resident / 1024, percent);
}

/* Each in a process of its own: what one has left free would be the next one's. */
static void in_child(void (*week)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        week();
        _exit((int)unit_failed());
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

static void begin_week(void *tables, size_t bytes)
{
    memset(tables, 0, bytes); /* resident before it is counted */
    hour_operations = (size_t)(unit_budget_seconds(2) * (counts_memory ? 4000 : 300));
    live_bytes = 0;
    live_sum = resident_sum = 0;
    worst = 1000;
    sj__clock_set_source(read_clock);
    base_bytes = (size_t)resident_bytes();
}

static void end_week(double least_percent)
{
    double percent = 100 * live_sum / resident_sum;
    unit_print("# of %.1f MiB resident on the average %.1f %% live, at the worst hour %.1f %%\n",
               resident_sum / (HOURS - 24) / MIB, percent, worst);
    CHECK(!counts_memory || percent >= least_percent);
    sj__clock_set_source(NULL);
}

/* Each hour has as many operations as the next, and the clock goes on evenly. */
static void in_each_hour(void (*operate)(unsigned hour, uint64_t *random))
{
    uint64_t random = unit_state.seed;
    for (unsigned hour = 0; hour < HOURS && !unit_failed(); hour++) {
        for (size_t i = 0; i < hour_operations; i++) {
            operate(hour, &random);
            move_clock(HOUR_MS / hour_operations + 1);
        }
        look(hour);
    }
}

/* ---- A store of keys --------------------------------------------------------------------------------------------- */

enum { KEYS = 1 << 18, STORE_BYTES = 64 * MIB };

static struct store {
    struct block key, entry, value, buffer;
} store[KEYS];

/* What most values are about, each day of the week. */
static const size_t drifting[] = { 100, 130, 90, 150, 120, 180, 110 }, leaping[] = { 64, 200, 48, 500, 120, 1000, 100 };
static const size_t *usual_values;

static void drop(struct store *item)
{
    end(&item->key);
    end(&item->entry);
    end(&item->value);
}

static void use_store(unsigned hour, uint64_t *random)
{
    struct store *item = &store[unit_random_below(random, KEYS)];
    uint64_t kind = unit_random_below(random, 100);
    if (kind < 10) { /* it expires */
        drop(item);
    } else if (kind < 15) { /* a client's buffer */
        end(&item->buffer);
        make(&item->buffer, 16384);
        end(&item->buffer);
    } else {
        end(&item->value);
        make(&item->value, size_around(random, usual_values[hour / 24]));
        if (item->key.bytes == NULL) {
            make(&item->key, 24 + unit_random_below(random, 40));
            make(&item->entry, 40);
        }
    }
    while (live_bytes > STORE_BYTES)
        drop(&store[unit_random_below(random, KEYS)]);
}

static void week_of_a_store(void)
{
    begin_week(store, sizeof store);
    in_each_hour(use_store);
    for (size_t i = 0; i < KEYS; i++)
        drop(&store[i]);
    CHECK_EQ(live_bytes, 0);
    end_week(usual_values == drifting ? LEAST_PERCENT_STORE : LEAST_PERCENT_LEAPING);
}

static void week__of_a_store_leaves_most_of_what_is_resident_in_use(void)
{
    usual_values = drifting;
    in_child(week_of_a_store);
}

static void week__of_a_store_whose_sizes_leap_leaves_what_other_allocators_do(void)
{
    usual_values = leaping;
    in_child(week_of_a_store);
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

enum { SESSIONS = 20000, PAGES = 1500, BURST = 60, SESSION_BLOCKS = 4 };

static struct session {
    struct block blocks[SESSION_BLOCKS];
} sessions[SESSIONS];
static struct block pages[PAGES];

/* A tenth of the users at night. */
static size_t users(unsigned hour)
{
    unsigned from_noon = hour % 24 > 14 ? hour % 24 - 14 : 14 - hour % 24;
    return SESSIONS - SESSIONS * 9 / 10 * (from_noon < 12 ? from_noon : 12) / 12;
}

static void serve_request(unsigned hour, uint64_t *random)
{
    struct block burst[BURST] = { { NULL, 0 } };
    size_t count = 1 + unit_random_below(random, BURST);
    struct session *session = &sessions[unit_random_below(random, users(hour))];
    for (size_t i = 0; i < count; i++) {
        make(&burst[i], size_around(random, 100));
        if (unit_random_below(random, 3) == 0)
            end(&burst[unit_random_below(random, i + 1)]);
        if (i == count / 2 && unit_random_below(random, 4) == 0) {
            struct block *kept = &session->blocks[unit_random_below(random, SESSION_BLOCKS)];
            end(kept);
            make(kept, size_around(random, 400));
        }
    }
    if (unit_random_below(random, 20) == 0) {
        struct block *page = &pages[unit_random_below(random, PAGES)];
        end(page);
        make(page, size_around(random, 8000));
    }
    for (size_t i = 0; i < count; i++)
        end(&burst[i]);
    struct session *idle = &sessions[unit_random_below(random, SESSIONS)];
    if ((size_t)(idle - sessions) >= users(hour) || unit_random_below(random, 4) == 0)
        for (unsigned i = 0; i < SESSION_BLOCKS; i++)
            end(&idle->blocks[i]);
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static unsigned turns; /* hours times WORKERS that are done */

static void *work(void *argument)
{
    uint64_t random = unit_state.seed + (uint64_t)(uintptr_t)argument;
    for (bool goes_on = true; goes_on;) {
        pthread_mutex_lock(&turn);
        const unsigned hour = turns / WORKERS;
        goes_on = hour < HOURS && !unit_failed();
        if (goes_on && turns % WORKERS == (uintptr_t)argument) {
            for (size_t i = 0; i < hour_operations / WORKERS / 8; i++) {
                serve_request(hour, &random);
                move_clock(8 * HOUR_MS / hour_operations + 1);
            }
            turns++;
            if (turns % WORKERS == 0)
                look(hour);
        }
        pthread_mutex_unlock(&turn);
        sched_yield();
    }
    return NULL;
}

static void week_of_requests(void)
{
    pthread_t workers[WORKERS];
    memset(sessions, 0, sizeof sessions);
    begin_week(pages, sizeof pages);
    turns = 0;
    for (uintptr_t i = 0; i < WORKERS; i++)
        REQUIRE(pthread_create(&workers[i], NULL, work, (void *)i) == 0);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    for (size_t i = 0; i < SESSIONS; i++)
        for (unsigned k = 0; k < SESSION_BLOCKS; k++)
            end(&sessions[i].blocks[k]);
    for (size_t i = 0; i < PAGES; i++)
        end(&pages[i]);
    CHECK_EQ(live_bytes, 0);
    end_week(LEAST_PERCENT);
}

static void week__of_requests_leaves_most_of_what_is_resident_in_use(void)
{
    in_child(week_of_requests);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    calls = calls_under_test();
    RUN(week__of_a_store_leaves_most_of_what_is_resident_in_use);
    RUN(week__of_a_store_whose_sizes_leap_leaves_what_other_allocators_do);
    RUN(week__of_requests_leaves_most_of_what_is_resident_in_use);
    return unit_end();
}
