/* SPDX-License-Identifier: MIT
 *
 * What: see launch.h.
 *
 * Why this way: see launch.h. posix_spawn rather than fork: the runner's own size then never matters.
 */
#include "bench/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/launcher.h"
#include "bench/sampler.h"
#include "bench/serve.h"
#include "bench/session.h"
#include "bench/text.h"
#include "lab/stats.h"

enum { LAUNCH_REPORT_FD = 3, LAUNCH_FIXED_WORDS = 3 };

static int launch_file_in_memory(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        bench_die("memfd_create: %s", strerror(errno));
    return fd;
}

/* The text as the normaliser leaves it, in a new file in memory. */
static int launch_normalise(const char *command, int fd)
{
    int normal = launch_file_in_memory("normal");
    pid_t pid = fork();
    if (pid == 0) {
        if (lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, STDIN_FILENO) < 0 || dup2(normal, STDOUT_FILENO) < 0)
            _exit(126);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (status != 0 && !bench_interrupted())
        bench_die("--normalise '%s' failed", command);
    return normal;
}

static void launch_hash(struct bench_output *output)
{
    unsigned char buffer[65536];
    output->hash = UINT64_C(0xcbf29ce484222325);
    output->bytes = 0;
    ssize_t length;
    while ((length = pread(output->fd, buffer, sizeof buffer, (off_t)output->bytes)) > 0) {
        for (ssize_t i = 0; i < length; i++)
            output->hash = (output->hash ^ buffer[i]) * UINT64_C(0x100000001b3);
        output->bytes += (uint64_t)length;
    }
}

/* LAUNCHER FD CPU WORDS...; the caller frees the array, and argv[2]. */
static char **launch_arguments(const struct bench_launch *launch)
{
    size_t count = 0;
    while (launch->words[count] != NULL)
        count++;
    char **arguments = calloc(LAUNCH_FIXED_WORDS + count + 1, sizeof *arguments);
    if (arguments == NULL)
        abort();
    static char name[] = "launcher";
    static char report[] = "3";
    arguments[0] = name;
    arguments[1] = report;
    arguments[2] = bench_format("%d", launch->cpu);
    memcpy(arguments + LAUNCH_FIXED_WORDS, launch->words, count * sizeof *arguments);
    return arguments;
}

static void launch_must(int error, const char *what)
{
    if (error != 0)
        bench_die("%s: %s", what, strerror(error));
}

static pid_t launch_spawn(const struct bench_launch *launch, const struct bench_run *run, int report)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigfillset(&defaults);
    launch_must(posix_spawn_file_actions_init(&files), "posix_spawn");
    launch_must(posix_spawnattr_init(&attributes), "posix_spawn");
    int error = posix_spawn_file_actions_addopen(&files, 0, launch->input, O_RDONLY, 0);
    error = error != 0 ? error : posix_spawn_file_actions_adddup2(&files, run->output.fd, 1);
    error = error != 0 ? error : posix_spawn_file_actions_adddup2(&files, run->errors.fd, 2);
    error = error != 0 ? error : posix_spawn_file_actions_adddup2(&files, report, LAUNCH_REPORT_FD);
    error = error != 0 ? error : posix_spawn_file_actions_addchdir_np(&files, launch->directory);
    error = error != 0 ? error : posix_spawnattr_setpgroup(&attributes, 0);
    error = error != 0 ? error : posix_spawnattr_setsigdefault(&attributes, &defaults);
    error = error != 0 ? error : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    char **arguments = launch_arguments(launch);
    pid_t pid = -1;
    error =
        error != 0 ? error : posix_spawn(&pid, launch->launcher, &files, &attributes, arguments, launch->environment);
    launch_must(error, launch->launcher);
    free(arguments[2]);
    free(arguments);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

/* Waits for the record; true if the time ran out, or somebody wants to stop. */
static bool launch_wait(int report, unsigned limit_seconds)
{
    struct pollfd poll_fd = { .fd = report, .events = POLLIN };
    int limit_ms = (int)(limit_seconds < 1000000 ? limit_seconds * 1000 : 1000000000);
    int ready;
    do
        ready = poll(&poll_fd, 1, limit_ms);
    while (ready < 0 && errno == EINTR && !bench_interrupted());
    return ready <= 0;
}

static void launch_fill(struct bench_run *run, const struct bench_launcher_record *record)
{
    run->exec_errno = record->exec_errno;
    run->wait_status = record->wait_status;
    run->wall_seconds = (double)record->wall_ns * 1e-9;
    run->user_seconds = (double)record->user_us * 1e-6;
    run->system_seconds = (double)record->system_us * 1e-6;
    run->cpu_seconds = run->user_seconds + run->system_seconds;
    run->peak_rss_kib = (double)record->peak_rss_kib;
    run->minor_faults = (uint64_t)record->minor_faults;
    run->major_faults = (uint64_t)record->major_faults;
    run->voluntary_switches = (uint64_t)record->voluntary_switches;
    run->involuntary_switches = (uint64_t)record->involuntary_switches;
}

/* Outputs are hashed as they are, or as the normaliser leaves them; what is kept for a look is the text as it was. */
static void launch_take_output(const struct bench_launch *launch, struct bench_output *output)
{
    if (launch->normalise == NULL) {
        launch_hash(output);
        return;
    }
    struct bench_output normal = { .fd = launch_normalise(launch->normalise, output->fd) };
    launch_hash(&normal);
    output->hash = normal.hash;
    output->bytes = normal.bytes;
    close(normal.fd);
}

void bench_launch_run(const struct bench_launch *launch, struct bench_run *run)
{
    memset(run, 0, sizeof *run);
    run->output.fd = launch_file_in_memory("stdout");
    run->errors.fd = launch_file_in_memory("stderr");
    if (!bench_proof_reset(launch->record))
        bench_die("%s: %s", launch->record, strerror(errno));
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        bench_die("pipe: %s", strerror(errno));
    pid_t pid = launch_spawn(launch, run, report[1]);
    close(report[1]);
    struct bench_sampler sampler;
    bench_sampler_begin(&sampler, pid);
    double client_seconds = launch->client != NULL ? bench_serve(launch, pid, run) : -1;
    run->timed_out = launch_wait(report[0], launch->limit_seconds);
    bench_sampler_end(&sampler, &run->rss_kib);
    run->mean_rss_kib = run->rss_kib.count > 0 ? round(lab_mean(run->rss_kib.values, run->rss_kib.count)) : 0;
    struct bench_launcher_record record = { 0 };
    ssize_t length = run->timed_out ? 0 : read(report[0], &record, sizeof record);
    close(report[0]);
    (void)kill(-pid, SIGKILL); /* what the command left running must not disturb the next run */
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    run->lost = length != (ssize_t)sizeof record || record.magic != BENCH_LAUNCHER_MAGIC;
    if (!run->lost)
        launch_fill(run, &record);
    if (client_seconds >= 0)
        run->wall_seconds = client_seconds;
    bench_proof_read(launch->record, &run->proof);
    launch_take_output(launch, &run->output);
    launch_take_output(launch, &run->errors);
}

void bench_close_outputs(struct bench_run *run)
{
    close(run->output.fd);
    close(run->errors.fd);
    run->output.fd = run->errors.fd = -1;
}

int bench_run_shell(const char *command, const char *directory)
{
    pid_t pid = fork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        if (chdir(directory) != 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
            _exit(126);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

char *bench_run_ending(const struct bench_run *run)
{
    if (run->timed_out)
        return bench_format("timeout");
    if (run->lost)
        return bench_format("no record");
    if (run->exec_errno != 0)
        return bench_format("not started: %s", strerror(run->exec_errno));
    if (run->client_status < 0)
        return bench_format("the server never listened");
    if (run->client_status != 0)
        return bench_format("client failed with status %d", WEXITSTATUS(run->client_status));
    if (WIFSIGNALED(run->wait_status))
        return bench_format("signal %d", WTERMSIG(run->wait_status));
    return bench_format("exit %d", WEXITSTATUS(run->wait_status));
}
