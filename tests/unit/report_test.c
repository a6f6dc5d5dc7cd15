/* SPDX-License-Identifier: MIT
 *
 * What: tests of report/: the lines of a report, the end of the process, and when nothing may be written.
 *
 * Why this way: each report is made in a child whose fd 2 is a pipe; the parent reads the text and the exit status.
 */
#include "report/report.h"

#include "policy/options.h"
#include "policy/status.h"
#include "report/document.h"
#include "report/location.h"
#include "report/status.h"
#include "unit/unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char output[65536]; /* what the last child wrote to fd 2 */
static int child_status;

/* Runs `act` in a child with fd 2 a pipe; with `start`, the report floor looks at fd 2 first. */
static void in_child(void (*act)(void), bool start)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        if (start)
            sj__report_start();
        act();
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got = 1; got > 0 && used < sizeof output - 1; used += (size_t)got) {
        got = read(ends[0], output + used, sizeof output - 1 - used);
        if (got < 0)
            got = 0;
    }
    output[used] = '\0';
    close(ends[0]);
    waitpid(child, &child_status, 0);
}

static bool aborted(void)
{
    return WIFSIGNALED(child_status) && WTERMSIG(child_status) == SIGABRT;
}

static unsigned occurrences(const char *words)
{
    unsigned count = 0;
    for (const char *at = output; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

static int a_global;

static _Noreturn void report_pointer(enum sj_report_id id, const void *pointer)
{
    const struct sj_report_facts facts = { .pointer = pointer,
                                           .function = "free",
                                           .caller = (const void *)(uintptr_t)report_pointer };
    sj__report_misuse(id, &facts);
}

static void act_all_facts(void)
{
    const struct sj_report_facts facts = { .pointer = (const void *)0x1030,
                                           .block = (const void *)0x1000,
                                           .function = "operator delete",
                                           .note = "a note",
                                           .caller = (const void *)0x1,
                                           .size_bytes = 64,
                                           .given_bytes = 24,
                                           .expected_bytes = 48,
                                           .offset_bytes = 48 };
    sj__report_misuse(SJ_SIZE_MISMATCH, &facts);
}

static void report_misuse__writes_one_line_first_when_all_facts_are_known(void)
{
    in_child(act_all_facts, true);
    CHECK(aborted());
    static const char first[] = "scrubjay: SJ-006 size mismatch ptr=0x1030 size=64 given=24 expected=48 block=0x1000 "
                                "offset=48 function=operator delete caller=0x1\n";
    CHECK(strncmp(output, first, sizeof first - 1) == 0);
    CHECK(strstr(output, "\nscrubjay:   note: a note\n") != NULL);
    CHECK(strstr(output, "\nscrubjay:   cause: ") != NULL);
    CHECK(output[strlen(output) - 1] == '\n');
    NOTE("%s", output);
}

static enum sj_report_id each_id;

static void act_each_id(void)
{
    report_pointer(each_id, (const void *)0xdeadbeef);
}

static void report_misuse__writes_whole_texts_when_any_id(void)
{
    for (size_t i = 0; i < sj__report_catalogue_count; i++) {
        const struct sj_report_entry *entry = &sj__report_catalogue[i];
        char expected[128];
        CHECK_EQ(entry->number, i + 1);
        each_id = (enum sj_report_id)entry->number;
        in_child(act_each_id, true);
        CHECK(aborted());
        snprintf(expected, sizeof expected, "scrubjay: SJ-%03u %s ptr=0xdeadbeef function=free caller=0x",
                 entry->number, entry->title);
        CHECK(strncmp(output, expected, strlen(expected)) == 0);
        CHECK(strstr(output, entry->cause) != NULL);
        CHECK(strstr(output, entry->remedy) != NULL);
    }
}

static void act_caller(void)
{
    report_pointer(SJ_DOUBLE_FREE, &a_global);
}

static void report_misuse__names_file_when_caller_is_known(void)
{
    char path[512], expected[640];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    REQUIRE(length > 0);
    path[length] = '\0';
    snprintf(expected, sizeof expected, " = %s+0x", path);
    in_child(act_caller, true);
    CHECK(strstr(output, expected) != NULL);
    CHECK(strstr(output, "pointer lies") == NULL); /* our own memory: the first line says it all */
}

static void act_stack(void)
{
    int local = 0;
    report_pointer(SJ_FOREIGN_POINTER, &local);
}

static void act_global(void)
{
    report_pointer(SJ_FOREIGN_POINTER, &a_global);
}

static void act_anonymous(void)
{
    char *pages = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    report_pointer(SJ_FOREIGN_POINTER, pages + 4096);
}

static void act_unmapped(void)
{
    char *pages = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages, 1 << 20);
    report_pointer(SJ_FOREIGN_POINTER, pages + 4096);
}

static void act_small(void)
{
    report_pointer(SJ_FOREIGN_POINTER, (const void *)24);
}

static void act_non_canonical(void)
{
    report_pointer(SJ_FOREIGN_POINTER, (const void *)(uintptr_t)0x4141414141414141);
}

static void *thread_stack_act(void *unused)
{
    (void)unused;
    act_stack();
    return NULL;
}

static void act_thread_stack(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, thread_stack_act, NULL);
    pthread_join(thread, NULL);
}

static void *other_stack_act(void *pointer)
{
    report_pointer(SJ_FOREIGN_POINTER, pointer);
    return NULL;
}

static void act_other_stack(void)
{
    int local = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, other_stack_act, &local);
    pthread_join(thread, NULL);
}

static void report_location__says_where_when_pointer_is_foreign(void)
{
    static const struct {
        void (*act)(void);
        const char *words;
    } cases[] = {
        { act_stack, "pointer lies in the stack of this thread (rw" },
        { act_thread_stack, "pointer lies in the stack of this thread (rw" },
        { act_other_stack, "pointer lies in the stack of the first thread" },
        { act_global, "report_test+0x" },
        { act_anonymous, "pointer lies in an anonymous mapping of " },
        { act_unmapped, "pointer lies nowhere: not mapped" },
        { act_small, "pointer lies nowhere: so small" },
        { act_non_canonical, "pointer lies nowhere: a non-canonical" },
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        in_child(cases[i].act, true);
        CHECK(aborted());
        if (!CHECK(strstr(output, cases[i].words) != NULL))
            unit_print("# wanted \"%s\" in:\n%s", cases[i].words, output);
    }
}

static void location_code__finds_same_offset_as_oracle(void)
{
    char buffer[512], expected[64];
    struct sj_text text;
    Dl_info program;
    REQUIRE(dladdr((const void *)&a_global, &program) != 0);
    sj__format_start(&text, buffer, sizeof buffer);
    sj__location_format_code(&text, (const void *)(uintptr_t)in_child);
    snprintf(expected, sizeof expected, "+0x%lx", (unsigned long)((uintptr_t)in_child - (uintptr_t)program.dli_fbase));
    CHECK(strstr(buffer, expected) != NULL);
}

/* ---- When nothing may be written ---- */

static void act_replaced(void)
{
    char name[] = "/tmp/report_test.XXXXXX";
    const int database = mkstemp(name);
    dup2(database, 2);
    sj__report_warn("a warning", NULL);
    const pid_t child = fork();
    if (child == 0)
        report_pointer(SJ_DOUBLE_FREE, &a_global);
    int status = 0;
    waitpid(child, &status, 0);
    const bool untouched = lseek(database, 0, SEEK_END) == 0;
    unlink(name);
    _exit(untouched && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 42 : 1);
}

static void report_write__writes_nothing_when_fd_2_is_another_file(void)
{
    in_child(act_replaced, true);
    CHECK(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 42);
    CHECK(output[0] == '\0');
}

static void act_closed_at_start(void)
{
    close(2);
    sj__report_start();
    act_replaced();
}

static void report_write__writes_nothing_when_fd_2_was_closed_at_start(void)
{
    in_child(act_closed_at_start, false);
    CHECK(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 42);
}

static void act_closed_later(void)
{
    close(2);
    report_pointer(SJ_DOUBLE_FREE, &a_global);
}

static void report_misuse__aborts_when_fd_2_is_closed(void)
{
    in_child(act_closed_later, true);
    CHECK(aborted());
    CHECK(output[0] == '\0');
}

static void report_misuse__writes_when_not_started(void)
{
    in_child(act_caller, false);
    CHECK(aborted());
    CHECK(strncmp(output, "scrubjay: SJ-004", 16) == 0);
}

static void act_broken_pipe(void)
{
    int ends[2];
    sigset_t pending;
    if (pipe(ends) != 0)
        _exit(1);
    dup2(ends[1], 2);
    close(ends[0]);
    sj__report_start();
    errno = 77;
    sj__report_warn("nobody ", "reads this");
    const bool kept = errno == 77;
    sigpending(&pending);
    _exit(kept && !sigismember(&pending, SIGPIPE) ? 42 : 1);
}

static void report_warn__survives_when_nobody_reads_the_pipe(void)
{
    in_child(act_broken_pipe, false);
    CHECK(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 42);
}

static void act_warn(void)
{
    sj__report_warn("a ", "b");
    sj__report_warn("c", NULL);
    sj__report_warn(NULL, "d");
    if (sj__report_begun())
        _exit(1);
}

static void report_warn__writes_both_parts_when_given(void)
{
    in_child(act_warn, true);
    CHECK(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 0);
    CHECK(strcmp(output, "scrubjay: warning: a b\nscrubjay: warning: c\nscrubjay: warning: d\n") == 0);
}

/* ---- Who reports ---- */

static void report_again(int signal_number)
{
    (void)signal_number;
    report_pointer(SJ_METADATA_CORRUPTION, &a_global);
}

static void act_report_in_handler(void)
{
    signal(SIGABRT, report_again);
    act_caller();
}

static void report_misuse__ends_at_once_when_the_handler_reports(void)
{
    in_child(act_report_in_handler, true);
    CHECK(aborted());
    CHECK_EQ(occurrences("SJ-004"), 1);
    CHECK_EQ(occurrences("SJ-008"), 0);
}

static void fork_in_handler(int signal_number)
{
    (void)signal_number;
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        if (!sj__report_begun())
            _exit(1);
        report_pointer(SJ_INTERIOR_POINTER, &a_global);
    }
    waitpid(child, &status, 0);
    _exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 42 : 1);
}

static void act_fork_in_handler(void)
{
    signal(SIGABRT, fork_in_handler);
    act_caller();
}

static void report_misuse__reports_in_child_when_handler_forks(void)
{
    in_child(act_fork_in_handler, true);
    CHECK(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 42);
    CHECK_EQ(occurrences("scrubjay: SJ-004"), 1);
    CHECK_EQ(occurrences("scrubjay: SJ-002"), 1);
}

static pthread_barrier_t together;

static void *report_together(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&together);
    act_caller();
    return NULL;
}

static void act_many_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, report_together, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void report_misuse__reports_once_when_many_threads_do(void)
{
    for (unsigned round = 0; round < 20; round++) {
        in_child(act_many_threads, true);
        CHECK(aborted());
        CHECK_EQ(occurrences("scrubjay: SJ-004"), 1);
    }
}

static _Alignas(16) char small_stack[8192]; /* SIGSTKSZ of old */

static void handle_on_small_stack(int signal_number)
{
    (void)signal_number;
    act_global();
}

static void act_small_stack(void)
{
    const stack_t stack = { .ss_sp = small_stack, .ss_size = sizeof small_stack };
    const struct sigaction action = { .sa_handler = handle_on_small_stack, .sa_flags = SA_ONSTACK };
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static void report_misuse__fits_when_stack_is_8_KiB(void)
{
    in_child(act_small_stack, true);
    CHECK(aborted());
    CHECK_EQ(occurrences("\nscrubjay:   remedy: "), 1);
}

/* ---- The document ---- */

static char folder[64];
static struct sj_settings report_settings;

/* Makes a folder, and settings that send reports to `name` in it. */
static void set_target(const char *name)
{
    snprintf(folder, sizeof folder, "/tmp/report_test.XXXXXX");
    if (mkdtemp(folder) == NULL)
        abort();
    sj__options_start(&report_settings, 1);
    snprintf(report_settings.report, sizeof report_settings.report, "json:%s/%s", folder, name);
}

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The file's contents; "" if there is none. */
static const char *contents(const char *name)
{
    static char text[2 * SJ_DOCUMENT_TEXT_BYTES];
    const int fd = open(in_folder(name), O_RDONLY);
    const ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    text[got > 0 ? got : 0] = '\0';
    close(fd);
    return text;
}

static void remove_folder(const char *name)
{
    unlink(in_folder(name));
    rmdir(folder);
}

static bool is_document(const char *text)
{
    return strncmp(text, "{\"scrubjay_report\":1,\"id\":\"SJ-004\",", 35) == 0 &&
           strstr(text, "\"frames\":[{") != NULL && strlen(text) > 3 && strcmp(text + strlen(text) - 3, "]}\n") == 0;
}

static void act_target(void)
{
    sj__report_configure(&report_settings);
    act_caller();
}

static void document__is_written_to_a_new_file_when_asked_for(void)
{
    struct stat status;
    set_target("a.%p");
    in_child(act_target, true);
    CHECK(aborted());
    const char *number = strstr(output, ", process ");
    REQUIRE(number != NULL);
    char name[32];
    snprintf(name, sizeof name, "a.%lu", strtoul(number + 10, NULL, 10));
    CHECK(is_document(contents(name)));
    CHECK(stat(in_folder(name), &status) == 0 && (status.st_mode & 0777) == 0600);
    CHECK(strstr(output, "not written") == NULL);
    remove_folder(name);
}

static void document__is_not_written_when_the_file_exists(void)
{
    set_target("a");
    const int fd = open(in_folder("a"), O_WRONLY | O_CREAT, 0600);
    CHECK(write(fd, "precious", 8) == 8);
    close(fd);
    in_child(act_target, true);
    CHECK(aborted());
    CHECK(strcmp(contents("a"), "precious") == 0);
    CHECK(strstr(output, "report not written to ") != NULL);
    remove_folder("a");
}

static void document__is_not_written_when_the_path_is_a_link(void)
{
    set_target("link");
    char to[128];
    snprintf(to, sizeof to, "%s", in_folder("new"));
    REQUIRE(symlink(to, in_folder("link")) == 0);
    in_child(act_target, true);
    CHECK(aborted());
    CHECK(access(to, F_OK) != 0);
    CHECK(strstr(output, "report not written to ") != NULL);
    remove_folder("link");
}

/* Two processes, parent and child, report; the child's file is the parent's. */
static void act_target_and_fork(void)
{
    sj__report_configure(&report_settings);
    signal(SIGABRT, fork_in_handler);
    act_caller();
}

static void document__is_appended_when_a_child_reports_too(void)
{
    set_target("a");
    in_child(act_target_and_fork, true);
    const char *text = contents("a");
    const char *second = strchr(text, '\n');
    REQUIRE(second != NULL);
    CHECK(strstr(second, "\"id\":\"SJ-002\"") != NULL);
    remove_folder("a");
}

static void act_full_device(void)
{
    snprintf(report_settings.report, sizeof report_settings.report, "json:fd:%d", open("/dev/full", O_WRONLY));
    act_target();
}

static void document__is_said_not_to_be_written_when_no_space_is_left(void)
{
    in_child(act_full_device, true);
    CHECK(aborted());
    CHECK(strstr(output, "report not written to fd:") != NULL && strstr(output, ": no space is left\n") != NULL);
}

static void allow_file_bytes(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void allow_and_fork_in_handler(int signal_number)
{
    allow_file_bytes(RLIM_INFINITY);
    fork_in_handler(signal_number);
}

/* The parent's document is cut by a limit, which the child does not have. */
static void act_cut(void)
{
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGABRT, allow_and_fork_in_handler);
    allow_file_bytes(100);
    act_target();
}

static void document__begins_a_line_when_the_one_before_was_cut(void)
{
    set_target("a");
    in_child(act_cut, true);
    CHECK(strstr(output, ": the file may not be that large\n") != NULL);
    static const char second[] = "\n{\"scrubjay_report\":1,\"id\":\"SJ-002\"";
    const char *text = contents("a");
    CHECK_EQ(strcspn(text, "\n"), 100);
    CHECK(strncmp(text + 100, second, sizeof second - 1) == 0);
    CHECK_EQ(occurrences("report not written to "), 1);
    remove_folder("a");
}

static void act_descriptor(void)
{
    snprintf(report_settings.report, sizeof report_settings.report, "json:fd:%d", 2);
    act_target();
}

static void act_descriptor_replaced(void)
{
    const int fd = open("/dev/null", O_WRONLY);
    snprintf(report_settings.report, sizeof report_settings.report, "json:fd:%d", fd);
    sj__report_configure(&report_settings);
    dup2(2, fd);
    act_caller();
}

static void document__is_written_to_a_descriptor_when_it_is_the_same_file(void)
{
    in_child(act_descriptor, true);
    CHECK(aborted());
    CHECK_EQ(occurrences("\n{\"scrubjay_report\":1,"), 1);
    in_child(act_descriptor_replaced, true);
    CHECK(aborted());
    CHECK_EQ(occurrences("{\"scrubjay_report\":1,"), 0);
    CHECK(strstr(output, "report not written to ") != NULL);
}

static void (*volatile at_the_end)(void) = act_descriptor;

static void act_deep(unsigned depth)
{
    if (depth == 0)
        at_the_end();
    else
        act_deep(depth - 1);
    sj_compiler_barrier();
}

static void act_very_deep(void)
{
    act_deep(500);
}

static void document__is_whole_when_the_stack_is_deep(void)
{
    in_child(act_very_deep, true);
    CHECK(aborted());
    const char *text = strchr(output, '{');
    REQUIRE(text != NULL);
    CHECK(is_document(text));
    CHECK(strlen(text) < SJ_DOCUMENT_TEXT_BYTES);
    CHECK_EQ(occurrences("{\"address\":"), 64);
}

/* ---- The status block ---- */

static void act_banner(void)
{
    struct sj_settings settings;
    sj__options_start(&settings, 1);
    sj__status_publish(SJ_STATE_ON, "1.2.3", &settings);
    sj__status_banner();
}

static void status_banner__says_release_and_options_when_published(void)
{
    in_child(act_banner, true);
    CHECK(strncmp(output, "scrubjay: on version=1.2.3 build=", 33) == 0);
    CHECK(strstr(output, " options=level=1,random=on,delay=run,") != NULL);
    CHECK_EQ(occurrences("\n"), 1);
    NOTE("%s", output);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(report_misuse__writes_one_line_first_when_all_facts_are_known);
    RUN(report_misuse__writes_whole_texts_when_any_id);
    RUN(report_misuse__names_file_when_caller_is_known);
    RUN(report_location__says_where_when_pointer_is_foreign);
    RUN(location_code__finds_same_offset_as_oracle);
    RUN(report_write__writes_nothing_when_fd_2_is_another_file);
    RUN(report_write__writes_nothing_when_fd_2_was_closed_at_start);
    RUN(report_misuse__aborts_when_fd_2_is_closed);
    RUN(report_misuse__writes_when_not_started);
    RUN(report_warn__survives_when_nobody_reads_the_pipe);
    RUN(report_warn__writes_both_parts_when_given);
    RUN(report_misuse__ends_at_once_when_the_handler_reports);
    RUN(report_misuse__reports_in_child_when_handler_forks);
    RUN(report_misuse__reports_once_when_many_threads_do);
    RUN(report_misuse__fits_when_stack_is_8_KiB);
    RUN(document__is_written_to_a_new_file_when_asked_for);
    RUN(document__is_not_written_when_the_file_exists);
    RUN(document__is_not_written_when_the_path_is_a_link);
    RUN(document__is_appended_when_a_child_reports_too);
    RUN(document__is_said_not_to_be_written_when_no_space_is_left);
    RUN(document__begins_a_line_when_the_one_before_was_cut);
    RUN(document__is_written_to_a_descriptor_when_it_is_the_same_file);
    RUN(document__is_whole_when_the_stack_is_deep);
    RUN(status_banner__says_release_and_options_when_published);
    return unit_end();
}
