/* SPDX-License-Identifier: MIT */
/*
 * What: fork while threads churn, fork handlers that allocate, children that use and free what they inherited.
 * Why this way: each child has an alarm, so a lock that was taken over the fork shows as a death by SIGALRM.
 */
#include "unit/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { CHURNERS = 3, HELD = 128 };

static atomic_bool stop_churning;

static void churn_once(void **held, uint64_t *random)
{
    size_t slot = unit_random_below(random, HELD);
    size_t size = unit_random_below(random, 20) == 0 ? 100000 : unit_random_below(random, 3000);
    free(held[slot]);
    held[slot] = malloc(size);
    if (held[slot] != NULL && size > 0)
        memset(held[slot], 1, size < 64 ? size : 64);
}

static void *churn(void *seed)
{
    void *held[HELD] = { NULL };
    uint64_t random = (uintptr_t)seed;
    while (!atomic_load(&stop_churning))
        churn_once(held, &random);
    for (int i = 0; i < HELD; i++)
        free(held[i]);
    return NULL;
}

static void start_churners(pthread_t *threads)
{
    atomic_store(&stop_churning, false);
    for (uintptr_t i = 0; i < CHURNERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
}

static void stop_churners(pthread_t *threads)
{
    atomic_store(&stop_churning, true);
    for (int i = 0; i < CHURNERS; i++)
        pthread_join(threads[i], NULL);
}

static int wait_for(pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return status;
}

/* What a child does: all calls work, inherited blocks are whole and can be freed. */
static int use_heap_in_child(unsigned char **inherited, size_t count)
{
    void *held[HELD] = { NULL };
    uint64_t random = (uint64_t)getpid();
    alarm(10);
    for (size_t i = 0; i < count; i++) {
        if (inherited[i][0] != (unsigned char)i || inherited[i][99] != (unsigned char)i)
            return 10;
        if (i % 2 == 0)
            free(inherited[i]);
        else
            free(realloc(inherited[i], 300));
    }
    for (int i = 0; i < 300; i++)
        churn_once(held, &random);
    free(aligned_alloc(4096, 10000));
    free(calloc(100, 100));
    return 0;
}

static void fork_child__can_use_heap_when_threads_churn(void)
{
    enum { BLOCKS = 40 };
    double end = unit_now_seconds() + unit_budget_seconds(3);
    pthread_t threads[CHURNERS];
    unsigned forks = 0;
    start_churners(threads);
    do {
        unsigned char *blocks[BLOCKS];
        for (size_t i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(100);
            memset(blocks[i], (int)i, 100);
        }
        pid_t child = fork();
        if (child == 0)
            _exit(use_heap_in_child(blocks, BLOCKS));
        int status = wait_for(child);
        if (!CHECK_EQ(status, 0))
            break;
        for (size_t i = 0; i < BLOCKS; i++)
            free(blocks[i]);
        forks++;
    } while (forks < 3000 && unit_now_seconds() < end);
    stop_churners(threads);
    unit_print("# %u forks\n", forks);
}

static void fork_child__can_start_threads_when_parent_had_some(void)
{
    pthread_t threads[CHURNERS];
    start_churners(threads);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t own[CHURNERS];
            alarm(10);
            start_churners(own);
            usleep(2000);
            stop_churners(own);
            exit((int)unit_failed());
        }
        CHECK_EQ(wait_for(child), 0);
    }
    stop_churners(threads);
}

static void fork_of_forks__works_when_nested(void)
{
    void *block = malloc(1000);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        for (int depth = 0; depth < 12; depth++) {
            free(malloc(5000));
            pid_t next = fork();
            if (next != 0)
                _exit(wait_for(next) == 0 ? 0 : 1);
        }
        free(block);
        _exit(0);
    }
    CHECK_EQ(wait_for(child), 0);
    free(block);
}

static atomic_int handler_calls;
static void *handler_block;

static void in_handler(void)
{
    free(handler_block);
    handler_block = malloc(700);
    free(malloc(100000));
    free(calloc(10, 10));
    atomic_fetch_add(&handler_calls, 1);
}

static void fork_handlers__may_allocate(void)
{
    pthread_t threads[CHURNERS];
    CHECK_EQ(pthread_atfork(in_handler, in_handler, in_handler), 0);
    start_churners(threads);
    for (int i = 0; i < 200; i++) {
        alarm(20);
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            free(malloc(10));
            _exit(0);
        }
        if (!CHECK_EQ(wait_for(child), 0))
            break;
    }
    alarm(0);
    stop_churners(threads);
    CHECK(atomic_load(&handler_calls) >= 400);
}

static void in_signal(int number)
{
    static void *held[64];
    static unsigned next;
    (void)number;
    int saved_errno = errno;
    for (int i = 0; i < 40; i++, next++) {
        free(held[next % 64]);
        held[next % 64] = malloc(next * 977 % 3000 + 1);
    }
    errno = saved_errno;
}

static pid_t wait_through_signals(pid_t child)
{
    pid_t ended;
    while ((ended = waitpid(child, NULL, 0)) < 0 && errno == EINTR)
        ;
    return ended;
}

static void fork_under_signals(void)
{
    struct sigaction action = { .sa_handler = in_signal, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 150 }, { 0, 150 } };
    double end = unit_now_seconds() + unit_budget_seconds(2);
    alarm(30);
    sigfillset(&action.sa_mask); /* the handler is not made to interrupt itself */
    sigdelset(&action.sa_mask, SIGALRM);
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    sigaction(SIGUSR1, &action, NULL);
    while (unit_now_seconds() < end) {
        pid_t parent = getpid();
        pid_t pest = fork(); /* a timer alone has the resolution of the clock's tick */
        for (int i = 0; pest == 0 && i < 2000; i++)
            kill(parent, SIGUSR1);
        if (pest == 0)
            _exit(0);
        for (int i = 0; i < 20; i++) {
            pid_t child = fork();
            if (child == 0)
                _exit(0);
            CHECK_EQ(wait_through_signals(child), child);
        }
        CHECK_EQ(wait_through_signals(pest), pest);
    }
}

static void fork__does_not_wait_for_itself_when_signal_handlers_allocate(void)
{
    pid_t child = fork();
    if (child == 0) {
        fork_under_signals();
        _exit((int)unit_failed());
    }
    CHECK_EQ(wait_for(child), 0);
}

static void fork__keeps_the_signal_mask(void)
{
    sigset_t before, parent, mine;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, &mine);
    pid_t child = fork();
    pthread_sigmask(SIG_SETMASK, NULL, &parent);
    if (child == 0)
        _exit(sigismember(&parent, SIGUSR2) != 1 || sigismember(&parent, SIGUSR1) != 0);
    CHECK_EQ(wait_for(child), 0);
    CHECK(sigismember(&parent, SIGUSR2) == 1 && sigismember(&parent, SIGUSR1) == 0);
    pthread_sigmask(SIG_SETMASK, &mine, NULL);
}

static void vfork_child__leaves_heap_whole(void)
{
    for (int i = 0; i < 50; i++) {
        void *block = malloc(100);
        pid_t child = vfork();
        if (child == 0)
            _exit(0);
        CHECK_EQ(wait_for(child), 0);
        free(block);
        CHECK_EQ(system("true"), 0);
    }
}

/* What addresses a child picks: a short hash of the order in which slots are handed out. */
static uint64_t picks(void)
{
    uint64_t hash = 0;
    char *first = malloc(200);
    for (int i = 0; i < 48; i++)
        hash = hash * 1099511628211ull + (uint64_t)((char *)malloc(200) - first);
    return hash;
}

static void fork_children__pick_differently_when_random(void)
{
    char text[1024] = "";
    extern size_t sj_policy_text(char *, size_t) __attribute__((weak));
    if (sj_policy_text != NULL)
        sj_policy_text(text, sizeof text);
    if (strstr(text, "random=on") == NULL)
        SKIP("the policy in force is not random");
    uint64_t seen[8];
    for (int i = 0; i < 8; i++) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            uint64_t hash = picks();
            _exit(write(ends[1], &hash, sizeof hash) == sizeof hash ? 0 : 1);
        }
        CHECK_EQ(wait_for(child), 0);
        CHECK_EQ(read(ends[0], &seen[i], sizeof seen[i]), sizeof seen[i]);
        close(ends[0]);
        close(ends[1]);
    }
    int equal = 0;
    for (int i = 1; i < 8; i++)
        equal += seen[i] == seen[0];
    CHECK(equal == 0);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(fork_child__can_use_heap_when_threads_churn);
    RUN(fork_child__can_start_threads_when_parent_had_some);
    RUN(fork_of_forks__works_when_nested);
    RUN(vfork_child__leaves_heap_whole);
    RUN(fork__does_not_wait_for_itself_when_signal_handlers_allocate);
    RUN(fork__keeps_the_signal_mask);
    RUN(fork_children__pick_differently_when_random);
    RUN(fork_handlers__may_allocate);
    return unit_end();
}
