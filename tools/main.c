/* SPDX-License-Identifier: MIT
 *
 * What: the scrubjay command: picks the subcommand.
 *
 * Why this way: a table of rows; what a subcommand does stands in its own file.
 *
 * Invariants: every subcommand understands --help.
 *
 * Concurrency: one thread.
 */
#include "command.h"

#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    { "run", sj__command_run, "start a program under the library and a policy" },
    { "verify", sj__command_verify,
      "is it really on in a command or a process, which build, which options; or why not" },
    { "stat", sj__command_stat, "what the allocator of a running process holds" },
    { "top", sj__command_top, "the same, redrawn, with what it gains a second" },
    { "ctl", sj__command_ctl, "raise the level of a running process, or have it give memory back" },
    { "doctor", sj__command_doctor, "what this machine gives to the protections, and what is missing" },
    { "explain", sj__command_explain, "what an option does and costs, what a report means" },
    { "report", sj__command_report, "the report in a JSON or core file, with functions and lines" },
    { "profile", sj__command_profile, "a heap profile in a format that pprof or a flame graph reads" },
    { "cost", sj__command_cost, "what each level and option costs a program of yours" },
    { "ab", sj__command_ab, "is build or option set B slower than A: one verdict" },
    { "bench", sj__command_bench, "the bundled workloads under every allocator of this machine" },
    { "gauntlet", sj__command_gauntlet, "attacks on the heap, and which allocator stops them" },
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *out)
{
    fputs("usage: scrubjay COMMAND [ARGUMENT...]\n\n", out);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "  scrubjay COMMAND --help    the command's own options\n"
          "  scrubjay --version\n",
          out);
}

static int refuse(const char *word)
{
    sj__message("no such command: %s", word);
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        if (sj__message_resembles(word, commands[i].name)) {
            fprintf(stderr, "Did you mean `scrubjay %s`?\n", commands[i].name);
            return SJ_EXIT_USAGE;
        }
    }
    fputs("`scrubjay --help` lists the commands; `scrubjay run -- PROGRAM` starts a program.\n", stderr);
    return SJ_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return SJ_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0) {
        puts("scrubjay " SJ_VERSION_TEXT);
        return SJ_EXIT_GOOD;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_usage(stdout);
        return SJ_EXIT_GOOD;
    }
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            char speaker[32]; /* getopt_long puts argv[0] before its messages */
            snprintf(speaker, sizeof speaker, "scrubjay %s", word);
            argv[1] = speaker;
            sj__message_start(speaker);
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return refuse(word);
}
