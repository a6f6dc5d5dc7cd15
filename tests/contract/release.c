/* SPDX-License-Identifier: MIT */
/*
 * What: memory that goes back: after a peak of 300 MB, of large blocks and of 400,000 small ones, the process is small
 * again after ten slow paths, at once when trimmed, and with tick=on without any call.
 * Why this way: each case is this program started again with options of its own. What is asserted is resident memory and
 * counts; where time must pass the test waits for the state, as long as it takes, up to a minute.
 */
#include "unit/unit.h"

#include "scrubjay.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, LARGE_BLOCKS = 300, SMALL_BLOCKS = 400000, SMALL_BYTES = 200, WAIT_ROUNDS = 1200 };

static void *blocks[SMALL_BLOCKS];

/* Without a call that allocates. */
static long resident(void)
{
    char text[128] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    const char *second = length > 0 ? strchr(text, ' ') : NULL;
    return second != NULL ? strtol(second, NULL, 10) * sysconf(_SC_PAGESIZE) : -1;
}

static void nap(void)
{
    (void)usleep(50000);
}

static void make_and_free(size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        blocks[i] = memset(malloc(bytes), 1, bytes);
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
}

static void peak(bool large)
{
    if (large)
        make_and_free(LARGE_BLOCKS, MIB);
    else
        make_and_free(SMALL_BLOCKS, SMALL_BYTES);
}

static long records(void)
{
    struct sj_stats stats;
    CHECK_EQ(sj_stats_read(&stats), 0);
    return (long)stats.metadata_bytes;
}

/* Resident memory before the peak, the table of blocks included, without the allocator's records: those stay, 0.6 % of a
 * peak of small blocks. */
static long base(void)
{
    free(malloc(1));
    memset(blocks, 1, sizeof blocks);
    return resident() - records();
}

static bool is_small_again(long before)
{
    return resident() - records() <= before + before * 15 / 100;
}

/* scrub=free gives large blocks back when they are freed: then there is no peak to see. */
static bool is_held(bool large)
{
    char policy[1024];
    (void)sj_policy_text(policy, sizeof policy);
    return !large || strstr(policy, "scrub=free") == NULL;
}

/* Two slow paths, of the smallest large block. */
static void slow_path(void)
{
    free(malloc(33000));
}

static void after_ten_slow_paths(bool large)
{
    long before = base();
    peak(large);
    NOTE("%ld KiB at the base, %ld KiB after the peak", before / 1024, resident() / 1024);
    CHECK(!is_held(large) || !is_small_again(before)); /* or there is nothing to see */
    CHECK_EQ(sj_ctl("release_ms", "50", NULL, 0), 0);  /* only now: a busy machine may take longer to get here */
    (void)usleep(200000);
    for (unsigned round = 0; round < 5; round++)
        slow_path();
    NOTE("%ld KiB after ten slow paths", resident() / 1024);
    CHECK(is_small_again(before));
}

static void when_trimmed(bool large)
{
    long before = base();
    peak(large);
    CHECK(!is_held(large) || !is_small_again(before));
    CHECK_EQ(malloc_trim(0), 1);
    CHECK(is_small_again(before));
    CHECK_EQ(malloc_trim(0), 0);
}

static void without_a_call(bool large)
{
    long before = base();
    peak(large);
    bool small = is_small_again(before);
    for (unsigned round = 0; round < WAIT_ROUNDS && !small; round++) {
        nap();
        small = is_small_again(before);
    }
    NOTE("%ld KiB at the base, %ld KiB in the end", before / 1024, resident() / 1024);
    CHECK(small);
}

enum { WORKERS = 4 };

static void *make_part(void *first)
{
    for (void **block = first; block < (void **)first + SMALL_BLOCKS / WORKERS; block++)
        *block = memset(malloc(SMALL_BYTES), 1, SMALL_BYTES);
    return NULL;
}

/* Blocks of threads that have ended, freed by this one, which then makes no call. */
static void of_ended_threads(bool large)
{
    pthread_t threads[WORKERS];
    long before = base();
    (void)large;
    for (unsigned i = 0; i < WORKERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, make_part, &blocks[SMALL_BLOCKS / WORKERS * i]) == 0);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    CHECK(!is_small_again(before));
    for (unsigned i = 0; i < SMALL_BLOCKS; i++)
        free(blocks[i]);
    bool small = is_small_again(before);
    for (unsigned round = 0; round < WAIT_ROUNDS && !small; round++) {
        nap();
        small = is_small_again(before);
    }
    NOTE("%ld KiB at the base, %ld KiB in the end", before / 1024, resident() / 1024);
    CHECK(small);
}

/* Signals are let in again after a thread was made, though a pass was due within. */
static void signals_of_tick(bool large)
{
    sigset_t set;
    (void)large;
    make_and_free(10, 100000);
    (void)usleep(200000);
    CHECK_EQ(sj_ctl("tick", "on", NULL, 0), 0);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
    for (int number = 1; number < SIGRTMIN; number++)
        CHECK_EQ(sigismember(&set, number), 0);
    CHECK_EQ(sj_ctl("tick", "off", NULL, 0), 0);
}

/* The limits: what is held after a peak is what they say, whatever its age. */
static void by_limits(bool large)
{
    struct sj_stats stats;
    peak(large);
    CHECK_EQ(sj_stats_read(&stats), 0);
    CHECK(stats.free_held_bytes <= 3 * MIB);
}

static pthread_barrier_t barrier;

/* Frees all but leaves an empty slab of its class in its heap; waits. */
static void *idle_thread(void *argument)
{
    make_and_free(*(size_t *)argument, 4000);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

/* An empty slab that another, idle thread keeps goes back too. */
static void out_of_idle_threads(bool large)
{
    (void)large;
    size_t count = 2000;
    pthread_t thread;
    struct sj_stats before, after;
    pthread_barrier_init(&barrier, NULL, 2);
    REQUIRE(pthread_create(&thread, NULL, idle_thread, &count) == 0);
    pthread_barrier_wait(&barrier);
    CHECK_EQ(sj_stats_read(&before), 0);
    (void)usleep(200000);
    for (unsigned round = 0; round < 5; round++)
        slow_path();
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK(after.slabs < before.slabs);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
}

static unsigned tasks(void)
{
    char text[4096];
    unsigned count = 0;
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, "\nThreads:");
    if (line != NULL)
        count = (unsigned)strtoul(line + 9, NULL, 10);
    return count;
}

static unsigned tasks_before_main;

__attribute__((constructor)) static void before_main(void)
{
    free(malloc(1));
    tasks_before_main = tasks();
}

static bool becomes(unsigned wanted)
{
    for (unsigned round = 0; round < WAIT_ROUNDS && tasks() != wanted; round++)
        nap();
    return tasks() == wanted;
}

/* Comes with main, goes and comes as it is told, and is not in a child, which works all the same. */
static void life_of_tick(bool large)
{
    char value[8];
    CHECK_EQ(tasks_before_main, 1);
    CHECK_EQ(tasks(), 2);
    for (unsigned i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            CHECK_EQ(tasks(), 1);
            make_and_free(2000, large ? 100000 : 1000);
            _exit((int)unit_failed());
        }
        int status = -1;
        (void)waitpid(child, &status, 0);
        CHECK_EQ(status, 0);
        make_and_free(20, 100000);
    }
    CHECK_EQ(tasks(), 2);
    CHECK_EQ(sj_ctl("tick", "off", value, sizeof value), 0);
    CHECK(strcmp(value, "on") == 0);
    CHECK(becomes(1));
    CHECK_EQ(sj_ctl("tick", "on", value, sizeof value), 0);
    CHECK(strcmp(value, "off") == 0);
    CHECK(becomes(2));
}

/* Under a filter that refuses it to sleep it ends, and the program goes on. */
static void under_a_filter(bool large)
{
    (void)large;
    struct sock_filter refuse_futex[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { .len = sizeof refuse_futex / sizeof refuse_futex[0], .filter = refuse_futex };
    CHECK_EQ(tasks(), 2);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
        return; /* this kernel has no filters */
    CHECK(becomes(1));
    make_and_free(100, 300000);
}

/* The last thread of the program ends: so does the process, by exit(0). */
static void end_of_main_thread(bool large)
{
    (void)large;
    CHECK_EQ(tasks(), 2);
    if (unit_failed())
        _exit(1);
    alarm(60);
    pthread_exit(NULL);
}

/* ---- The cases, each a process ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(bool large);
} cases[] = {
    { "slow", after_ten_slow_paths }, { "trim", when_trimmed },           { "tick", without_a_call },
    { "life", life_of_tick },         { "end", end_of_main_thread },      { "filter", under_a_filter },
    { "limits", by_limits },          { "threads", out_of_idle_threads }, { "ended", of_ended_threads },
    { "signals", signals_of_tick },
};

static void run_case(const char *name, bool large, const char *options)
{
    char whole[256];
    const char *given = getenv("SCRUBJAY_OPTIONS");
    (void)snprintf(whole, sizeof whole, "%s,%s", given != NULL ? given : "", options);
    pid_t child = fork();
    if (child == 0) {
        (void)setenv("SCRUBJAY_OPTIONS", whole, 1);
        (void)setenv("SJ_RELEASE_CASE", name, 1);
        (void)setenv("SJ_RELEASE_LARGE", large ? "1" : "0", 1);
        execl("/proc/self/exe", "release", (char *)NULL);
        _exit(9);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}

static int be_case(const char *name)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, name) == 0)
            cases[i].run(getenv("SJ_RELEASE_LARGE")[0] == '1');
    return (int)unit_failed();
}

/* What is in quarantine is neither free nor old: it keeps its slabs until its thread, or a purge, lets it out. */
#define NO_QUARANTINE "delay=run"

static void release_clock__gives_large_peak_back_within_ten_slow_paths(void)
{
    run_case("slow", true, "release_ms=-1,cache_max_bytes=64m");
}

static void release_clock__gives_small_peak_back_within_ten_slow_paths(void)
{
    run_case("slow", false, "release_ms=-1");
}

static void release_trim__gives_peak_back_at_once_and_says_so(void)
{
    run_case("trim", true, "release_ms=-1");
    run_case("trim", false, "release_ms=-1");
}

static void release_tick__gives_peak_back_without_a_call(void)
{
    run_case("tick", true, "release_ms=50,tick=on");
    run_case("tick", false, "release_ms=50,tick=on");
}

static void release_tick__gives_back_what_was_freed_for_ended_threads(void)
{
    run_case("ended", false, "release_ms=50,tick=on," NO_QUARANTINE);
}

static void release_tick__leaves_signals_as_they_were(void)
{
    run_case("signals", false, "release_ms=50");
}

static void release_tick__is_one_thread_from_main_on_and_none_in_a_fork(void)
{
    run_case("life", false, "release_ms=50,tick=on");
}

static void release_tick__lets_process_end_when_main_thread_ends(void)
{
    run_case("end", false, "release_ms=50,tick=on");
}

static void release_tick__ends_quietly_when_a_filter_refuses_to_sleep(void)
{
    run_case("filter", false, "release_ms=50,tick=on");
}

static void release_limits__bound_what_is_held(void)
{
    run_case("limits", true, "release_ms=-1,hold_max_bytes=1m,cache_max_bytes=2m");
    run_case("limits", false, "release_ms=-1,hold_max_bytes=1m,cache_max_bytes=2m");
}

static void release_clock__reaches_slabs_of_idle_threads(void)
{
    run_case("threads", false, "release_ms=50," NO_QUARANTINE);
}

int main(int argc, char **argv)
{
    const char *name = getenv("SJ_RELEASE_CASE");
    if (name != NULL)
        return be_case(name);
    unit_begin(argc, argv);
    RUN(release_clock__gives_large_peak_back_within_ten_slow_paths);
    RUN(release_clock__gives_small_peak_back_within_ten_slow_paths);
    RUN(release_trim__gives_peak_back_at_once_and_says_so);
    RUN(release_tick__gives_peak_back_without_a_call);
    RUN(release_tick__gives_back_what_was_freed_for_ended_threads);
    RUN(release_tick__leaves_signals_as_they_were);
    RUN(release_tick__is_one_thread_from_main_on_and_none_in_a_fork);
    RUN(release_tick__lets_process_end_when_main_thread_ends);
    RUN(release_tick__ends_quietly_when_a_filter_refuses_to_sleep);
    RUN(release_limits__bound_what_is_held);
    RUN(release_clock__reaches_slabs_of_idle_threads);
    return unit_end();
}
