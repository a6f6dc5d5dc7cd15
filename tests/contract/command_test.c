/* SPDX-License-Identifier: MIT
 *
 * What: tests of the scrubjay command: run, verify, explain.
 *
 * Why this way: each test runs the command that lies in the build folder through a shell and looks at its exit status and
 * text. Programs that can't be preloaded are made from /bin/true by changing a few bytes of its headers, so that no
 * static libc and no second compiler is needed.
 */
#include "unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char command[PATH_MAX], library[PATH_MAX], folder[] = "/tmp/command_test.XXXXXX";
static char output[65536]; /* stdout and stderr of the last command */

/* Runs a shell text in which %s is the command; returns the exit status. */
__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char text[3 * PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    FILE *pipe_end = popen(text, "r");
    if (!CHECK(pipe_end != NULL))
        return -1;
    const size_t length = fread(output, 1, sizeof output - 1, pipe_end);
    output[length] = '\0';
    const int status = pclose(pipe_end);
    NOTE("%s\n%s=> %d", text, output, status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool said(const char *words)
{
    const bool found = strstr(output, words) != NULL;
    if (!found)
        unit_print("# wanted \"%s\" in:\n%s", words, output);
    return found;
}

/* Copies /bin/true to `name` in the folder, changed by `change`; false if it is no 64-bit ELF. */
static bool make_program(const char *name, void (*change)(unsigned char *bytes, Elf64_Ehdr *header))
{
    static unsigned char bytes[1 << 20];
    char path[PATH_MAX];
    FILE *from = fopen("/bin/true", "rb");
    if (from == NULL)
        return false;
    const size_t count = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    if (count < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0 || bytes[EI_CLASS] != ELFCLASS64)
        return false;
    if (change != NULL)
        change(bytes, (Elf64_Ehdr *)(void *)bytes);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *to = fopen(path, "wb");
    if (to == NULL)
        return false;
    const bool written = fwrite(bytes, 1, count, to) == count;
    return fclose(to) == 0 && written && chmod(path, 0755) == 0;
}

static bool make_script(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *to = fopen(path, "w");
    return to != NULL && fputs(text, to) >= 0 && fclose(to) == 0 && chmod(path, 0755) == 0;
}

static void take_loader(unsigned char *bytes, Elf64_Ehdr *header)
{
    Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(bytes + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_INTERP)
            segments[i].p_type = PT_NULL;
    }
}

static void change_machine(unsigned char *bytes, Elf64_Ehdr *header)
{
    (void)bytes;
    header->e_machine = EM_SPARCV9;
}

static void command_run__passes_status_when_program_ends(void)
{
    CHECK_EQ(shell("%s run -- sh -c 'exit 9' 2>&1", command), 9);
    CHECK(output[0] == '\0');
}

static void command_run__keeps_environment_when_it_is_set(void)
{
    CHECK_EQ(shell("LD_PRELOAD=/none.so SCRUBJAY_OPTIONS=level=2,stats=0 %s run -l 1 -o scrub=free -o sized=0 -- "
                   "sh -c 'echo \"$LD_PRELOAD|$SCRUBJAY_OPTIONS|$0|$1\"' a 'b c' 2>/dev/null",
                   command),
             0);
    char expected[2 * PATH_MAX];
    snprintf(expected, sizeof expected, "%s:/none.so|level=2,stats=0,level=1,scrub=free,sized=0|a|b c\n", library);
    CHECK(said(expected));
    CHECK_EQ(shell("LD_PRELOAD=%s:/none.so %s run sh -c 'echo $LD_PRELOAD' 2>/dev/null", library, command), 0);
    snprintf(expected, sizeof expected, "%s:/none.so\n", library);
    CHECK(said(expected)); /* not twice */
}

static void command_run__puts_options_in_force_when_given(void)
{
    CHECK_EQ(shell("%s run -l 1 -o scrub=free,verbose=1 -- /bin/true 2>&1", command), 0);
    CHECK(said("scrubjay: on version="));
    CHECK(said("options=level=1,random=on,delay=run,quarantine=16k,scrub=free,"));
}

static void command_run__refuses_when_program_cannot_take_it(void)
{
    REQUIRE(make_program("static", take_loader) && make_program("machine", change_machine) &&
            make_script("script", "#! /bin/sh -e\necho hello\n") && make_script("plain", "echo hello\n") &&
            make_script("text.txt", "hello\n"));
    CHECK_EQ(shell("%s run -- no-such-program-here 2>&1", command), 127);
    CHECK(said("not found"));
    CHECK_EQ(shell("%s run -- %s/none 2>&1", command, folder), 127);
    CHECK_EQ(shell("%s run -- %s 2>&1", command, folder), 126);
    CHECK_EQ(shell("%s run -- %s/static 2>&1", command, folder), 126);
    CHECK(said("static"));
    CHECK_EQ(shell("%s run -- %s/machine 2>&1", command, folder), 126);
    CHECK(said("ELF machine 43"));
    CHECK_EQ(shell("%s run -- %s/script 2>&1", command, folder), 0);
    CHECK(said("hello"));
    CHECK_EQ(shell("%s run -- %s/plain 2>&1", command, folder), 0);
    CHECK_EQ(shell("chmod a-x %s/text.txt; %s run -- %s/text.txt 2>&1", folder, command, folder), 126);
}

static void command_run__follows_script_when_interpreter_is_static(void)
{
    char text[PATH_MAX];
    REQUIRE(make_program("static", take_loader));
    snprintf(text, sizeof text, "#!%s/static\n", folder);
    REQUIRE(make_script("script", text));
    CHECK_EQ(shell("%s run -- %s/script 2>&1", command, folder), 126);
    CHECK(said("/static is static"));
    snprintf(text, sizeof text, "#!/usr/bin/env -S %s/static x\n", folder);
    REQUIRE(make_script("script", text));
    CHECK_EQ(shell("%s run -- %s/script 2>&1", command, folder), 126);
    CHECK(said("/static is static"));
    REQUIRE(make_script("script", "#!/no/such/interpreter\n"));
    CHECK_EQ(shell("%s run -- %s/script 2>&1", command, folder), 127);
    CHECK(said("interpreter /no/such/interpreter"));
}

static void command_run__refuses_when_program_is_set_user_id(void)
{
    char path[PATH_MAX];
    if (getuid() != 0)
        SKIP("only root can make a program of another user");
    REQUIRE(make_program("suid", NULL));
    snprintf(path, sizeof path, "%s/suid", folder);
    REQUIRE(chown(path, 65534, 65534) == 0 && chmod(path, 04755) == 0);
    CHECK_EQ(shell("%s run -- %s 2>&1", command, path), 126);
    CHECK(said("set-user-id"));
    CHECK_EQ(shell("%s run --anyway -- %s 2>&1", command, path), 0);
    CHECK(said("without protection"));
    CHECK_EQ(shell("%s verify --run -- %s 2>&1", command, path), 1);
    CHECK(said("not on: "));
    CHECK(said("set-user-id"));
}

static void command_run__refuses_when_arguments_are_wrong(void)
{
    static const char *const wrong[] = { "",
                                         "--bogus ls",
                                         "-l 7 ls",
                                         "-l x ls",
                                         "-l 1,scrub=off ls",
                                         "-o scrib=free ls",
                                         "-o scrub=no ls",
                                         "-o level ls",
                                         "--lib /none.so ls",
                                         "--lib /bin/sh.none ls",
                                         "-o" };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQ(shell("%s run %s 2>&1", command, wrong[i]), 125);
        CHECK(said("scrubjay run: "));
    }
    CHECK_EQ(shell("%s run -o scrib=free ls 2>&1", command), 125);
    CHECK(said("did you mean scrub="));
}

static void command_verify__says_on_when_library_is_preloaded(void)
{
    CHECK_EQ(shell("%s verify --run -l 1 -o scrub=reuse -- sh 2>&1", command), 0);
    CHECK(strncmp(output, "on: Scrubjay ", 13) == 0);
    CHECK(said("  library   "));
    CHECK(said("libscrubjay.so"));
    CHECK(said("  build id  "));
    CHECK(said("  options   level=1,random=on,delay=run,quarantine=16k,scrub=reuse,"));
    CHECK_EQ(shell("LD_PRELOAD=%s SCRUBJAY_OPTIONS=level=0 %s verify sh 2>&1", library, command), 0);
    CHECK(said("  options   level=0,random=off"));
}

static void command_verify__says_why_when_not_on(void)
{
    CHECK_EQ(shell("%s verify -- sh 2>&1", command), 1);
    CHECK(strncmp(output, "not on: ", 8) == 0);
    CHECK(said("LD_PRELOAD (not set)"));
    CHECK_EQ(shell("LD_PRELOAD=/none/libscrubjay.so %s verify -- sh 2>/dev/null", command), 1);
    CHECK(said("did not load it"));
    REQUIRE(make_program("static", take_loader));
    CHECK_EQ(shell("%s verify -- %s/static 2>&1", command, folder), 1);
    CHECK(said("static"));
}

static void command_verify__cannot_tell_when_there_is_nothing_to_see(void)
{
    CHECK_EQ(shell("%s verify -- no-such-program-here 2>&1", command), 2);
    CHECK(strncmp(output, "cannot tell: ", 13) == 0);
    CHECK_EQ(shell("%s verify 2147483647 2>&1", command), 2);
    CHECK(strncmp(output, "cannot tell: ", 13) == 0);
    CHECK_EQ(shell("%s verify 2>&1", command), 2);
    CHECK_EQ(shell("%s verify -l 1 ls 2>&1", command), 2);
}

static void command_verify__does_not_run_the_program(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/touched", folder);
    CHECK_EQ(shell("%s verify --run -- touch %s 2>&1", command, path), 0);
    CHECK(access(path, F_OK) != 0);
}

static void command_verify__sees_running_process_when_linked_or_not(void)
{
    void *block = malloc(1); /* this is what links this test with the library */
    CHECK_EQ(shell("%s verify %d 2>&1", command, (int)getpid()), 0);
    CHECK(said("on: Scrubjay "));
    free(block);
    CHECK_EQ(shell("sleep 20 & %s verify $!; s=$?; kill $!; exit $s", command), 1);
    CHECK(said("not on: "));
    CHECK_EQ(shell("%s run -l 0 -- sleep 20 & sleep 0.5; %s verify $!; s=$?; kill $!; exit $s", command, command), 0);
    CHECK(said("level=0"));
}

static void command_explain__knows_every_option_and_report(void)
{
    static const char *const words[] = { "level",   "random",  "delay",   "scrub",   "guard", "sized",
                                         "foreign", "thp",     "seed",    "verbose", "stats", "scrub=free",
                                         "levels",  "options", "reports", "sj-4",    "10" };
    CHECK_EQ(shell("%s explain 2>&1", command), 0);
    CHECK(said("SJ-010"));
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        CHECK_EQ(shell("%s explain %s 2>&1", command, words[i]), 0);
    for (unsigned i = 1; i <= 10; i++) {
        char id[16];
        snprintf(id, sizeof id, "SJ-%03u ", i);
        CHECK_EQ(shell("%s explain SJ-%03u 2>&1", command, i), 0);
        CHECK(strncmp(output, id, strlen(id)) == 0);
        CHECK(said("what to do"));
    }
    CHECK_EQ(shell("%s explain bill 2>&1", command), 0);
    CHECK(said("cached_large") && said("bare"));
    CHECK_EQ(shell("%s explain SJ-099 2>&1", command), 2);
    CHECK_EQ(shell("%s explain scrubb 2>&1", command), 2);
    CHECK(said("Did you mean `scrubjay explain scrub`?"));
}

static void command_doctor__tells_what_there_is(void)
{
    static const char *const facts[] = { "guard markers", "max_map_count", "protection keys",
                                         "huge pages",    "overcommit",    "address space",
                                         "control group", "seccomp",       "ptrace_scope" };
    char wanted[32];
    const int status = shell("%s doctor 2>&1", command);
    for (unsigned i = 0; i < sizeof facts / sizeof facts[0]; i++)
        CHECK(said(facts[i]));
    CHECK_EQ(status, strstr(output, "!!") != NULL ? 1 : 0);
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    if (CHECK(file != NULL) && CHECK(fgets(wanted, sizeof wanted, file) != NULL)) {
        wanted[strcspn(wanted, "\n")] = '\0';
        CHECK(said(wanted));
    }
    if (file != NULL)
        fclose(file);
    CHECK_EQ(shell("ulimit -v 4000000; %s doctor 2>&1", command), status);
    CHECK(said("4000000 KiB"));
    CHECK_EQ(shell("%s doctor now 2>&1", command), 2);
}

static void command_main__hints_when_word_is_unknown(void)
{
    CHECK_EQ(shell("%s 2>&1", command), 2);
    CHECK_EQ(shell("%s rnu 2>&1", command), 2);
    CHECK_EQ(shell("%s verfiy 2>&1", command), 2);
    CHECK(said("Did you mean `scrubjay verify`?"));
    CHECK_EQ(shell("%s --help 2>/dev/null", command), 0);
    CHECK(said("verify"));
    CHECK_EQ(shell("%s --version 2>/dev/null", command), 0);
    CHECK(said("scrubjay 0."));
    CHECK_EQ(shell("for c in run verify explain; do %s $c --help 2>/dev/null || exit 1; done", command), 0);
}

int main(int argc, char **argv)
{
    const char *build = getenv("SJ_BUILD_DIR");
    snprintf(command, sizeof command, "%s/scrubjay", build != NULL ? build : "build/release");
    snprintf(library, sizeof library, "%s/libscrubjay.so", build != NULL ? build : "build/release");
    if (access(command, X_OK) != 0) {
        unit_print("no scrubjay command in the build folder\n");
        return 77;
    }
    char resolved[PATH_MAX];
    if (realpath(library, resolved) == NULL || mkdtemp(folder) == NULL)
        return 1;
    memcpy(library, resolved, sizeof library);
    unsetenv("LD_PRELOAD");
    unsetenv("SCRUBJAY_OPTIONS");
    unsetenv("SCRUBJAY_DISABLE");
    unit_begin(argc, argv);
    RUN(command_run__passes_status_when_program_ends);
    RUN(command_run__keeps_environment_when_it_is_set);
    RUN(command_run__puts_options_in_force_when_given);
    RUN(command_run__refuses_when_program_cannot_take_it);
    RUN(command_run__follows_script_when_interpreter_is_static);
    RUN(command_run__refuses_when_program_is_set_user_id);
    RUN(command_run__refuses_when_arguments_are_wrong);
    RUN(command_verify__says_on_when_library_is_preloaded);
    RUN(command_verify__says_why_when_not_on);
    RUN(command_verify__cannot_tell_when_there_is_nothing_to_see);
    RUN(command_verify__does_not_run_the_program);
    RUN(command_verify__sees_running_process_when_linked_or_not);
    RUN(command_explain__knows_every_option_and_report);
    RUN(command_doctor__tells_what_there_is);
    RUN(command_main__hints_when_word_is_unknown);
    char remove[PATH_MAX];
    snprintf(remove, sizeof remove, "rm -rf %s", folder);
    if (system(remove) != 0)
        unit_print("# %s is left behind\n", folder);
    return unit_end();
}
