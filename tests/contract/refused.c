/* SPDX-License-Identifier: MIT */
/*
 * What: system calls that are refused, by a seccomp filter: before the start (the filter outlives exec) and in the
 * middle of the work.
 * Why this way: a refusal is an answer, not an abort: memory may run out where mmap fails, nothing else may change.
 * Contents, zeroes and, where scrubbing is on, cleanness are checked as ever. Each case is a child process.
 */
#define SJ_TEST_PLAIN
#include "support/calls.h"
#include "unit/unit.h"

#include "scrubjay.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { HELD = 256, MAX_REFUSED = 8 };

#ifdef SYS_readlink
enum { FORMER_READLINK = SYS_readlink };
#else
enum { FORMER_READLINK = SYS_readlinkat }; /* there never was another */
#endif

extern int sj_stats_read(struct sj_stats *) __attribute__((weak));
static atomic_uint threads_done;

/* Refuses the calls of the list (it ends with -1) with the error, from now on and after exec. */
static bool refuse(const int *numbers, int error)
{
    struct sock_filter filter[MAX_REFUSED + 3];
    unsigned short count = 0, refused = 0;
    while (numbers[refused] >= 0)
        refused++;
    filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned short i = 0; i < refused; i++)
        filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i],
                                                       (unsigned char)(refused - i), 0);
    filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
    struct sock_fprog program = { .len = count, .filter = filter };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool all_equal(const unsigned char *bytes, size_t count, unsigned char value)
{
    return count == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static size_t pick_size(uint64_t *random)
{
    uint64_t kind = unit_random_below(random, 50);
    return kind == 0 ? unit_random_below(random, 3000000) : unit_random_below(random, kind < 10 ? 60000 : 1500);
}

/* All kinds of calls with all that must hold checked; NULL is fine where memory may run out. */
static void work(bool may_run_out, unsigned rounds)
{
    static unsigned char *held[HELD];
    static size_t sizes[HELD];
    bool clean = calls_promise_clean_memory();
    uint64_t random = 42;
    for (unsigned i = 0; i < rounds; i++) {
        size_t slot = unit_random_below(&random, HELD), size = pick_size(&random);
        unsigned char mark = (unsigned char)(slot | 1), *block;
        CHECK(held[slot] == NULL || all_equal(held[slot], sizes[slot], mark));
        if (i % 4 == 0) {
            block = realloc(held[slot], size + 1);
            if (block != NULL)
                CHECK(held[slot] == NULL || all_equal(block, sizes[slot] < size ? sizes[slot] : size, mark));
            else
                free(held[slot]);
            size++;
        } else {
            free(held[slot]);
            block = i % 4 == 1 ? calloc(1, size) : i % 4 == 2 ? malloc(size) : memalign(256, size);
            if (block != NULL && (i % 4 == 1 || clean))
                CHECK(all_equal(block, size, 0));
        }
        CHECK(block != NULL || may_run_out);
        held[slot] = block;
        sizes[slot] = block != NULL ? size : 0;
        if (block != NULL)
            memset(block, mark, size);
        if (i % 1000 == 999)
            malloc_trim(0);
    }
    for (size_t slot = 0; slot < HELD; slot++) {
        free(held[slot]);
        held[slot] = NULL;
    }
    malloc_trim(0);
}

/* How the child has ended. `number` is of the call that was refused to it, or the first of them. */
static void settle(pid_t child, int number)
{
    int status = -1;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("no seccomp here");
    if (!CHECK_EQ(status, 0))
        unit_print("# call %d was refused\n", number);
}

static void in_child(const int *numbers, int error, bool may_run_out)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        work(false, 500);
        if (!refuse(numbers, error))
            _exit(77);
        work(may_run_out, 6000);
        _exit((int)unit_failed());
    }
    settle(child, numbers[0]);
}

static void refused_madvise__changes_nothing(void)
{
    static const int numbers[] = { SYS_madvise, -1 };
    in_child(numbers, EINVAL, false);
    in_child(numbers, EPERM, false);
}

static void refused_mprotect__changes_nothing(void)
{
    static const int numbers[] = { SYS_mprotect, -1 };
    in_child(numbers, ENOMEM, false);
}

static void refused_munmap__changes_nothing(void)
{
    static const int numbers[] = { SYS_munmap, -1 };
    in_child(numbers, ENOMEM, false);
}

static void refused_mremap__changes_nothing(void)
{
    static const int numbers[] = { SYS_mremap, -1 };
    in_child(numbers, ENOMEM, false);
}

static void refused_mmap__means_no_memory(void)
{
    static const int numbers[] = { SYS_mmap, -1 };
    in_child(numbers, ENOMEM, true);
    in_child(numbers, EPERM, true);
}

static void refused_all__means_no_memory(void)
{
    static const int numbers[] = { SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_mremap, SYS_getrandom, -1 };
    in_child(numbers, ENOMEM, true);
    in_child(numbers, ENOSYS, true);
}

/* What a strict sandbox leaves after the start: see the list in the manual. */
static void refused_rest__changes_nothing(void)
{
    static const int numbers[] = {
        SYS_getrandom,         SYS_mremap, SYS_prctl, SYS_openat, FORMER_READLINK, SYS_mincore, SYS_clock_gettime,
        SYS_sched_getaffinity, -1
    };
    in_child(numbers, EPERM, false);
}

/* As many mappings as a process may have: the kernel refuses each call that would make another. */
static bool use_mappings_up(void)
{
    enum { AT_MOST = 200000 };
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, AT_MOST * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return false;
    for (size_t i = 1; i < AT_MOST; i += 2)
        if (mprotect(pages + i * page_bytes, page_bytes, PROT_READ) != 0)
            return errno == ENOMEM;
    return false;
}

static void refused_more_mappings__means_no_memory(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        work(false, 500);
        if (!use_mappings_up())
            _exit(78);
        work(true, 1500);
        _exit((int)unit_failed());
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 78)
        SKIP("the system allows more mappings than are worth making");
    CHECK_EQ(status, 0);
}

/* --- Each one alone. --- */

enum { SHORTLY = 500 /* rounds: enough for each kind of slow path */ };

/* All that the library asks for, some of it only in reports. */
static const struct asked {
    int number;
    bool loader_needs_it;
    bool is_for_memory;
} asked[] = {
    { SYS_mmap, true, true },
    { SYS_munmap, true, true },
    { SYS_mprotect, true, true },
    { SYS_madvise, false, true },
    { SYS_mremap, false, true },
    { SYS_getrandom, false, false },
    { SYS_prctl, false, false },
    { SYS_openat, true, false },
    { SYS_read, true, false },
    { SYS_close, true, false },
    { SYS_newfstatat, true, false },
    { SYS_readlinkat, false, false },
    { SYS_prlimit64, false, false },
    { SYS_clock_gettime, false, false },
    { SYS_sched_getaffinity, false, false },
    { SYS_rt_sigprocmask, false, false },
    { SYS_rt_sigaction, false, false },
    { SYS_gettid, false, false },
    { SYS_getpid, false, false },
    { SYS_futex, false, false },
    { FORMER_READLINK, false, false },
};
enum { ASKED = sizeof asked / sizeof asked[0] };

static uint64_t calls_refused(void)
{
    struct sj_stats stats = { 0 };
    return sj_stats_read != NULL && sj_stats_read(&stats) == 0 ? stats.system_calls_refused + stats.weak_seeds : 0;
}

/* What is refused of the calls for memory is counted. */
static void refused_each__changes_nothing_and_is_counted(void)
{
    for (unsigned i = 0; i < 2 * ASKED; i++) {
        const struct asked *call = &asked[i / 2];
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            work(false, SHORTLY);
            uint64_t before = calls_refused();
            if (!refuse((const int[]){ call->number, -1 }, i % 2 == 0 ? EPERM : ENOSYS))
                _exit(77);
            work(call->number == SYS_mmap, SHORTLY);
            if (call->number == SYS_madvise && sj_stats_read != NULL)
                CHECK(calls_refused() > before);
            _exit((int)unit_failed());
        }
        settle(child, call->number);
    }
}

static void *free_all(void *blocks)
{
    void **block = blocks;
    while (*block != NULL)
        free(*block++);
    atomic_fetch_add(&threads_done, 1);
    for (;;)
        sched_yield(); /* the end of a thread is the C library's, and needs the call */
    return NULL;
}

/* Threads wait for each other without futex too. */
static void refused_futex__changes_nothing_when_threads_contend(void)
{
    enum { THREADS = 4, BLOCKS = 3000 };
    static void *blocks[THREADS][BLOCKS + 1];
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        for (unsigned i = 0; i < THREADS * BLOCKS; i++)
            blocks[i % THREADS][i / THREADS] = malloc(i % 8 == 0 ? 40000 : i % 700 + 1);
        if (!refuse((const int[]){ SYS_futex, -1 }, EPERM))
            _exit(77);
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_t thread;
            CHECK_EQ(pthread_create(&thread, NULL, free_all, blocks[i]), 0);
        }
        while (atomic_load(&threads_done) < THREADS && !unit_failed())
            work(false, 50);
        _exit((int)unit_failed());
    }
    settle(child, SYS_futex);
}

static void at_start(const int *numbers, int error)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        setenv("SJ_REFUSED_CHILD", "1", 1);
        if (!refuse(numbers, error))
            _exit(77);
        execl("/proc/self/exe", "refused", (char *)NULL);
        _exit(9);
    }
    settle(child, numbers[0]);
}

static void refused_at_start__changes_nothing(void)
{
    static const int random[] = { SYS_getrandom, -1 };
    static const int advice[] = { SYS_madvise, -1 };
    static const int names[] = { FORMER_READLINK, SYS_readlinkat, SYS_prctl, SYS_fstat, SYS_mremap, -1 };
    static const int several[] = { SYS_getrandom, SYS_madvise, SYS_mremap, SYS_prctl, -1 };
    at_start(random, ENOSYS);
    at_start(random, EPERM);
    at_start(advice, EINVAL);
    at_start(names, ENOSYS);
    at_start(several, EPERM);
}

/* The loader and the C library bear these; what it says of the threads that could not be started is theirs too. */
static void refused_each_at_start__changes_nothing(void)
{
    for (unsigned i = 0; i < ASKED; i++)
        if (!asked[i].loader_needs_it && asked[i].number != SYS_futex)
            at_start((const int[]){ asked[i].number, -1 }, (unit_state.seed + i) % 2 == 0 ? EPERM : ENOSYS);
}

static void *work_a_little(void *unused)
{
    for (size_t i = 0; i < 2000; i++)
        free(malloc(i * 7));
    return unused;
}

static int child_at_start(void)
{
    pthread_t thread;
    work(false, SHORTLY);
    if (pthread_create(&thread, NULL, work_a_little, NULL) == 0)
        pthread_join(thread, NULL);
    return (int)unit_failed();
}

int main(int argc, char **argv)
{
    if (getenv("SJ_REFUSED_CHILD") != NULL)
        return child_at_start();
    unit_begin(argc, argv);
    RUN(refused_madvise__changes_nothing);
    RUN(refused_mprotect__changes_nothing);
    RUN(refused_munmap__changes_nothing);
    RUN(refused_mremap__changes_nothing);
    RUN(refused_mmap__means_no_memory);
    RUN(refused_all__means_no_memory);
    RUN(refused_rest__changes_nothing);
    RUN(refused_more_mappings__means_no_memory);
    RUN(refused_each__changes_nothing_and_is_counted);
    RUN(refused_futex__changes_nothing_when_threads_contend);
    RUN(refused_at_start__changes_nothing);
    RUN(refused_each_at_start__changes_nothing);
    return unit_end();
}
