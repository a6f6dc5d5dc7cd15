/* SPDX-License-Identifier: MIT
 *
 * What: the launcher: `launcher FD CPU COMMAND ARGUMENT...` starts the command, waits for it, and writes a struct
 * bench_launcher_record to FD. CPU is the one to run on, or -1.
 *
 * Why this way: ru_maxrss of a process starts at the resident size of whoever forked it, so a runner that holds a
 * session's rows would falsify the peak of every small program. This one is static, allocates nothing, and stays under
 * any program it starts. The clock is started before the fork, since starting under a preload is part of the price.
 *
 * Invariants: the command inherits stdin, stdout, stderr and the environment, and not FD.
 *
 * Concurrency: one thread.
 */
#include "bench/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t launcher_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t launcher_us(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

static void launcher_pin(int cpu)
{
    cpu_set_t set;
    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

static void launcher_run(char **command, struct bench_launcher_record *record)
{
    volatile int exec_errno = 0; /* written by the child, which shares our memory until it has become the command */
    struct rusage usage = { 0 };
    int status = 0;
    int64_t started_ns = launcher_now_ns();
    /* posix_spawn would not tell when the clock has to start, and why exec failed. NOLINTBEGIN(*Vfork,*vfork) */
    pid_t child = vfork();
    if (child == 0) {
        execv(command[0], command);
        exec_errno = errno;
        _exit(127);
    }
    /* NOLINTEND(*Vfork,*vfork) */
    if (child < 0) {
        record->exec_errno = errno;
        return;
    }
    (void)signal(SIGTERM, SIG_IGN); /* a server's group is ended by it; what is told of it must not be lost */
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR)
        continue;
    record->wall_ns = launcher_now_ns() - started_ns;
    record->exec_errno = exec_errno;
    record->wait_status = status;
    record->user_us = launcher_us(usage.ru_utime);
    record->system_us = launcher_us(usage.ru_stime);
    record->peak_rss_kib = usage.ru_maxrss;
    record->minor_faults = usage.ru_minflt;
    record->major_faults = usage.ru_majflt;
    record->voluntary_switches = usage.ru_nvcsw;
    record->involuntary_switches = usage.ru_nivcsw;
}

int main(int argc, char **argv)
{
    struct bench_launcher_record record = { .magic = BENCH_LAUNCHER_MAGIC };
    if (argc < 4)
        return 64;
    int fd = atoi(argv[1]);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return 64;
    launcher_pin(atoi(argv[2]));
    launcher_run(argv + 3, &record);
    return write(fd, &record, sizeof record) == (ssize_t)sizeof record ? 0 : 74;
}
