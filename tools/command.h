/* SPDX-License-Identifier: MIT
 *
 * What: the subcommands, their exit statuses, and how the command speaks.
 *
 * Why this way: one file a subcommand, one row a subcommand in main.c.
 *
 * Invariants: messages about what went wrong go to stderr and begin with `scrubjay SUBCOMMAND: `; answers go to stdout.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_TOOLS_COMMAND_H
#define SJ_TOOLS_COMMAND_H

#include "base/compiler.h"

/* Exit statuses. Those of `run` are env(1)'s, so that the program's own can be told from ours. */
enum {
    SJ_EXIT_GOOD = 0,
    SJ_EXIT_NOT_ON = 1, /* verify: it is not on */
    SJ_EXIT_USAGE = 2,  /* wrong arguments; verify: cannot tell */
    SJ_EXIT_CANNOT_TELL = 2,
    SJ_EXIT_PENDING = 3, /* ctl, stat: the process has been asked, and has not come by yet */
    SJ_EXIT_RUN_FAILED = 125,
    SJ_EXIT_RUN_REFUSED = 126, /* the program was found and cannot be run */
    SJ_EXIT_RUN_MISSING = 127  /* the program was not found */
};

/* Each takes its own name as argv[0] and returns an exit status. */
int sj__command_run(int argc, char **argv);
int sj__command_explain(int argc, char **argv);
int sj__command_verify(int argc, char **argv);
int sj__command_report(int argc, char **argv);
int sj__command_profile(int argc, char **argv);
int sj__command_ctl(int argc, char **argv);
int sj__command_stat(int argc, char **argv);
int sj__command_top(int argc, char **argv);
int sj__command_doctor(int argc, char **argv);
int sj__command_gauntlet(int argc, char **argv);
int sj__command_cost(int argc, char **argv);
int sj__command_ab(int argc, char **argv);
int sj__command_bench(int argc, char **argv);

/* Who speaks, for the messages: "scrubjay run"; kept, not copied. */
void sj__message_start(const char *name);

/* One line on stderr: `scrubjay run: ...`. */
void sj__message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints `label`, and `text` in a column beside it, broken at blanks before the 80th column. */
void sj__print_labelled(const char *label, const char *text);
enum { SJ_WAIT_MS = 5000 }; /* for an answer, if --wait says nothing else */

/* "0.5" becomes 500; false, with a message, for anything but a number of seconds from 0 to an hour. */
bool sj__message_read_seconds(const char *option, const char *text, unsigned *ms);

/* Does a word of the user's look like a misspelling of `name`? */
bool sj__message_resembles(const char *word, const char *name);

#endif
