/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay verify`: is Scrubjay really on in a command or a process, which build, which options; or why not.
 *
 * Why this way: a preloaded library that is not loaded leaves no trace in the program. So it is not the environment that
 * is asked but the process itself: the status block in its memory. A command is started as it would be, with the
 * environment of this one, and stopped before its own first instruction (trace.h).
 *
 * Invariants: the first line begins with `on: `, `not on: ` or `cannot tell: `, and the exit status is 0, 1 or 2 to match.
 *
 * Concurrency: one thread.
 */
#include "command.h"
#include "control.h"
#include "library.h"
#include "program.h"
#include "target.h"
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = SJ_REASON_BYTES + 2 * PATH_MAX };

static void print_usage(FILE *out)
{
    fputs(
        "usage: scrubjay verify [--] PROGRAM [ARGUMENT...]\n"
        "       scrubjay verify --run [-l N] [-o OPTIONS] [--lib PATH] [--] PROGRAM [ARGUMENT...]\n"
        "       scrubjay verify PID\n"
        "       scrubjay verify --all\n"
        "\n"
        "Tells whether Scrubjay is on in PROGRAM as it would start with the present environment, or in a running\n"
        "process; which build, and which options; or why it is not. PROGRAM is started and ended before its own\n"
        "code begins. With --run it is started as `scrubjay run` would start it. --all: a line for each process that\n"
        "Scrubjay is found in, and how many could not be looked at.\n"
        "\n"
        "A program whose name is a number is written after `--`.\n"
        "Exit status: 0 on, 1 not on, 2 cannot tell.\n",
        out);
}

static int say(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int say(int status, const char *format, ...)
{
    static const char *const verdicts[] = { "on", "not on", "cannot tell" };
    va_list arguments;
    printf("%s: ", verdicts[status]);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    return status;
}

static void print_block(const struct sj_target *target)
{
    const struct sj_status *status = &target->status;
    printf("  library   %s%s\n", target->holder, target->is_replaced ? " (replaced by another file since)" : "");
    if (status->self == 0)
        return;
    printf("  build id  %s\n", status->build_id[0] != '\0' ? status->build_id : "none");
    if (status->state == SJ_STATE_ON)
        printf("  options   %s\n", status->options);
}

/* What the kernel refused at the start or at a raise. */
static void print_unsealed(const struct sj_target *target)
{
    static struct sj_remote remote;
    remote.target.process = target->process;
    remote.address = target->status.control;
    if (sj__control_read(&remote) == 0 && remote.control.unsealed.value != 0)
        printf("  note      the page that leads to the allocator's functions is writable: the kernel has not sealed it "
               "(see\n            vm.max_map_count), or has larger pages than 4 KiB\n");
}

/* The words of LD_PRELOAD that name us, if any. */
static bool asks_for_scrubjay(const char *preload)
{
    return strstr(preload, "libscrubjay") != NULL;
}

static int say_absent(const struct sj_target *target, const struct sj_elf_facts *facts)
{
    const char *program = target->program;
    if (facts->is_elf && !facts->has_loader && !facts->holds_status)
        return say(SJ_EXIT_NOT_ON,
                   "%s is static: no loader runs, so nothing can be preloaded; link it with libscrubjay.a instead",
                   program);
    if (target->is_privileged)
        return say(SJ_EXIT_NOT_ON,
                   "%s is set-user-id (or the like): the loader ignores LD_PRELOAD there; name the library in "
                   "/etc/ld.so.preload or link the program with it",
                   program);
    if (asks_for_scrubjay(target->preload))
        return say(
            SJ_EXIT_NOT_ON,
            "LD_PRELOAD is %s, but the loader of %s did not load it: no such file, made for another machine or C "
            "library, or not readable to this user",
            target->preload, program);
    return say(SJ_EXIT_NOT_ON,
               "%s is not linked with libscrubjay.so, and neither LD_PRELOAD (%s) nor /etc/ld.so.preload brings it; "
               "start it with `scrubjay run`",
               program, target->preload[0] != '\0' ? target->preload : "not set");
}

static int say_found(const struct sj_target *target, const struct sj_elf_facts *facts)
{
    const struct sj_status *status = &target->status;
    int answer;
    if (status->version != SJ_STATUS_VERSION)
        return say(SJ_EXIT_CANNOT_TELL,
                   "Scrubjay is in %s, by %s, in another version than this command reads: ask the command that came "
                   "with it",
                   target->program, target->holder);
    if (facts->defines_malloc && !facts->holds_status) {
        answer = say(SJ_EXIT_NOT_ON, "%s has a malloc of its own, which comes before the library's", target->program);
    } else if (status->self == 0 || status->state == SJ_STATE_LOADED) {
        answer = say(SJ_EXIT_CANNOT_TELL, "the library is in %s, but has not been started yet", target->program);
    } else if (status->state == SJ_STATE_DISABLED) {
        answer = say(SJ_EXIT_NOT_ON, "SCRUBJAY_DISABLE switched it off in %s", target->program);
    } else if (status->state == SJ_STATE_SHADOWED) {
        answer = say(SJ_EXIT_NOT_ON, "another malloc comes before the library's in %s%s%s", target->program,
                     target->other_malloc[0] != '\0' ? ": that of " : "", target->other_malloc);
    } else if (status->state == SJ_STATE_ASIDE) {
        answer = say(SJ_EXIT_NOT_ON,
                     "it stepped aside in %s for a tool that brings its own malloc (valgrind, a "
                     "sanitizer)",
                     target->program);
    } else {
        answer = say(SJ_EXIT_GOOD, "Scrubjay %s in %s", status->release, target->program);
    }
    print_block(target);
    if (answer == SJ_EXIT_GOOD)
        print_unsealed(target);
    if (answer == SJ_EXIT_GOOD && target->other_malloc[0] != '\0')
        printf("  note      %s is loaded too and has a malloc of its own; calls that ask for it by name, or from a "
               "library loaded\n            with RTLD_DEEPBIND, do not reach Scrubjay\n",
               target->other_malloc);
    return answer;
}

/* Looks at a process that is running, or stopped at its entry. */
static int judge_process(pid_t process)
{
    struct sj_target target;
    struct sj_elf_facts facts = { 0 };
    char link[64];
    const int error = sj__target_read(process, &target);
    if (error == EACCES || error == EPERM)
        return say(SJ_EXIT_CANNOT_TELL,
                   "not allowed to look at process %d: it needs the permission to trace it; ask as its own user (with "
                   "kernel.yama.ptrace_scope at 0) or as root",
                   (int)process);
    if (error == ESRCH)
        return say(SJ_EXIT_CANNOT_TELL, "there is no process %d with a program in it", (int)process);
    if (error != 0)
        return say(SJ_EXIT_CANNOT_TELL, "process %d can't be read: %s", (int)process, strerror(error));
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process);
    sj__elf_read(link, &facts);
    return target.found ? say_found(&target, &facts) : say_absent(&target, &facts);
}

/* One line of --all; false if it could not be looked at. */
static bool list_process(pid_t process, FILE *lines, unsigned *on)
{
    static const char *const states[] = { "loaded", "on", "disabled", "shadowed", "aside" };
    struct sj_target target;
    const int error = sj__target_read(process, &target);
    if (error != 0)
        return error == ESRCH; /* a kernel thread, or it has ended */
    const struct sj_status *status = &target.status;
    if (target.found && status->version != SJ_STATUS_VERSION)
        fprintf(lines, "%7d  of another version than this command reads  %s\n", (int)process, target.program);
    if (!target.found || status->version != SJ_STATUS_VERSION || status->state >= sizeof states / sizeof states[0])
        return true;
    *on += status->state == SJ_STATE_ON;
    fprintf(lines, "%7d  %-8s %-8s %.*s  %s\n", (int)process, states[status->state], status->release,
            (int)strcspn(status->options, ","), status->options, target.program);
    return true;
}

static int judge_all(void)
{
    char *text = NULL;
    size_t bytes = 0;
    unsigned on = 0, unseen = 0;
    DIR *folder = opendir("/proc");
    FILE *lines = folder != NULL ? open_memstream(&text, &bytes) : NULL; /* the verdict comes first */
    if (lines == NULL)
        return say(SJ_EXIT_CANNOT_TELL, "/proc: %s", strerror(errno));
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const pid_t process = sj__target_parse(entry->d_name);
        if (process != 0 && process != getpid())
            unseen += !list_process(process, lines, &on);
    }
    closedir(folder);
    fclose(lines);
    const int answer = on > 0 ? SJ_EXIT_GOOD : unseen > 0 ? SJ_EXIT_CANNOT_TELL : SJ_EXIT_NOT_ON;
    say(answer, "in %u processes; %u could not be looked at%s", on, unseen, unseen > 0 ? " (ask as root)" : "");
    fputs(text, stdout);
    free(text);
    return answer;
}

static int judge_command(char **argv)
{
    struct sj_program program;
    char reason[LINE_BYTES];
    if (sj__program_read(argv[0], &program, reason, sizeof reason) != 0)
        return say(SJ_EXIT_CANNOT_TELL, "%s", reason);
    if (!program.facts.is_elf || !program.facts.is_program || program.facts.bits != 64)
        return say(SJ_EXIT_CANNOT_TELL, "%s is no 64-bit program", program.target);
    if (!program.facts.has_loader) {
        if (!program.facts.holds_status)
            return say(SJ_EXIT_NOT_ON,
                       "%s is static: no loader runs, so nothing can be preloaded; link it with libscrubjay.a instead",
                       program.target);
        return say(SJ_EXIT_GOOD, "Scrubjay is linked into %s; `scrubjay verify PID` tells its options once it runs",
                   program.target);
    }
    if (program.is_privileged && geteuid() != 0)
        return say(program.facts.needs_scrubjay ? SJ_EXIT_CANNOT_TELL : SJ_EXIT_NOT_ON,
                   "%s is set-user-id (or set-group-id, or has capabilities): the loader ignores LD_PRELOAD there; if "
                   "/etc/ld.so.preload or the program itself names the library, start it and ask root for "
                   "`scrubjay verify PID`",
                   program.target);
    const pid_t process = sj__trace_start(argv, reason, sizeof reason);
    if (process < 0)
        return say(SJ_EXIT_CANNOT_TELL, "%s: %s", program.path, reason);
    const int answer = judge_process(process);
    sj__trace_end(process);
    return answer;
}

static bool prepare_run(const struct sj_launch *launch)
{
    char path[PATH_MAX];
    struct sj_elf_facts library;
    return sj__library_check_options(launch) && sj__library_find(launch, path, sizeof path, &library) &&
           sj__library_set_environment(path, launch);
}

int sj__command_verify(int argc, char **argv)
{
    enum { OPTION_LIB = 256, OPTION_RUN, OPTION_ALL };
    static const struct option options[] = { { "run", no_argument, NULL, OPTION_RUN },
                                             { "level", required_argument, NULL, 'l' },
                                             { "options", required_argument, NULL, 'o' },
                                             { "lib", required_argument, NULL, OPTION_LIB },
                                             { "help", no_argument, NULL, 'h' },
                                             { "all", no_argument, NULL, OPTION_ALL },
                                             { NULL, 0, NULL, 0 } };
    struct sj_launch launch = { 0 };
    bool as_run = false;
    for (int option; (option = getopt_long(argc, argv, "+l:o:h", options, NULL)) != -1;) {
        switch (option) {
        case OPTION_RUN: as_run = true; break;
        case OPTION_ALL: return judge_all();
        case OPTION_LIB: launch.library = optarg; break;
        case 'l': launch.level = optarg; break;
        case 'o':
            if (!sj__library_add_options(&launch, optarg))
                return SJ_EXIT_CANNOT_TELL;
            break;
        case 'h': print_usage(stdout); return SJ_EXIT_GOOD;
        default: print_usage(stderr); return SJ_EXIT_USAGE;
        }
    }
    if (optind == argc || (!as_run && (launch.library != NULL || launch.level != NULL || launch.options != NULL))) {
        sj__message(optind == argc ? "no PROGRAM or PID given" : "-l, -o and --lib need --run");
        print_usage(stderr);
        return SJ_EXIT_USAGE;
    }
    const bool after_dashes = strcmp(argv[optind - 1], "--") == 0;
    const pid_t process = after_dashes || as_run || optind + 1 < argc ? 0 : sj__target_parse(argv[optind]);
    if (process != 0)
        return judge_process(process);
    if (as_run && !prepare_run(&launch))
        return SJ_EXIT_CANNOT_TELL;
    return judge_command(argv + optind);
}
