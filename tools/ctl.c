/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay ctl`: asks a running process for something: to raise its level, to give memory back.
 *
 * Why this way: see control.h. A process that makes no call can't answer; then the request is left for its next one, and
 * the exit status says so.
 *
 * Invariants: exit status 0 done, 1 refused, 2 the process can't be reached or asked, 3 pending.
 *
 * Concurrency: one thread.
 */
#include "command.h"
#include "control.h"
#include "profile.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_usage(FILE *out)
{
    fputs(
        "usage: scrubjay ctl [--wait SECONDS] PID REQUEST...\n"
        "\n"
        "  level=N         raise the level, see `scrubjay explain levels`; it can't be lowered\n"
        "  release_ms=N    how long free memory is held from now on; -1: not by time\n"
        "  purge           give free memory back to the system at once\n"
        "  trim            the same, also what other threads keep\n"
        "  check           check the whole heap; damage ends the process with a report\n"
        "  profile FILE    write its heap profile (profile=on); alone, and with options of its own: see\n"
        "                  `scrubjay ctl PID profile --help`\n"
        "\n"
        "The process carries it out on its next slow path; it is waited for 5 seconds, or as --wait says. It needs "
        "the\n"
        "permission to trace the process.\n"
        "Exit status: 0 done, 1 refused, 2 the process can't be reached, or another request waits there: nothing was\n"
        "asked; 3 pending: it is asked, and done when the process comes by.\n",
        out);
}

/* "level=3" and the like; false if it is no request. */
static bool parse(const char *word, enum sj_command *command, uint64_t *number)
{
    char *end = NULL;
    const char *value = strchr(word, '=');
    const size_t length = value != NULL ? (size_t)(value - word) : strlen(word);
    errno = 0;
    const long long given = value != NULL ? strtoll(value + 1, &end, 10) : 0;
    const bool is_number = value != NULL && end != value + 1 && *end == '\0' && errno == 0;
    *number = (uint64_t)given;
    if (strcmp(word, "purge") == 0 || strcmp(word, "trim") == 0) {
        *command = SJ_COMMAND_PURGE;
        *number = word[0] == 't';
        return true;
    }
    if (strcmp(word, "check") == 0) {
        *command = SJ_COMMAND_CHECK;
        return true;
    }
    if (is_number && length == strlen("level") && memcmp(word, "level", length) == 0) {
        *command = SJ_COMMAND_LEVEL;
        return given >= 0;
    }
    *command = SJ_COMMAND_RELEASE_MS;
    return is_number && length == strlen("release_ms") && memcmp(word, "release_ms", length) == 0 && given >= -1;
}

static void say_level(const struct sj_remote *remote)
{
    const struct sj_control *control = &remote->control;
    printf("level %u%s\n", control->level.value,
           control->waiting.value != 0 ? "; threads that have not called since keep what they had taken until they do"
                                       : "");
}

static int say_answer(const struct sj_remote *remote, enum sj_command command, const char *word)
{
    const struct sj_answer *answer = &remote->control.answer;
    if (answer->error == EPERM && command == SJ_COMMAND_LEVEL && remote->control.level.value > 0)
        sj__message("%s: refused: the level is %u and is never lowered, or the process was started with live=off", word,
                    remote->control.level.value);
    else if (answer->error == EPERM)
        sj__message("%s: refused: the process was started with live=off", word);
    else if (answer->error == EINVAL)
        sj__message("%s: there is no such level", word);
    else if (answer->error == ENOTSUP)
        sj__message("%s: the library in the process was built for one level", word);
    else if (answer->error == ENOMEM)
        sj__message("%s: the kernel did not let the process change its settings, for want of memory or mappings; "
                    "nothing has changed",
                    word);
    else if (answer->error == EBADMSG)
        sj__message("%s: others asked at the same moments: ask again", word);
    else if (answer->error != 0)
        sj__message("%s: %s", word, strerror((int)answer->error));
    if (answer->error != 0)
        return 1;
    if (command == SJ_COMMAND_LEVEL)
        say_level(remote);
    else if (command == SJ_COMMAND_PURGE)
        puts(answer->number != 0 ? "free memory was given back" : "there was nothing to give back");
    else if (command == SJ_COMMAND_CHECK)
        printf("checked %llu KiB of address space: no damage found\n", (unsigned long long)answer->number / 1024);
    else
        puts("set");
    return 0;
}

/* A word that parse() has let pass. */
static int request(struct sj_remote *remote, const char *word, unsigned wait_ms)
{
    enum sj_command command;
    uint64_t number;
    (void)parse(word, &command, &number);
    const int error = sj__control_ask(remote, command, number, wait_ms);
    if (error == ETIMEDOUT) {
        sj__message("%s: pending: process %d has not taken a slow path since; it is done when it does", word,
                    (int)remote->target.process);
        return SJ_EXIT_PENDING;
    }
    if (error == EBUSY) {
        sj__message(
            "%s: not asked: process %d has another request to answer first, and has not taken a slow path since; "
            "ask again later",
            word, (int)remote->target.process);
        return SJ_EXIT_CANNOT_TELL;
    }
    if (error == ESRCH && command == SJ_COMMAND_CHECK) {
        sj__message("%s: process %d has ended meanwhile; if damage was found its report says which", word,
                    (int)remote->target.process);
        return 1;
    }
    if (error != 0) {
        sj__message("%s: process %d can't be asked: %s", word, (int)remote->target.process, strerror(error));
        return SJ_EXIT_CANNOT_TELL;
    }
    return say_answer(remote, command, word);
}

int sj__command_ctl(int argc, char **argv)
{
    static const struct option options[] = { { "wait", required_argument, NULL, 'w' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    struct sj_remote remote;
    char reason[SJ_CONTROL_REASON_BYTES];
    unsigned wait_ms = SJ_WAIT_MS;
    for (int option; (option = getopt_long(argc, argv, "+w:h", options, NULL)) != -1;) {
        switch (option) {
        case 'w':
            if (!sj__message_read_seconds("--wait", optarg, &wait_ms))
                return SJ_EXIT_USAGE;
            break;
        case 'h': print_usage(stdout); return SJ_EXIT_GOOD;
        default: print_usage(stderr); return SJ_EXIT_USAGE;
        }
    }
    const pid_t process = optind < argc ? sj__target_parse(argv[optind]) : 0;
    if (process == 0 || optind + 1 == argc) {
        sj__message(process == 0 ? "no PID given" : "no request given");
        print_usage(stderr);
        return SJ_EXIT_USAGE;
    }
    const bool wants_profile = strcmp(argv[optind + 1], "profile") == 0;
    for (int i = optind + 1; i < argc && !wants_profile; i++) { /* all before the first is carried out */
        enum sj_command command;
        uint64_t number;
        if (!parse(argv[i], &command, &number)) {
            sj__message("%s: no such request; `scrubjay ctl --help` lists them", argv[i]);
            return SJ_EXIT_USAGE;
        }
    }
    int status = sj__control_open(process, &remote, reason, sizeof reason);
    if (status != 0) {
        sj__message("%s", reason);
        return SJ_EXIT_CANNOT_TELL;
    }
    if (wants_profile)
        return sj__profile_of_process(&remote, argc - optind - 1, argv + optind + 1);
    for (int i = optind + 1; i < argc && status == 0; i++)
        status = request(&remote, argv[i], wait_ms);
    return status;
}
