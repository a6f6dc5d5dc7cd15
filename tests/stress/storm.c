/* SPDX-License-Identifier: MIT */
/*
 * What: all that a process can go through, at once: threads that trade blocks, come, go and are cancelled, destructors in
 * several rounds, signals a thousand times a second whose handlers allocate and jump out, fork, vfork, posix_spawn, exec,
 * libraries loaded and unloaded.
 *
 * Why this way: each of these is tested alone elsewhere; what they do to each other shows only together. A handler allocates
 * where its thread is outside the allocator, as a careful program's does, so no report is a fair answer.
 * Blocks carry tags, and at the end the heap is checked whole. The program is built twice:
 * on the prefixed names, for the sanitizers, and on the plain ones, where loader and C library use the heap too. A short run
 * is a number of rounds; a long one goes on for SJ_TEST_SECONDS. ThreadSanitizer knows no
 * threads after a fork, and none in the last round of destructors, in which the heap may have ended: neither is there.
 *
 * Invariants: each block made is freed exactly once, also by those who are cancelled, jump or exec; each child ends with 0.
 *
 * Concurrency: the pool is shared under a mutex, and a fork comes between loads; no handler takes these. All else belongs to
 * a thread.
 */
#include "support/calls.h"
#include "support/tagged.h"
#include "unit/unit.h"

#ifdef SJ_TEST_PLAIN
extern int sj_check(size_t) __attribute__((weak));
enum { FORKS = 1, DESTRUCTOR_ROUNDS = 4 };
#else
#include "base/compiler.h"
/* A sanitizer may hold locks of its own when another thread forks, and the child never gets them. */
enum { FORKS = !SJ_UNDER_TSAN && !SJ_UNDER_ASAN, DESTRUCTOR_ROUNDS = SJ_UNDER_TSAN ? 2 : 4 };
#endif

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { TRADERS = 3, POOL = 512, IN_HANDLER = 8, ROUNDS = 30, CHILD_SECONDS = 60 };

extern char **environ;
extern void *__dso_handle; /* of this program */
extern int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library) __attribute__((weak));

struct trader {
    pthread_t thread;
    uint64_t random;
    uint64_t handler_random;
    void *of_handler[IN_HANDLER];
    volatile sig_atomic_t is_outside; /* of the allocator: its handler may allocate, */
    sigjmp_buf *volatile way_out;     /* and jump here */
};

static struct model_calls calls;
static struct trader traders[TRADERS];
static _Thread_local struct trader *trader_here;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static void *pool[POOL];
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER; /* the loader does not take care of forks by itself */
static pthread_key_t key;
static _Thread_local int rounds_of_destructors;
static atomic_bool no_more_signals, over;
static atomic_ulong handled, jumped, cancelled, children, libraries;
static double until;

static void *make(uint64_t *random)
{
    uint64_t kind = unit_random_below(random, 100);
    return tagged_make(&calls, TAGGED_LEAST + unit_random_below(random, kind < 80 ? 400 : kind < 98 ? 8000 : 200000));
}

static void end(void *block)
{
    tagged_end(&calls, block);
}

static void set_outside(bool is_outside)
{
    if (trader_here != NULL)
        trader_here->is_outside = is_outside;
}

/* A block for one that another thread may have made. */
static void trade(uint64_t *random)
{
    void *block = make(random);
    size_t at = unit_random_below(random, POOL);
    set_outside(true);
    pthread_mutex_lock(&pool_lock);
    set_outside(false);
    void *other = pool[at];
    pool[at] = block;
    pthread_mutex_unlock(&pool_lock);
    end(other);
}

/* --- Signals. --- */

static void handle(int number)
{
    (void)number;
    int saved_errno = errno;
    struct trader *me = trader_here;
    if (me == NULL || !me->is_outside)
        return;
    for (unsigned i = 0; i < 4; i++) {
        size_t at = unit_random_below(&me->handler_random, IN_HANDLER);
        end(me->of_handler[at]);
        me->of_handler[at] = make(&me->handler_random);
    }
    atomic_fetch_add(&handled, 1);
    errno = saved_errno;
    if (me->way_out != NULL)
        siglongjmp(*me->way_out, 1);
}

static void *send_signals(void *argument)
{
    uint64_t random = unit_state.seed + 5;
    while (!atomic_load(&no_more_signals)) {
        usleep(1000);
        pthread_kill(traders[unit_random_below(&random, TRADERS)].thread, SIGUSR1);
    }
    return argument;
}

static void wait_outside(struct trader *me, bool may_jump)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 1) == 0) {
        me->way_out = may_jump ? &here : NULL;
        set_outside(true);
        for (volatile unsigned i = 0; i < 30000; i++)
            continue;
    } else {
        atomic_fetch_add(&jumped, 1);
    }
    set_outside(false);
    me->way_out = NULL;
}

static void *trade_on(void *argument)
{
    struct trader *me = argument;
    trader_here = me;
    while (!atomic_load(&over)) {
        for (unsigned i = 0; i < 100; i++)
            trade(&me->random);
        wait_outside(me, unit_random_below(&me->random, 2) == 0);
    }
    for (unsigned i = 0; i < IN_HANDLER; i++)
        end(me->of_handler[i]);
    return NULL;
}

/* --- Threads that come and go. --- */

static void at_thread_end(void *block)
{
    uint64_t random = (uintptr_t)block;
    end(block);
    if (rounds_of_destructors-- > 0)
        pthread_setspecific(key, make(&random));
}

static void *live_shortly(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    rounds_of_destructors = (int)unit_random_below(&random, DESTRUCTOR_ROUNDS + 1);
    pthread_setspecific(key, make(&random));
    if (__cxa_thread_atexit_impl != NULL)
        __cxa_thread_atexit_impl(end, make(&random), &__dso_handle);
    pthread_cleanup_push(end, make(&random));
    for (unsigned i = 0; i < 60; i++)
        trade(&random); /* with a request to end pending, often: no call of the allocator may act on it */
    pthread_testcancel();
    pthread_cleanup_pop(1);
    return NULL;
}

static void *start_threads(void *argument)
{
    enum { AT_ONCE = 4 };
    uint64_t random = unit_state.seed + 1;
    for (unsigned round = 0; round < ROUNDS || unit_now_seconds() < until; round++) {
        pthread_t threads[AT_ONCE];
        for (unsigned i = 0; i < AT_ONCE; i++)
            if (!CHECK_EQ(pthread_create(&threads[i], NULL, live_shortly, (void *)(uintptr_t)unit_random(&random)), 0))
                return NULL;
        for (unsigned i = 0; i < AT_ONCE; i += 2)
            pthread_cancel(threads[i]);
        for (unsigned i = 0; i < AT_ONCE; i++) {
            void *result = NULL;
            pthread_join(threads[i], &result);
            CHECK(result == NULL || result == PTHREAD_CANCELED);
            atomic_fetch_add(&cancelled, result == PTHREAD_CANCELED);
        }
    }
    return argument;
}

/* --- Children. --- */

static int work_in_child(uint64_t random)
{
    pthread_t thread;
    alarm(CHILD_SECONDS); /* for a lock that nobody will give back */
    for (unsigned i = 0; i < 300; i++)
        end(make(&random));
    if (!CHECK_EQ(pthread_create(&thread, NULL, live_shortly, (void *)(uintptr_t)random), 0))
        return 1;
    pthread_join(thread, NULL);
    return (int)unit_failed();
}

static char *const program[] = { (char *)(uintptr_t) "storm", NULL };

/* A child must not exit: another thread may have held the C library's lock of exit handlers at the fork. */
static pid_t fork_and_work(uint64_t *random)
{
    void *inherited = make(random);
    pthread_mutex_lock(&pool_lock);
    pthread_mutex_lock(&loading);
    pid_t child = fork();
    pthread_mutex_unlock(&loading);
    pthread_mutex_unlock(&pool_lock);
    if (child == 0) {
        end(inherited);
        int status = work_in_child(*random);
        if (status == 0 && *random % 3 == 0)
            execv("/proc/self/exe", program);
        _exit(status);
    }
    end(inherited);
    return child;
}

static pid_t start_child(unsigned round, uint64_t *random)
{
    pid_t child = -1;
    if (round % 4 == 0)
        CHECK_EQ(posix_spawn(&child, "/proc/self/exe", NULL, NULL, program, environ), 0);
    else if (round % 4 != 2)
        child = fork_and_work(random);
    else if ((child = vfork()) == 0) {
        execv("/proc/self/exe", program);
        _exit(9);
    }
    return child;
}

static void *start_children(void *argument)
{
    uint64_t random = unit_state.seed + 2;
    for (unsigned round = 0; FORKS && (round < ROUNDS || unit_now_seconds() < until); round++) {
        pid_t child = start_child(round, &random);
        int status = -1;
        while (waitpid(child, &status, 0) != child && errno == EINTR)
            continue;
        if (!CHECK_EQ(status, 0))
            break;
        atomic_fetch_add(&children, 1);
    }
    return argument;
}

/* --- Libraries. --- */

static void *load(void *name)
{
    pthread_mutex_lock(&loading);
    void *library = dlopen(name, RTLD_NOW);
    pthread_mutex_unlock(&loading);
    if (library == NULL)
        return NULL;
    atomic_fetch_add(&libraries, 1);
    end(tagged_make(&calls, 1000));
    pthread_mutex_lock(&loading);
    CHECK_EQ(dlclose(library), 0);
    pthread_mutex_unlock(&loading);
    return NULL;
}

static void *load_libraries(void *argument)
{
    static char names[][20] = { "libstdc++.so.6", "libz.so.1", "libresolv.so.2", "libsqlite3.so.0" };
    enum { NAMES = sizeof names / sizeof names[0] };
    for (unsigned round = 0; round < ROUNDS || unit_now_seconds() < until; round++) {
        pthread_t thread;
        if (!CHECK_EQ(pthread_create(&thread, NULL, load, names[round % NAMES]), 0))
            break;
        load(names[(round + 1) % NAMES]);
        pthread_join(thread, NULL);
    }
    return argument;
}

/* --- All of it. --- */

static void start_traders(void)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    sigaction(SIGUSR1, &action, NULL);
    for (unsigned i = 0; i < TRADERS; i++) {
        traders[i] = (struct trader){ .random = unit_state.seed * 31 + i, .handler_random = unit_state.seed * 37 + i };
        REQUIRE(pthread_create(&traders[i].thread, NULL, trade_on, &traders[i]) == 0);
    }
}

static void stress_storm__leaves_all_whole(void)
{
    static void *(*const weather[])(void *) = { start_threads, start_children, load_libraries };
    enum { WEATHER = sizeof weather / sizeof weather[0] };
    pthread_t threads[WEATHER], sender;
    until = unit_now_seconds() + (unit_budget_seconds(2) > 10 ? unit_budget_seconds(2) : 0);
    REQUIRE(pthread_key_create(&key, at_thread_end) == 0);
    start_traders();
    REQUIRE(!unit_failed() && pthread_create(&sender, NULL, send_signals, NULL) == 0);
    for (unsigned i = 0; i < WEATHER; i++)
        REQUIRE(pthread_create(&threads[i], NULL, weather[i], NULL) == 0);
    for (unsigned i = 0; i < WEATHER; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&no_more_signals, true);
    pthread_join(sender, NULL);
    atomic_store(&over, true);
    for (unsigned i = 0; i < TRADERS; i++)
        pthread_join(traders[i].thread, NULL);
    for (unsigned i = 0; i < POOL; i++)
        end(pool[i]);
#ifdef SJ_TEST_PLAIN
    CHECK(sj_check == NULL || sj_check(0) == 1);
#else
    CHECK_EQ(sj_check(0), 1);
#endif
    unit_print("# %lu handlers, %lu of them left by a jump; %lu threads cancelled, %lu children, %lu libraries\n",
               handled, jumped, cancelled, children, libraries);
    CHECK(children > 0 || !FORKS);
}

int main(int argc, char **argv)
{
    bool is_child = getenv("SJ_STORM_CHILD") != NULL;
    calls = calls_under_test();
    if (is_child)
        return pthread_key_create(&key, at_thread_end) != 0 || work_in_child((uint64_t)getpid());
    unit_begin(argc, argv);
    setenv("SJ_STORM_CHILD", "1", 1);
    RUN(stress_storm__leaves_all_whole);
    return unit_end();
}
