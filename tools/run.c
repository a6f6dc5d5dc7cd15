/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay run`: starts a program under the library and a policy.
 *
 * Why this way: it only sets two variables and calls exec, so that the process, its number and its status are the
 * program's own. A program that can't take the library is refused: starting it unprotected is what nobody asked for.
 *
 * Invariants: if the program runs, this process has become it.
 *
 * Concurrency: one thread.
 */
#include "command.h"
#include "library.h"
#include "program.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_usage(FILE *out)
{
    fputs("usage: scrubjay run [--level N] [-o OPTIONS] [--lib PATH] [--anyway] [--] PROGRAM [ARGUMENT...]\n"
          "\n"
          "Starts PROGRAM with libscrubjay.so preloaded.\n"
          "\n"
          "  -l, --level N           0 bare, 1 guard, 2 scrub (default); see `scrubjay explain levels`\n"
          "  -o, --options OPTIONS   key=value,key=value; see `scrubjay explain`; may be repeated\n"
          "      --lib PATH          the library to preload, if not the one this command belongs to\n"
          "      --anyway            start a program that can't take the library too, with a warning\n"
          "  -h, --help\n"
          "\n"
          "What LD_PRELOAD and SCRUBJAY_OPTIONS hold already is kept; the options given here win.\n"
          "Exit status: the program's own; 125 this command failed, 126 PROGRAM can't be run, or not under the\n"
          "library, 127 PROGRAM was not found.\n",
          out);
}

/* Reads the options; returns the index of PROGRAM, or -status-1 to end with a status. */
static int read_arguments(int argc, char **argv, struct sj_launch *launch, bool *anyway)
{
    enum { OPTION_LIB = 256, OPTION_ANYWAY };
    static const struct option options[] = { { "level", required_argument, NULL, 'l' },
                                             { "options", required_argument, NULL, 'o' },
                                             { "lib", required_argument, NULL, OPTION_LIB },
                                             { "anyway", no_argument, NULL, OPTION_ANYWAY },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    for (int option; (option = getopt_long(argc, argv, "+l:o:h", options, NULL)) != -1;) {
        switch (option) {
        case 'l': launch->level = optarg; break;
        case 'o':
            if (!sj__library_add_options(launch, optarg))
                return -SJ_EXIT_RUN_FAILED - 1;
            break;
        case OPTION_LIB: launch->library = optarg; break;
        case OPTION_ANYWAY: *anyway = true; break;
        case 'h': print_usage(stdout); return -SJ_EXIT_GOOD - 1;
        default: fputs("`scrubjay run --help` says more.\n", stderr); return -SJ_EXIT_RUN_FAILED - 1;
        }
    }
    if (optind < argc)
        return optind;
    sj__message("no PROGRAM given");
    print_usage(stderr);
    return -SJ_EXIT_RUN_FAILED - 1;
}

int sj__command_run(int argc, char **argv)
{
    struct sj_launch launch = { 0 };
    struct sj_elf_facts library;
    struct sj_program program;
    char path[PATH_MAX], reason[SJ_REASON_BYTES + 2 * PATH_MAX];
    bool anyway = false;
    const int first = read_arguments(argc, argv, &launch, &anyway);
    if (first < 0)
        return -first - 1;
    if (!sj__library_check_options(&launch) || !sj__library_find(&launch, path, sizeof path, &library))
        return SJ_EXIT_RUN_FAILED;
    const int error = sj__program_read(argv[first], &program, reason, sizeof reason);
    if (error != 0) {
        sj__message("%s", reason);
        return error == ENOENT ? SJ_EXIT_RUN_MISSING : SJ_EXIT_RUN_REFUSED;
    }
    if (!sj__program_takes_preload(&program, &library, reason, sizeof reason)) {
        sj__message("%s", reason);
        if (!anyway)
            return SJ_EXIT_RUN_REFUSED;
        sj__message("starting it without protection, as --anyway asks");
    }
    const char *disable = getenv("SCRUBJAY_DISABLE");
    if (disable != NULL && disable[0] != '\0' && strcmp(disable, "0") != 0)
        sj__message("SCRUBJAY_DISABLE is set: the library will stand aside");
    if (!sj__library_set_environment(path, &launch))
        return SJ_EXIT_RUN_FAILED;
    execvp(argv[first], argv + first);
    sj__message("%s: %s", argv[first], strerror(errno));
    return errno == ENOENT ? SJ_EXIT_RUN_MISSING : SJ_EXIT_RUN_REFUSED;
}
