/* SPDX-License-Identifier: MIT
 *
 * What: the launcher of the benches: what it reports of a process is that process's own.
 *
 * Why this way: a process started by a big one inherits its peak size in ru_maxrss. The launcher exists for that one
 * reason, so it is tested from a parent of 500 MB.
 *
 * Concurrency: one thread.
 */
#include "unit.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../tools/bench/launcher.h"

enum { FAT_BYTES = 500 << 20, LITTLE_KIB = 20 << 10, REPORT_FD = 9 };

extern char **environ;

static char launcher_path[4096];

static bool find_launcher(void)
{
    const char *build = getenv("SJ_BUILD_DIR");
    int length = snprintf(launcher_path, sizeof launcher_path, "%s/scrubjay-launcher", build != NULL ? build : ".");
    return length > 0 && access(launcher_path, X_OK) == 0;
}

static bool launch(char *program, char *argument, struct bench_launcher_record *record)
{
    static char name[] = "launcher";
    static char report[] = "9";
    static char any_cpu[] = "-1";
    char *arguments[] = { name, report, any_cpu, program, argument, NULL };
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, pipe_fds[1], REPORT_FD);
    pid_t pid;
    bool good = posix_spawn(&pid, launcher_path, &files, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    close(pipe_fds[1]);
    good = good && read(pipe_fds[0], record, sizeof *record) == (ssize_t)sizeof *record;
    close(pipe_fds[0]);
    int status;
    return good && waitpid(pid, &status, 0) == pid && status == 0 && record->magic == BENCH_LAUNCHER_MAGIC;
}

static void lab_launcher__a_fat_parent_does_not_leak_into_the_peak(void)
{
    if (!find_launcher())
        SKIP("the launcher is not built here");
    static char program[] = "/bin/true";
    char *fat = malloc(FAT_BYTES);
    REQUIRE(fat != NULL);
    for (size_t at = 0; at < FAT_BYTES; at += 4096)
        ((volatile char *)fat)[at] = 1;
    struct bench_launcher_record record;
    REQUIRE(launch(program, NULL, &record));
    free(fat);
    NOTE("peak %lld KiB", (long long)record.peak_rss_kib);
    CHECK(record.peak_rss_kib > 0 && record.peak_rss_kib < LITTLE_KIB);
    CHECK_EQ(record.wait_status, 0);
    CHECK_EQ(record.exec_errno, 0);
    CHECK(record.wall_ns > 0);
}

static void lab_launcher__tells_how_a_command_ended(void)
{
    if (!find_launcher())
        SKIP("the launcher is not built here");
    static char no_program[] = "/no/such/program";
    static char falsity[] = "/bin/false";
    struct bench_launcher_record record;
    REQUIRE(launch(no_program, NULL, &record));
    CHECK_EQ(record.exec_errno, ENOENT);
    REQUIRE(launch(falsity, NULL, &record));
    CHECK_EQ(record.exec_errno, 0);
    CHECK(WIFEXITED(record.wait_status) && WEXITSTATUS(record.wait_status) == 1);
}

static void lab_launcher__counts_the_time_of_a_sleeping_command_as_wall_only(void)
{
    if (!find_launcher())
        SKIP("the launcher is not built here");
    static char sleeper[] = "/bin/sleep";
    static char duration[] = "0.2";
    struct bench_launcher_record record;
    REQUIRE(launch(sleeper, duration, &record));
    CHECK(record.wall_ns >= 200000000);
    CHECK(record.user_us + record.system_us < 100000);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(lab_launcher__a_fat_parent_does_not_leak_into_the_peak);
    RUN(lab_launcher__tells_how_a_command_ended);
    RUN(lab_launcher__counts_the_time_of_a_sleeping_command_as_wall_only);
    return unit_end();
}
