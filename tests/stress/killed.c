/* SPDX-License-Identifier: MIT */
/*
 * What: processes that are killed in the middle of the allocator: what they share with others stays sound.
 *
 * Why this way: after a fork the heap is private, so a killed child can harm a neighbour only through files that both write and
 * through a control block that it asks at. The child is traced: stopped at one of its system calls, then stepped by single
 * instructions, then killed, so that every state of its files is reached on purpose. A short run tries some of these places,
 * others for each seed; a long one all system calls, and instructions behind them as long as there is time.
 *
 * Invariants: a file of statistics or a profile is there whole or not at all; of records each is whole; whoever forked the child,
 * and a sibling that goes on meanwhile, find their blocks and heaps whole; a process whose asker was killed answers the next.
 *
 * Concurrency: the tracer kills one child at a time, a sibling works beside it.
 */
#include "support/calls.h"
#include "support/tagged.h"
#include "unit/unit.h"

#include "base/compiler.h"
#include "platform/pages.h"
#include "policy/profile.h"
#include "policy/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#if !SJ_UNDER_ASAN && !SJ_UNDER_TSAN

enum {
    HELD = 64,
    LARGE_BLOCKS = 6,
    LARGE_BYTES = 8 << 20,
    STEPS_MOST = 3000,
    CHILD_SECONDS = 60,
    PATH_BYTES = 512,
    FILE_BYTES = 1 << 21,
    SYSCALL_STOP = SIGTRAP | 0x80,
    ASK_STRIDE = 7
};

static struct model_calls calls;
static char folder[PATH_BYTES / 2];
static unsigned long kills, wholes;
static char text[FILE_BYTES];

/* ---- A traced child ---------------------------------------------------------------------------------------------- */

static pid_t start_traced(void (*work)(void))
{
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        alarm(CHILD_SECONDS);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        raise(SIGSTOP);
        work();
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return -1;
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    return child;
}

/* Lets it go on to its next stop; false if it has ended. */
static bool go_on(pid_t child, int how, int *status)
{
    int number = WIFSTOPPED(*status) ? WSTOPSIG(*status) : 0;
    if (number == SIGTRAP || number == SYSCALL_STOP || number == SIGSTOP)
        number = 0; /* those are the tracing's */
    return ptrace(how, child, NULL, (void *)(intptr_t)number) == 0 && waitpid(child, status, 0) == child &&
           WIFSTOPPED(*status);
}

/* Kills it at that stop before or behind a system call, and so many instructions on. False: it had ended before, well. */
static bool kill_at(void (*work)(void), unsigned long stop, unsigned long instructions)
{
    int status = 0;
    pid_t child = start_traced(work);
    if (!CHECK(child > 0))
        return false;
    for (unsigned long i = 0; i < stop; i++)
        if (!go_on(child, PTRACE_SYSCALL, &status)) {
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            return false;
        }
    for (unsigned long i = 0; i < instructions && go_on(child, PTRACE_SINGLESTEP, &status); i++)
        continue;
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
        continue;
    kills++;
    return true;
}

/* ---- What it does, and its neighbours ---------------------------------------------------------------------------- */

static void *held[HELD];

static void renew(uint64_t *random)
{
    void **block = &held[unit_random_below(random, HELD)];
    tagged_end(&calls, *block);
    *block = tagged_make(&calls, TAGGED_LEAST + unit_random_below(random, 20000));
}

/* Small and large blocks, a peak of the profile, and then the end, at which all files are written. */
static void work_with_files(void)
{
    uint64_t random = unit_state.seed;
    for (unsigned i = 0; i < 100; i++)
        renew(&random);
    void *large[LARGE_BLOCKS];
    for (unsigned i = 0; i < LARGE_BLOCKS; i++)
        large[i] = calls.malloc(LARGE_BYTES);
    for (unsigned i = 0; i < LARGE_BLOCKS; i++)
        calls.free(large[i]);
    (void)sj_purge(1);
}

static void heap_must_be_whole(void)
{
    uint64_t random = unit_state.seed ^ kills;
    for (unsigned i = 0; i < 50; i++)
        renew(&random);
    CHECK_EQ(sj_check(0), 1);
}

/* Goes on until the pipe is closed. */
static void be_a_neighbour(int until)
{
    char byte;
    (void)fcntl(until, F_SETFL, O_NONBLOCK);
    do
        heap_must_be_whole();
    while (!unit_failed() && read(until, &byte, 1) < 0);
    _exit((int)unit_failed());
}

static pid_t start_neighbour(int *until)
{
    int ends[2];
    if (!CHECK(pipe(ends) == 0))
        return -1;
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        be_a_neighbour(ends[0]);
    }
    close(ends[0]);
    *until = ends[1];
    return child;
}

static void end_neighbour(pid_t child, int until)
{
    int status = -1;
    close(until);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static size_t load(const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

static bool stats_are_whole(size_t bytes)
{
    return bytes > 4 && text[0] == '{' && strcmp(text + bytes - 3, "}}\n") == 0 &&
           strchr(text, '\n') == text + bytes - 1;
}

static bool profile_is_whole(size_t bytes)
{
    const struct sj_profile *head = (const struct sj_profile *)(const void *)text;
    if (bytes < sizeof *head || memcmp(head->magic, SJ_PROFILE_MAGIC, SJ_PROFILE_MAGIC_BYTES) != 0)
        return false;
    const size_t maps = sizeof *head + head->sites.value * sizeof(struct sj_profile_site);
    return bytes > maps && text[bytes - 1] == '\n' && strstr(text + maps, "[stack]") != NULL;
}

static bool records_are_whole(size_t bytes)
{
    size_t at = 0;
    while (at + sizeof(struct sj_record) <= bytes) {
        const struct sj_record *record = (const struct sj_record *)(const void *)(text + at);
        if (memcmp(record->magic, SJ_RECORD_MAGIC, SJ_RECORD_MAGIC_BYTES) != 0 || record->bytes != sizeof *record)
            return false;
        at += sizeof *record + record->counters_bytes;
    }
    return at == bytes;
}

/* Looks at all files, and takes them away but for what all processes write: that stays for the next. */
static void look_at_files(void)
{
    char path[PATH_BYTES + 256];
    DIR *all = opendir(folder);
    for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
        const char *name = entry->d_name;
        const size_t length = strlen(name);
        bool good = true;
        if (name[0] == '.')
            continue;
        const bool is_rest =
            length > 4 && strcmp(name + length - 4, ".tmp") == 0; /* beside the file: nobody reads it */
        const size_t bytes = load(name);
        if (!is_rest && strncmp(name, "stats", 5) == 0)
            good = stats_are_whole(bytes);
        else if (!is_rest && strncmp(name, "profile", 7) == 0)
            good = profile_is_whole(bytes);
        else if (!is_rest)
            good = records_are_whole(bytes);
        if (!CHECK(good))
            unit_print("# %s, %zu bytes\n", name, bytes);
        wholes += !is_rest;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (strcmp(name, "stats") != 0)
            unlink(path);
    }
    if (all != NULL)
        closedir(all);
}

static void killed_writer__leaves_files_whole_and_neighbours_sound(void)
{
    const double budget = unit_budget_seconds(2), end = unit_now_seconds() + budget / 2;
    uint64_t random = unit_state.seed;
    int until = -1;
    pid_t neighbour = start_neighbour(&until);
    unsigned long stops = 0, before = kills;
    while (kill_at(work_with_files, stops + 16, 0) && !unit_failed())
        stops += 16; /* about how many there are */
    look_at_files();
    for (unsigned long tries = 0; !unit_failed() && (tries < 10 || unit_now_seconds() < end); tries++) {
        const bool in_turn = budget > 10 && tries < stops;
        const unsigned long from_end = unit_random_below(&random, 1 + stops / (tries % 2 == 0 ? 1 : 8));
        (void)kill_at(work_with_files, in_turn ? tries : stops + 16 - from_end,
                      in_turn ? 0 : unit_random_below(&random, STEPS_MOST));
        heap_must_be_whole();
        look_at_files();
    }
    end_neighbour(neighbour, until);
    unit_print("# %lu killed at about %lu system calls, %lu files whole\n", kills - before, stops, wholes);
    CHECK(kills > before && wholes > 0);
}

/* ---- Askers ------------------------------------------------------------------------------------------------------ */

static char command_path[PATH_BYTES], process_text[16];
static const char *request_text;

static void run_command(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    execl(command_path, "scrubjay", "ctl", "--wait", "20", process_text, request_text, (char *)NULL);
    _exit(1);
}

static bool ask(const char *request)
{
    int status = -1;
    request_text = request;
    pid_t child = fork();
    if (child == 0)
        run_command();
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void killed_asker__leaves_a_process_that_answers(void)
{
    const char *build = getenv("SJ_BUILD_DIR");
    const double budget = unit_budget_seconds(2), end = unit_now_seconds() + budget / 2;
    uint64_t random = unit_state.seed;
    int until = -1;
    snprintf(command_path, sizeof command_path, "%s/scrubjay", build != NULL ? build : ".");
    if (access(command_path, X_OK) != 0)
        SKIP("there is no scrubjay in SJ_BUILD_DIR");
    pid_t process = start_neighbour(&until);
    snprintf(process_text, sizeof process_text, "%d", (int)process);
    unsigned long before = kills;
    CHECK(ask("release_ms=100"));
    for (unsigned long stop = 1 + unit_random_below(&random, ASK_STRIDE); !unit_failed(); stop += ASK_STRIDE) {
        request_text = "purge";
        if (!kill_at(run_command, stop, 0)) {
            stop = unit_random_below(&random, ASK_STRIDE);
            if (unit_now_seconds() > end)
                break;
        }
        CHECK(stop % 4 != 0 || ask("release_ms=50"));
    }
    CHECK(ask("check"));
    end_neighbour(process, until);
    unit_print("# %lu askers killed\n", kills - before);
    CHECK(kills > before);
}

/* ---- The files must be named before the library starts ----------------------------------------------------------- */

static int run_with_files(char **argv)
{
    char options[PATH_BYTES], record[PATH_BYTES], seed[32];
    snprintf(folder, sizeof folder, "/tmp/sj-killed-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    const char *given = getenv("SCRUBJAY_OPTIONS");
    snprintf(options, sizeof options,
             "%s%sprofile=on,profile_rate=64k,profile_dump=file:%s/profile.%%p,stats=json:%s/stats,stats_ms=1",
             given != NULL ? given : "", given != NULL ? "," : "", folder, folder);
    snprintf(record, sizeof record, "%s/record", folder);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)unit_state.seed);
    setenv("SCRUBJAY_OPTIONS", options, 1);
    setenv(SJ_RECORD_VARIABLE, record, 1);
    setenv("SJ_TEST_SEED", seed, 1);
    setenv("SJ_KILLED", folder, 1);
    execv("/proc/self/exe", argv);
    return 1;
}

static bool can_trace(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void remove_folder(void)
{
    look_at_files();
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/stats", folder);
    unlink(path);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    const char *given = getenv("SJ_KILLED");
    if (given == NULL && !can_trace()) {
        unit_print("processes can't be traced here\n");
        return 77;
    }
    if (given == NULL)
        return run_with_files(argv);
    snprintf(folder, sizeof folder, "%s", given);
    calls = calls_under_test();
    for (unsigned i = 0; i < HELD; i++)
        held[i] = tagged_make(&calls, TAGGED_LEAST);
    RUN(killed_writer__leaves_files_whole_and_neighbours_sound);
    RUN(killed_asker__leaves_a_process_that_answers);
    remove_folder();
    _exit(unit_end()); /* at an exit it would write its own files */
}

#else

int main(void)
{
    unit_print("a sanitizer's own state would be what is killed\n");
    return 77;
}

#endif
