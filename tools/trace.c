/* SPDX-License-Identifier: MIT
 *
 * What: starts a program and stops it at its entry; see trace.h.
 *
 * Why this way: the child stops itself before exec, so that the options of tracing are set before anything happens. The
 * breakpoint is never taken out again, since nobody goes on from it.
 *
 * Invariants: see trace.h.
 *
 * Concurrency: one thread. A constructor that hangs is ended by SIGALRM, which interrupts waitpid.
 */
#include "trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_SECONDS = 30, STATUS_NOT_EXECUTED = 127 };

/* The breakpoint instruction of this machine, and the bits of a word it takes. */
#if defined(__x86_64__)
static const unsigned long breakpoint = 0xcc, breakpoint_mask = 0xff;
#elif defined(__aarch64__)
static const unsigned long breakpoint = 0xd4200000, breakpoint_mask = 0xffffffff;
#elif defined(__riscv)
static const unsigned long breakpoint = 0x9002, breakpoint_mask = 0xffff;
#else
static const unsigned long breakpoint = 0, breakpoint_mask = 0; /* not known: no program can be stopped */
#endif

static void on_alarm(int signal_number)
{
    (void)signal_number; /* it has interrupted waitpid, which is all */
}

static void run_child(char *const *argv)
{
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) /* what waits on stdin is the program's, and it will not run */
        dup2(nothing, STDIN_FILENO);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(STATUS_NOT_EXECUTED);
    raise(SIGSTOP);
    execvp(argv[0], argv);
    _exit(STATUS_NOT_EXECUTED);
}

/* AT_ENTRY of a process that has just executed a program; 0 if it can't be read. */
static unsigned long read_entry(pid_t process)
{
    char path[64];
    Elf64_auxv_t item;
    unsigned long entry = 0;
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)process);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && read(fd, &item, sizeof item) == (ssize_t)sizeof item) {
        if (item.a_type == AT_ENTRY)
            entry = item.a_un.a_val;
    }
    if (fd >= 0)
        close(fd);
    return entry;
}

static bool plant_breakpoint(pid_t process)
{
    const unsigned long entry = read_entry(process);
    const unsigned long address = entry & ~(sizeof(long) - 1);
    const unsigned shift = (unsigned)(entry - address) * 8;
    errno = 0;
    unsigned long word = (unsigned long)ptrace(PTRACE_PEEKTEXT, process, (void *)address, NULL);
    if (entry == 0 || errno != 0 || breakpoint_mask == 0)
        return false;
    if (shift + (breakpoint_mask > 0xff ? 32 : 8) > 64)
        return false; /* no ABI puts an entry so askew */
    word = (word & ~(breakpoint_mask << shift)) | (breakpoint << shift);
    return ptrace(PTRACE_POKETEXT, process, (void *)address, (void *)word) == 0;
}

/* Waits for the next stop; false if the process is gone or the time is up, with the reason. */
static bool wait_stop(pid_t process, int *status, char *reason, size_t bytes)
{
    if (waitpid(process, status, __WALL) < 0) {
        snprintf(reason, bytes, "it did not come to its entry within %d seconds", START_SECONDS);
        return false;
    }
    if (WIFEXITED(*status)) {
        snprintf(reason, bytes, "it ended with status %d before its first instruction (the loader says why above)",
                 WEXITSTATUS(*status));
        return false;
    }
    if (WIFSIGNALED(*status)) {
        snprintf(reason, bytes, "it was ended by signal %d (%s) before its first instruction", WTERMSIG(*status),
                 strsignal(WTERMSIG(*status)));
        return false;
    }
    return true;
}

/* From the stop before exec to the breakpoint. */
static bool drive_to_entry(pid_t process, char *reason, size_t bytes)
{
    int status, signal_number = 0;
    bool planted = false;
    for (;;) {
        if (ptrace(PTRACE_CONT, process, NULL, (void *)(long)signal_number) != 0) {
            snprintf(reason, bytes, "tracing it failed: %s", strerror(errno));
            return false;
        }
        if (!wait_stop(process, &status, reason, bytes))
            return false;
        signal_number = WSTOPSIG(status);
        if (status >> 16 == PTRACE_EVENT_EXEC) {
            planted = plant_breakpoint(process);
            signal_number = 0;
            if (!planted) {
                snprintf(reason, bytes, "no breakpoint can be set at its entry");
                return false;
            }
        } else if (signal_number == SIGTRAP && planted) {
            return true;
        } else if (status >> 16 != 0) {
            signal_number = 0;
        }
    }
}

pid_t sj__trace_start(char *const *argv, char *reason, size_t bytes)
{
    const struct sigaction action = { .sa_handler = on_alarm }; /* without SA_RESTART */
    int status;
    fflush(NULL);
    const pid_t process = fork();
    if (process < 0) {
        snprintf(reason, bytes, "no process can be started: %s", strerror(errno));
        return -1;
    }
    if (process == 0)
        run_child(argv);
    sigaction(SIGALRM, &action, NULL);
    alarm(START_SECONDS);
    bool arrived = false;
    if (waitpid(process, &status, 0) != process || !WIFSTOPPED(status))
        snprintf(reason, bytes, "this system does not let one process trace another (ptrace is refused)");
    else if (ptrace(PTRACE_SETOPTIONS, process, NULL, (void *)(long)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)) != 0)
        snprintf(reason, bytes, "tracing it failed: %s", strerror(errno));
    else
        arrived = drive_to_entry(process, reason, bytes);
    alarm(0);
    if (arrived)
        return process;
    sj__trace_end(process);
    return -1;
}

void sj__trace_end(pid_t process)
{
    if (kill(process, SIGKILL) == 0)
        waitpid(process, NULL, __WALL);
}
