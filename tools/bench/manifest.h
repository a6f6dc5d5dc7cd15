/* SPDX-License-Identifier: MIT
 *
 * What: the list of workloads: one a line, `name|kind|threads|prepare|command`.
 *
 * Why this way: a line of text a workload can be read, filtered and extended without building anything; commands are
 * plain words, after VARIABLE=VALUE ones if any, started without a shell unless they need one, so that no shell is
 * measured by mistake.
 *
 * Invariants: `kind` is micro or real, then, after commas, words that weaken the check: `stdout=ignore`,
 * `stderr=ignore`. `prepare` is - or a shell command, run once, unmeasured. {bin} and {dir} are replaced. Lines that are
 * empty or start with # are skipped. The command, the last field, may contain |.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_MANIFEST_H
#define SJ_BENCH_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_WORKLOADS_MAX = 256, BENCH_WORDS_MAX = 256, BENCH_WORKLOAD_VARIABLES_MAX = 8 };

struct bench_workload {
    char *name;
    bool real; /* a program people run, not one that only allocates */
    bool ignore_stdout;
    bool ignore_stderr;
    unsigned threads;                                  /* 0: to be found out */
    char *prepare;                                     /* NULL if there is nothing to prepare */
    char *command;                                     /* as shown */
    char *variables[BENCH_WORKLOAD_VARIABLES_MAX + 1]; /* the command's own, up to a NULL */
    char *words[BENCH_WORDS_MAX];                      /* what is executed; words[0] is an absolute path */
};

struct bench_manifest {
    struct bench_workload *items;
    size_t count;
};

/* Reads the list, of which only the names that match one of the patterns (as the shell's) are kept; all if there are no
 * patterns. Ends the program with file and line if a line is not understood. */
void bench_manifest_read(struct bench_manifest *manifest, const char *path, const char *bin, const char *dir,
                         char *const *patterns, size_t pattern_count);

/* The one workload that a command line is; the words are kept. */
void bench_manifest_take(struct bench_manifest *manifest, char **words, unsigned threads);

/* The one workload that a line is, as in the last field of a list. */
void bench_manifest_take_line(struct bench_manifest *manifest, const char *line, unsigned threads);

/* Does the command use more of the shell than blanks between words? */
bool bench_needs_shell(const char *command);

/* Finds the command's program and fills words[]; false if there is none. To be called after its prepare command. */
bool bench_workload_resolve(struct bench_workload *workload);

#endif
