/* SPDX-License-Identifier: MIT
 *
 * What: the facts about the process.
 *
 * Why this way: each is compared with what libc or /proc says by another way.
 *
 * Invariants: no descriptor is left open.
 *
 * Concurrency: one test starts a thread.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "platform/control_group.h"
#include "platform/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static char folder[] = "/tmp/platform_process_XXXXXX";

static const char *path_in_folder(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool write_file(const char *path, const char *text, mode_t mode)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t bytes = strlen(text);

    if (descriptor < 0)
        return false;
    bool done = write(descriptor, text, bytes) == (ssize_t)bytes && fchmod(descriptor, mode) == 0;
    return close(descriptor) == 0 && done;
}

static unsigned open_descriptors(void)
{
    DIR *entries = opendir("/proc/self/fd");
    unsigned count = 0;

    while (entries != NULL && readdir(entries) != NULL)
        count++;
    if (entries != NULL)
        closedir(entries);
    return count;
}

static void platform_process__environment_is_found_in_environ(void)
{
    char buffer[64];

    CHECK(setenv("SJ_PROCESS_TEST", "some=value,more", 1) == 0);
    CHECK(setenv("SJ_PROCESS", "shorter", 1) == 0);
    const char *value = sj__process_environment("SJ_PROCESS_TEST", buffer, sizeof buffer);
    CHECK(value != NULL && strcmp(value, "some=value,more") == 0);
    value = sj__process_environment("SJ_PROCESS", buffer, sizeof buffer);
    CHECK(value != NULL && strcmp(value, "shorter") == 0);
    CHECK(sj__process_environment("SJ_PROCESS_TES", buffer, sizeof buffer) == NULL);
    CHECK(sj__process_environment("SJ_PROCESS_TEST_", buffer, sizeof buffer) == NULL);
}

/* Before libc has set `environ`. The initial environment of this process was given by main(), see there. */
static void platform_process__environment_is_found_when_environ_is_unset(void)
{
    char buffer[4096];
    char small[4];
    char **saved = environ;

    environ = NULL;
    const char *value = sj__process_environment("SJ_PROCESS_INITIAL", buffer, sizeof buffer);
    bool found = value != NULL && strcmp(value, "set at exec") == 0;
    const char *none = sj__process_environment("SJ_PROCESS_INITIA", buffer, sizeof buffer);
    const char *nor = sj__process_environment("SJ_PROCESS_INITIAL_", buffer, sizeof buffer);
    const char *empty = sj__process_environment("SJ_PROCESS_EMPTY", buffer, sizeof buffer);
    const char *cut = sj__process_environment("SJ_PROCESS_INITIAL", small, sizeof small);
    environ = saved;
    CHECK(found);
    CHECK(none == NULL);
    CHECK(nor == NULL);
    CHECK(empty != NULL && *empty == '\0');
    CHECK(cut == NULL || strcmp(cut, "set at exec") == 0); /* whole or not at all */
}

static void platform_process__name_is_that_of_the_program(void)
{
    char name[64];
    char tiny[4];

    sj__process_name(name, sizeof name);
    CHECK(strncmp(name, program_invocation_short_name, sizeof name - 1) == 0);
    sj__process_name(tiny, sizeof tiny);
    CHECK_EQ(strlen(tiny), 3);
    CHECK(strncmp(tiny, name, 3) == 0);
}

static void platform_process__file_is_read_whole_or_not_at_all(void)
{
    char buffer[16];

    REQUIRE(write_file(path_in_folder("plain"), "0123456789", 0600));
    errno = 4242;
    CHECK_EQ(sj__process_read_file(path_in_folder("plain"), false, buffer, sizeof buffer), 10);
    CHECK(strcmp(buffer, "0123456789") == 0);
    CHECK_EQ(sj__process_read_file(path_in_folder("plain"), false, buffer, 11), 10); /* it fits exactly */
    CHECK(strcmp(buffer, "0123456789") == 0);
    CHECK(sj__process_read_file(path_in_folder("plain"), false, buffer, 10) == -EFBIG);
    CHECK(buffer[0] == '\0');
    CHECK(sj__process_read_file(path_in_folder("plain"), false, buffer, 1) == -EFBIG);
    CHECK(sj__process_read_file("/proc/self/status", false, buffer, sizeof buffer) == -EFBIG);
    CHECK_EQ(errno, 4242);
}

static void platform_process__file_that_cannot_be_read_gives_its_errno(void)
{
    char buffer[16] = "left over";

    errno = 4242;
    CHECK(sj__process_read_file(path_in_folder("missing"), false, buffer, sizeof buffer) == -ENOENT);
    CHECK(buffer[0] == '\0');
    CHECK(sj__process_read_file(folder, false, buffer, sizeof buffer) == -EISDIR);
    char target[128];
    snprintf(target, sizeof target, "%s", path_in_folder("plain"));
    REQUIRE(write_file(target, "text", 0600));
    REQUIRE(symlink(target, path_in_folder("link")) == 0);
    CHECK_EQ(sj__process_read_file(path_in_folder("link"), false, buffer, sizeof buffer), 4);
    CHECK(sj__process_read_file(path_in_folder("link"), true, buffer, sizeof buffer) == -ELOOP);
    CHECK(buffer[0] == '\0');
    CHECK(mkfifo(path_in_folder("fifo"), 0600) == 0);
    CHECK(sj__process_read_file(path_in_folder("fifo"), true, buffer, sizeof buffer) == -EPERM); /* and does not hang */
    CHECK_EQ(errno, 4242);
}

static void platform_process__trusted_file_is_roots_and_nobody_elses(void)
{
    char buffer[16];

    REQUIRE(write_file(path_in_folder("trusted"), "text", 0644));
    if (geteuid() != 0) {
        CHECK(sj__process_read_file(path_in_folder("trusted"), true, buffer, sizeof buffer) == -EPERM);
        SKIP("the rest needs root");
    }
    CHECK(sj__process_read_file(path_in_folder("trusted"), true, buffer, sizeof buffer) == 4);
    REQUIRE(chmod(path_in_folder("trusted"), 0664) == 0);
    CHECK(sj__process_read_file(path_in_folder("trusted"), true, buffer, sizeof buffer) == -EPERM);
    REQUIRE(chmod(path_in_folder("trusted"), 0646) == 0);
    CHECK(sj__process_read_file(path_in_folder("trusted"), true, buffer, sizeof buffer) == -EPERM);
    REQUIRE(chmod(path_in_folder("trusted"), 0600) == 0 && chown(path_in_folder("trusted"), 12345, 0) == 0);
    CHECK(sj__process_read_file(path_in_folder("trusted"), true, buffer, sizeof buffer) == -EPERM);
}

static void platform_process__address_space_limit_is_the_rlimit(void)
{
    int status = -1;
    struct rlimit now;
    REQUIRE(getrlimit(RLIMIT_AS, &now) == 0);
    CHECK_EQ(sj__process_address_space_limit(), now.rlim_cur == RLIM_INFINITY ? SIZE_MAX : (size_t)now.rlim_cur);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = { (rlim_t)1 << 40, now.rlim_max };
        bool right = setrlimit(RLIMIT_AS, &limit) == 0 && sj__process_address_space_limit() == (size_t)1 << 40;
        _exit(right ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

static void platform_process__resident_bytes_follow_use(void)
{
    size_t bytes = (size_t)32 << 20;
    size_t before;
    size_t during;
    size_t after;
    size_t peak;

    sj__process_resident(&before, &peak);
    CHECK(before > 0 && peak > 0);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    memset(memory, 1, bytes);
    sj__process_resident(&during, &peak);
    CHECK(during >= before + bytes / 2);
    REQUIRE(munmap(memory, bytes) == 0);
    sj__process_resident(&after, &peak);
    CHECK(after < during);
    CHECK(peak >= during - ((size_t)1 << 20)); /* the kernel's counters are batched by thread */
}

static void *thread_id_of(void *id)
{
    *(uint32_t *)id = sj__process_thread_id();
    CHECK_EQ(sj__process_thread_id(), syscall(SYS_gettid));
    return NULL;
}

static void platform_process__ids_are_the_kernels(void)
{
    pthread_t thread;
    uint32_t other = 0;
    int status = -1;

    CHECK_EQ(sj__process_id(), getpid());
    CHECK_EQ(sj__process_thread_id(), getpid());
    REQUIRE(pthread_create(&thread, NULL, thread_id_of, &other) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK(other != 0 && other != sj__process_thread_id());
    pid_t child = fork();
    if (child == 0) {
        sj__process_forked();
        _exit(sj__process_thread_id() == (uint32_t)getpid() ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

static void platform_process__is_not_secure_here(void)
{
    CHECK(!sj__process_is_secure());
}

static void remove_folder(void)
{
    static const char *const names[] = { "plain", "link", "fifo", "trusted" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(path_in_folder(names[i]));
    (void)rmdir(folder);
}

/* --- Control groups. --- */

static size_t allowance(const char *group)
{
    char self[128];
    CHECK(write_file(path_in_folder("self"), group, 0644));
    snprintf(self, sizeof self, "%s", path_in_folder("self"));
    return sj__control_group_memory(folder, self);
}

static void platform_process__memory_allowance_is_read_from_version_1(void)
{
    static const char groups[] = "5:devices:/\n4:cpu,memory:/slice/service\n3:memory_of_another:/\n0::/\n";
    REQUIRE(mkdir(path_in_folder("memory"), 0755) == 0 && mkdir(path_in_folder("memory/slice"), 0755) == 0 &&
            mkdir(path_in_folder("memory/slice/service"), 0755) == 0);
    CHECK_EQ(allowance(groups), SIZE_MAX); /* no limits */
    CHECK(write_file(path_in_folder("memory/memory.limit_in_bytes"), "9223372036854771712\n", 0644));
    CHECK(write_file(path_in_folder("memory/slice/service/memory.limit_in_bytes"), "3000000\n", 0644));
    CHECK_EQ(allowance(groups), 3000000);
    CHECK(write_file(path_in_folder("memory/slice/memory.limit_in_bytes"), "2000000\n", 0644));
    CHECK_EQ(allowance(groups), 2000000);
    CHECK_EQ(allowance("4:memory:/slice/service"), 2000000);
    CHECK_EQ(allowance("4:memory:/\n"), 9223372036854771712u);
    CHECK_EQ(allowance("4:cpu:/slice/service\n0::/slice/service\n"), SIZE_MAX); /* memory is not controlled */
    CHECK_EQ(allowance("memory\n"), SIZE_MAX);
    const char *left[] = { "memory/slice/service/memory.limit_in_bytes", "memory/slice/memory.limit_in_bytes",
                           "memory/memory.limit_in_bytes", "self" };
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        CHECK(unlink(path_in_folder(left[i])) == 0);
    CHECK(rmdir(path_in_folder("memory/slice/service")) == 0 && rmdir(path_in_folder("memory/slice")) == 0 &&
          rmdir(path_in_folder("memory")) == 0);
}

static void platform_process__memory_allowance_is_the_least_of_the_group_and_those_above(void)
{
    CHECK_EQ(allowance("0::/service\n"), SIZE_MAX); /* no version 2 here */
    CHECK(write_file(path_in_folder("cgroup.controllers"), "memory\n", 0644));
    CHECK_EQ(allowance("0::/service\n"), SIZE_MAX); /* no limits */
    REQUIRE(mkdir(path_in_folder("slice"), 0755) == 0 && mkdir(path_in_folder("slice/service"), 0755) == 0);
    CHECK(write_file(path_in_folder("slice/service/memory.max"), "3000000\n", 0644));
    CHECK_EQ(allowance("0::/slice/service\n"), 3000000);
    CHECK(write_file(path_in_folder("slice/service/memory.high"), "max\n", 0644));
    CHECK_EQ(allowance("0::/slice/service\n"), 3000000);
    CHECK(write_file(path_in_folder("slice/service/memory.high"), "2000000\n", 0644));
    CHECK_EQ(allowance("0::/slice/service\n"), 2000000);
    CHECK_EQ(allowance("0::/slice\n"), SIZE_MAX);
    CHECK(write_file(path_in_folder("slice/memory.max"), "1000000\n", 0644));
    CHECK_EQ(allowance("0::/slice/service\n"), 1000000);
    CHECK_EQ(allowance("0::/"), SIZE_MAX);
    CHECK(write_file(path_in_folder("memory.max"), "500000\n", 0644)); /* as in a container */
    CHECK_EQ(allowance("0::/\n"), 500000);
    CHECK_EQ(allowance("0::/slice/service\n"), 500000);
    CHECK_EQ(allowance("4:memory:/slice/service\n"), SIZE_MAX);
    CHECK_EQ(allowance(""), SIZE_MAX);
    const char *left[] = { "slice/service/memory.max", "slice/service/memory.high",
                           "slice/memory.max",         "memory.max",
                           "cgroup.controllers",       "self" };
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        CHECK(unlink(path_in_folder(left[i])) == 0);
    CHECK(rmdir(path_in_folder("slice/service")) == 0 && rmdir(path_in_folder("slice")) == 0);
}

int main(int argc, char **argv)
{
    if (getenv("SJ_PROCESS_INITIAL") == NULL) { /* once more, with a known initial environment */
        setenv("SJ_PROCESS_INITIAL", "set at exec", 1);
        setenv("SJ_PROCESS_EMPTY", "", 1);
        execv("/proc/self/exe", argv);
    }
    unit_begin(argc, argv);
    if (mkdtemp(folder) == NULL)
        return 1;
    unsigned descriptors = open_descriptors();
    RUN(platform_process__environment_is_found_in_environ);
    RUN(platform_process__environment_is_found_when_environ_is_unset);
    RUN(platform_process__name_is_that_of_the_program);
    RUN(platform_process__file_is_read_whole_or_not_at_all);
    RUN(platform_process__file_that_cannot_be_read_gives_its_errno);
    RUN(platform_process__trusted_file_is_roots_and_nobody_elses);
    RUN(platform_process__address_space_limit_is_the_rlimit);
    RUN(platform_process__resident_bytes_follow_use);
    RUN(platform_process__ids_are_the_kernels);
    RUN(platform_process__is_not_secure_here);
    RUN(platform_process__memory_allowance_is_read_from_version_1);
    RUN(platform_process__memory_allowance_is_the_least_of_the_group_and_those_above);
    remove_folder();
    if (open_descriptors() != descriptors) {
        unit_print("# a descriptor was left open\n");
        return 1;
    }
    return unit_end();
}
