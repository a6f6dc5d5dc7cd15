/* SPDX-License-Identifier: MIT */
/*
 * What: guards behind slabs: a loop that runs off the end of a small block's slab faults with guard=every, and before eight
 * slabs are behind it with guard=eighth; it does not with guard=large. And what they cost in mappings: with three million
 * live objects at level 4 there are fewer than 8,000, on kernels with guard markers and without.
 * Why this way: a kernel without markers is one that refuses the advice, by a seccomp filter that outlives exec. Options are
 * fixed when a process starts, so the test runs itself again.
 */
#include "unit/unit.h"

#include "support/process.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum {
    BLOCK_BYTES = 3000,
    BLOCKS = 20000,
    SLAB_BYTES = 65536,
    LIVE = 3000000,
    MAPPINGS_MAX = 8000,
    GUARD_INSTALL = 102,
    STATUS_FAULT = 128 + SIGSEGV
};

static char *volatile blocks[LIVE];
static char *volatile running; /* where the loop is */
static char *volatile lowest;

static void on_fault(int number)
{
    (void)number;
    _exit((size_t)(running - lowest) <= 9 * 2 * (size_t)SLAB_BYTES ? STATUS_FAULT : 1);
}

/* Writes from the block with the lowest address on. The process ends by _exit: nothing is used afterwards. */
static int run_off(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        if (blocks[i] == NULL)
            return 2;
        if (lowest == NULL || blocks[i] < lowest)
            lowest = blocks[i];
    }
    (void)signal(SIGSEGV, on_fault);
    for (running = lowest; running < lowest + (size_t)BLOCKS * BLOCK_BYTES / 2; running++)
        *(volatile char *)running = 1;
    _exit(0);
}

/* All that the objects are in mappings, or 0 if there is no memory. */
static int count_mappings(void)
{
    uint64_t state = unit_state.seed;
    for (size_t i = 0; i < LIVE; i++) {
        blocks[i] = malloc(16 + (size_t)unit_random_below(&state, 160));
        if (blocks[i] == NULL)
            return 2;
    }
    long lines = mappings();
    unit_print("# %ld mappings\n", lines);
    return lines > 0 && lines < MAPPINGS_MAX ? 0 : 1;
}

static bool refuse_markers(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GUARD_INSTALL, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof filter / sizeof filter[0], .filter = filter };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int status_of(const char *program, const char *options, bool without_markers)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        (void)setenv("SCRUBJAY_OPTIONS", options, 1);
        if (without_markers && !refuse_markers())
            _exit(3);
        execl("/proc/self/exe", "guards", program, (char *)NULL);
        _exit(3);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void guards_behind_slabs__fault_when_a_loop_runs_off(void)
{
    CHECK_EQ(status_of("--run-off", "level=0,guard=every", false), STATUS_FAULT);
    CHECK_EQ(status_of("--run-off", "level=4", false), STATUS_FAULT);
    CHECK_EQ(status_of("--run-off", "level=0,guard=eighth", false), STATUS_FAULT);
    CHECK_EQ(status_of("--run-off", "level=3", false), STATUS_FAULT);
    CHECK_EQ(status_of("--run-off", "level=3", true), STATUS_FAULT);
    CHECK_EQ(status_of("--run-off", "level=2,guard=large,sample=off", false), 0);
}

static void guards_behind_slabs__leave_mappings_to_others(void)
{
    CHECK_EQ(status_of("--count", "level=4", false), 0);
    CHECK_EQ(status_of("--count", "level=4", true), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--run-off") == 0)
        return run_off();
    if (argc == 2 && strcmp(argv[1], "--count") == 0)
        return count_mappings();
    unit_begin(argc, argv);
    RUN(guards_behind_slabs__fault_when_a_loop_runs_off);
    RUN(guards_behind_slabs__leave_mappings_to_others);
    return unit_end();
}
