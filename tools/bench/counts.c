/* SPDX-License-Identifier: MIT
 *
 * What: see counts.h.
 *
 * Why this way: see counts.h.
 */
#include "bench/counts.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/launch.h"
#include "bench/session.h"
#include "bench/text.h"
#include "program.h"

enum {
    COUNTS_SYSCALL_STOP = SIGTRAP | 0x80, /* with PTRACE_O_TRACESYSGOOD */
    COUNTS_MAPS_EACH = 512,               /* so many memory calls have their mappings counted, then each 64th */
    COUNTS_MAPS_LATER = 64,
    COUNTS_NOT_STARTED = 127,
    COUNTS_TIMES_SLOWER = 100, /* callgrind, at most */
    COUNTS_WORDS = 5
};

static const long COUNTS_NUMBERS[BENCH_CALL_KINDS] = {
    [BENCH_CALL_MMAP] = SYS_mmap,       [BENCH_CALL_MUNMAP] = SYS_munmap,     [BENCH_CALL_MREMAP] = SYS_mremap,
    [BENCH_CALL_MADVISE] = SYS_madvise, [BENCH_CALL_MPROTECT] = SYS_mprotect, [BENCH_CALL_BRK] = SYS_brk,
    [BENCH_CALL_FUTEX] = SYS_futex,
};

static uint64_t counts_mappings(pid_t process)
{
    char name[64];
    uint64_t lines = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)process);
    FILE *file = fopen(name, "re");
    for (int letter; file != NULL && (letter = getc(file)) != EOF;)
        lines += letter == '\n' ? 1 : 0;
    if (file != NULL)
        fclose(file);
    return lines;
}

static void counts_take(struct bench_counts *counts, pid_t process)
{
    struct __ptrace_syscall_info info; /* NOLINT(bugprone-reserved-identifier): its name */
    if (ptrace(PTRACE_GET_SYSCALL_INFO, process, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return;
    counts->calls++;
    for (size_t kind = 0; kind < BENCH_CALL_KINDS; kind++) {
        if (info.entry.nr != (uint64_t)COUNTS_NUMBERS[kind])
            continue;
        uint64_t seen = counts->calls_of[kind]++;
        if (kind == BENCH_CALL_FUTEX || (seen >= COUNTS_MAPS_EACH && seen % COUNTS_MAPS_LATER != 0))
            return;
        uint64_t mappings = counts_mappings(process);
        counts->mappings = mappings > counts->mappings ? mappings : counts->mappings;
        return;
    }
}

static _Noreturn void counts_run_child(const struct bench_launch *launch)
{
    int input = open(launch->input, O_RDONLY);
    int nowhere = open("/dev/null", O_WRONLY);
    if (setpgid(0, 0) != 0 || chdir(launch->directory) != 0 || dup2(input, STDIN_FILENO) < 0 ||
        dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0 ||
        ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(COUNTS_NOT_STARTED);
    (void)raise(SIGSTOP);
    execve(launch->words[0], launch->words, launch->environment);
    _exit(COUNTS_NOT_STARTED);
}

/* From one stop of a process or thread to its next. Its signals are passed on; the stops that tracing makes are not. */
static void counts_continue(struct bench_counts *counts, pid_t process, int status, bool *executed)
{
    int signal_number = WSTOPSIG(status);
    if (signal_number == COUNTS_SYSCALL_STOP && *executed)
        counts_take(counts, process);
    if (status >> 16 == PTRACE_EVENT_EXEC)
        *executed = true;
    if (signal_number == COUNTS_SYSCALL_STOP || status >> 16 != 0 || signal_number == SIGSTOP)
        signal_number = 0;
    (void)ptrace(PTRACE_SYSCALL, process, NULL, (void *)(long)signal_number);
}

bool bench_count_calls(const struct bench_launch *launch, struct bench_counts *counts)
{
    int status = 0;
    bool executed = false;
    pid_t root = fork();
    if (root == 0)
        counts_run_child(launch);
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    if (root < 0 || waitpid(root, &status, __WALL) != root || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, root, NULL, (void *)options) != 0)
        return false;
    pid_t process = root;
    do {
        if (WIFSTOPPED(status)) {
            counts_continue(counts, process, status, &executed);
        } else if (process == root) {
            counts->wait_status = status;
            counts->traced = executed;
            (void)kill(-root, SIGKILL); /* what it left running */
        }
        process = waitpid(-1, &status, __WALL);
        if (process < 0 && errno == EINTR)
            (void)kill(-root, SIGKILL);
    } while (process > 0 || errno == EINTR);
    return counts->traced && !bench_interrupted();
}

/* The sum over the processes of a run: a line "Collected : N" in the log of each. */
static uint64_t counts_collected(const char *pattern)
{
    glob_t found;
    uint64_t sum = 0;
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "re");
        char *line = NULL;
        size_t room = 0;
        while (file != NULL && getline(&line, &room, file) >= 0) {
            const char *number = strstr(line, "Collected : ");
            sum += number != NULL ? strtoull(number + strlen("Collected : "), NULL, 10) : 0;
        }
        free(line);
        if (file != NULL)
            fclose(file);
        (void)unlink(found.gl_pathv[i]);
    }
    globfree(&found);
    return sum;
}

bool bench_count_instructions(const struct bench_launch *launch, struct bench_counts *counts)
{
    char valgrind[PATH_MAX];
    if (sj__program_find("valgrind", valgrind, sizeof valgrind) != 0)
        bench_die("--instructions needs valgrind");
    size_t count = 0;
    while (launch->words[count] != NULL)
        count++;
    char **words = calloc(COUNTS_WORDS + count + 1, sizeof *words);
    if (words == NULL)
        abort();
    static char tool[] = "--tool=callgrind";
    static char no_file[] = "--callgrind-out-file=/dev/null";
    static char children[] = "--trace-children=yes";
    words[0] = valgrind;
    words[1] = tool;
    words[2] = no_file;
    words[3] = children;
    words[4] = bench_format("--log-file=%s.%%p", launch->record);
    memcpy(words + COUNTS_WORDS, launch->words, count * sizeof *words);
    struct bench_launch under = *launch;
    under.words = words;
    under.limit_seconds *= COUNTS_TIMES_SLOWER;
    struct bench_run run;
    bench_launch_run(&under, &run);
    bench_close_outputs(&run);
    char *pattern = bench_format("%s.*", launch->record);
    uint64_t instructions = counts_collected(pattern);
    counts->wait_status = run.wait_status;
    counts->instructions = run.lost || run.timed_out ? 0 : instructions;
    free(pattern);
    free(words[4]);
    free(words);
    return counts->instructions > 0;
}
