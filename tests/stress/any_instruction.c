/* SPDX-License-Identifier: MIT */
/*
 * What: a stretch of calls, interrupted between any two instructions: by a handler that allocates and frees, by one that
 * forks, and by a fork of another thread.
 *
 * Why this way: a signal that comes by a clock falls into long stretches, and hardly ever between the two instructions that
 * matter. Here the processor's trap flag raises SIGTRAP after each instruction, so that every place of the stretch is
 * reached, once and on purpose. At a place that is visited a child is made by the bare system call, of which the library
 * hears nothing: in it the handler does its work, returns, and the stretch goes on to its end, where the blocks and the
 * whole heap are checked. So each visit begins with a heap that no other has touched. Signals that the library holds back
 * don't count as able to come. A fork of another thread waits for the locks of this one, so it gets what they leave it.
 * A short run visits few places of one stretch, others for each seed; a long one goes from stretch to stretch.
 *
 * Invariants: a child ends with 0, but a handler that allocates where shared locks may be held (SJ_INSIDE_SPANS) may also get
 * SJ-009. SJ_TEST_SEED repeats blocks and sizes, though not what the library itself draws.
 *
 * Concurrency: this thread steps; another waits to fork when told.
 */
#include "support/calls.h"
#include "support/tagged.h"
#include "unit/unit.h"

#include "base/compiler.h"
#include "heap/heap.h"
#include "scrubjay.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#if defined(__x86_64__) && !SJ_UNDER_ASAN && !SJ_UNDER_TSAN

enum { HELD = 24, OF_HANDLER = 6, REMOTE = 60, CALLS = 12, TRAP_FLAG = 0x100, CHILD_SECONDS = 60 };

enum visit { ALLOCATE, FORK, FORK_ELSEWHERE, VISIT_KINDS };

static struct model_calls calls;
static void *held[HELD], *of_handler[OF_HANDLER], *remote[REMOTE];
static uint64_t stretch_random;
static enum visit visit_kind;
static unsigned long instructions, visit_at, step, visits, reported; /* of the run under way */
static unsigned long instructions_most; /* no traps after so many: a trap takes 10 microseconds */
static bool in_a_child;                 /* made by a visit: what follows is its last stretch */
static pid_t grandchild;
static atomic_int fork_wanted; /* 1: fork now; 2: done; 3: end */

static void *make(uint64_t *random)
{
    uint64_t kind = unit_random_below(random, 100);
    return tagged_make(&calls, TAGGED_LEAST + unit_random_below(random, kind < 70 ? 500 : kind < 95 ? 5000 : 60000));
}

static void end(void *block)
{
    tagged_end(&calls, block);
}

static void renew(void **block, uint64_t *random)
{
    end(*block);
    *block = make(random);
}

static int wait_for(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) != child && errno == EINTR)
        continue;
    return status;
}

/* All that lives is whole, and can go. */
static bool check_and_end_all(void)
{
    for (unsigned i = 0; i < HELD; i++)
        end(held[i]);
    for (unsigned i = 0; i < OF_HANDLER; i++)
        end(of_handler[i]);
    CHECK_EQ(sj_check(0), 1);
    return !unit_failed();
}

/* --- Another thread. --- */

static void *make_remote(void *unused)
{
    uint64_t random = stretch_random + 9;
    for (unsigned i = 0; i < REMOTE; i++)
        remote[i] = make(&random);
    return unused;
}

/* Frees what the stepping thread has made for it, so that there is something to fold. */
static void *free_remote(void *unused)
{
    for (unsigned i = 0; i < REMOTE; i++)
        end(remote[i]);
    return unused;
}

static int use_heap_in_child(void)
{
    uint64_t random = unit_state.seed;
    alarm(CHILD_SECONDS);
    for (unsigned i = 0; i < OF_HANDLER; i++)
        renew(&of_handler[i], &random);
    for (unsigned i = 0; i < 200; i++)
        end(make(&random));
    CHECK_EQ(sj_check(0), 1);
    return (int)unit_failed();
}

static void *fork_when_told(void *unused)
{
    for (int wanted; (wanted = atomic_load(&fork_wanted)) != 3; sched_yield()) {
        if (wanted != 1)
            continue;
        pid_t child = fork();
        if (child == 0)
            _exit(use_heap_in_child());
        CHECK(child < 0 || wait_for(child) == 0);
        atomic_store(&fork_wanted, 2);
    }
    return unused;
}

/* --- Visits: in the handler of SIGTRAP. --- */

static void allocate_in_handler(void)
{
    uint64_t random = unit_state.seed ^ instructions;
    for (unsigned i = 0; i < OF_HANDLER; i++)
        renew(&of_handler[i], &random);
}

/* Whether the report at this place of fd 2 is SJ-009. */
static bool says_recursion(off_t from)
{
    char text[64] = "";
    ssize_t length = pread(STDERR_FILENO, text, sizeof text - 1, from);
    bool good = length > 0 && strncmp(text, "scrubjay: SJ-009 ", 17) == 0;
    if (!good)
        unit_print("# it said: %s\n", text);
    return good;
}

static void judge(pid_t child, bool may_report, off_t said_before)
{
    int status = wait_for(child);
    bool reports = may_report && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && says_recursion(said_before);
    reported += reports;
    if (!reports && !CHECK_EQ(status, 0))
        unit_print("# visit %d at instruction %lu\n", (int)visit_kind, instructions);
}

/* In a child of its own; returns there into the stretch, with no more traps. */
static void visit_by_handler(ucontext_t *context)
{
    bool may_report = visit_kind == ALLOCATE && sj__heap_inside == SJ_INSIDE_SPANS;
    off_t said_before = lseek(STDERR_FILENO, 0, SEEK_CUR);
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child != 0) {
        if (child > 0) /* else the machine is short of something */
            judge(child, may_report, said_before);
        return;
    }
    alarm(CHILD_SECONDS);
    in_a_child = true;
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    if (visit_kind == ALLOCATE)
        allocate_in_handler();
    else
        grandchild = fork();
}

/* It gets some time to be done with it while this thread stands still; at the latest it is when the stretch goes on. */
static void visit_by_thread(void)
{
    atomic_store(&fork_wanted, 1);
    for (unsigned i = 0; i < 50 && atomic_load(&fork_wanted) == 1; i++)
        sched_yield();
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    int saved_errno = errno;
    ucontext_t *here = context;
    if (visit_kind == FORK_ELSEWHERE && atomic_load(&fork_wanted) == 1)
        sched_yield();
    bool is_due = ++instructions >= visit_at;
    bool can_come =
        visit_kind == FORK_ELSEWHERE ? atomic_load(&fork_wanted) != 1 : sigismember(&here->uc_sigmask, SIGUSR1) == 0;
    if (is_due && can_come) {
        visit_at = instructions + step;
        visits++;
        if (visit_kind == FORK_ELSEWHERE)
            visit_by_thread();
        else
            visit_by_handler(here);
    }
    if (instructions >= instructions_most)
        here->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    errno = saved_errno;
}

/* Switches the traps on or off for the thread that raises it. */
static void on_switch(int number, siginfo_t *info, void *context)
{
    (void)info;
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    *flags = number == SIGUSR2 ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
}

/* --- The stretch. --- */

static void stretch(void)
{
    uint64_t random = stretch_random;
    bool has_label = unit_random_below(&random, 3) == 0 && sj_label_push("stretch") == 0;
    for (unsigned i = 0; i < CALLS; i++) {
        size_t at = unit_random_below(&random, HELD);
        if (unit_random_below(&random, 8) == 0)
            calls.free(calls.calloc(1, unit_random_below(&random, 5000)));
        renew(&held[at], &random);
    }
    if (unit_random_below(&random, 6) == 0)
        calls.trim(0);
    if (has_label)
        sj_label_pop();
}

static void prepare(void)
{
    pthread_t thread;
    uint64_t random = stretch_random;
    make_remote(NULL);
    for (unsigned i = 0; i < HELD; i++)
        held[i] = make(&random);
    for (unsigned i = 0; i < OF_HANDLER; i++)
        of_handler[i] = make(&random);
    if (CHECK_EQ(pthread_create(&thread, NULL, free_remote, NULL), 0))
        pthread_join(thread, NULL);
}

/* In a child of a visit: ends here, with all that it has left checked. */
static void end_child(void)
{
    bool good = check_and_end_all();
    if (grandchild > 0) /* it may have failed */
        good = wait_for(grandchild) == 0 && good;
    _exit(!good);
}

static void step_through(unsigned long first, unsigned long every)
{
    instructions = 0;
    visit_at = first;
    step = every;
    prepare();
    raise(SIGUSR2);
    stretch();
    raise(SIGUSR1);
    if (in_a_child)
        end_child();
    while (atomic_load(&fork_wanted) == 1)
        sched_yield();
    check_and_end_all();
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
    sigaction(number, &action, NULL);
}

static void visit_all(enum visit kind)
{
    double budget = unit_budget_seconds(2), until = unit_now_seconds() + budget / VISIT_KINDS;
    bool is_long = budget > 10;
    unsigned long every = is_long ? 25 : 250, places = 0;
    instructions_most = is_long ? ULONG_MAX : 10000;
    handle(SIGTRAP, on_trap);
    handle(SIGUSR1, on_switch);
    handle(SIGUSR2, on_switch);
    visit_kind = kind;
    stretch_random = unit_state.seed;
    visits = reported = 0;
    do {
        step_through(1 + unit_random_below(&stretch_random, every), every);
        places += instructions;
    } while (is_long && !unit_failed() && unit_now_seconds() < until);
    unit_print("# %lu of %lu places visited, %lu ended in SJ-009\n", visits, places, reported);
    CHECK(visits > 0);
}

static void any_instruction__may_be_followed_by_a_handler_that_allocates(void)
{
    visit_all(ALLOCATE);
}

static void any_instruction__may_be_followed_by_a_handler_that_forks(void)
{
    visit_all(FORK);
}

static void any_instruction__may_be_followed_by_a_fork_of_another_thread(void)
{
    pthread_t forker;
    REQUIRE(pthread_create(&forker, NULL, fork_when_told, NULL) == 0);
    visit_all(FORK_ELSEWHERE);
    atomic_store(&fork_wanted, 3);
    pthread_join(forker, NULL);
}

/* The program again, with a file as fd 2 from the start: reports go nowhere else. */
static int run_with_reports_in_a_file(char **argv)
{
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)unit_state.seed);
    setenv("SJ_TEST_SEED", seed, 1);
    setenv("SJ_ANY_INSTRUCTION", "1", 1);
    int file = memfd_create("reports", 0);
    if (file < 0 || dup2(file, STDERR_FILENO) < 0)
        return 1;
    execv("/proc/self/exe", argv);
    return 1;
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    if (getenv("SJ_ANY_INSTRUCTION") == NULL)
        return run_with_reports_in_a_file(argv);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    calls = calls_under_test();
    RUN(any_instruction__may_be_followed_by_a_handler_that_allocates);
    RUN(any_instruction__may_be_followed_by_a_handler_that_forks);
    RUN(any_instruction__may_be_followed_by_a_fork_of_another_thread);
    return unit_end();
}

#else

int main(void)
{
    unit_print("no trap flag here, or a sanitizer's own code would be stepped through\n");
    return 77;
}

#endif
