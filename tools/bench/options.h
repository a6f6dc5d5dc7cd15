/* SPDX-License-Identifier: MIT
 *
 * What: the command line of `scrubjay cost`, `ab` and `bench`: one table of options, of which each command takes its own.
 *
 * Why this way: every choice that shapes a result is an option with a default, and the whole command is printed with the
 * result, so that a session can be repeated.
 *
 * Invariants: after bench_options_read() every field has a value but the arms and bases, which the commands settle.
 * bases[0] is the arm the null control copies.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_OPTIONS_H
#define SJ_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/arms.h"

enum { BENCH_BASES_MAX = 4, BENCH_PATTERNS_MAX = 64 };

/* Bits: an option of the table is for the commands it names. */
enum bench_command { BENCH_COST = 1 << 0, BENCH_AB = 1 << 1, BENCH_BENCH = 1 << 2 };

struct bench_options {
    enum bench_command which;
    const char *manifest; /* list of workloads; NULL: the command after -- */
    char *bin;            /* {bin} of the list */
    char *dir;            /* {dir}, and the working directory of every command */
    const char *out;      /* directory of raw rows and tables; NULL for none */
    bool resume;          /* `out` holds the beginning of this session */
    char *command;        /* this command line, as a shell reads it */
    char **arguments;     /* and as it came */
    size_t argument_count;
    char *folder;   /* where it was given */
    char *launcher; /* path */
    char *shim;     /* path of the library that times calls; NULL without --latency */
    struct bench_arms arms;
    size_t bases[BENCH_BASES_MAX];
    size_t base_count;
    const char *base_names[BENCH_BASES_MAX]; /* as asked for; base_count of them */
    char *patterns[BENCH_PATTERNS_MAX];
    size_t pattern_count;
    char **words; /* after the options: sides of ab, then the command; up to a NULL */
    size_t word_count;
    size_t words_before_dashes;
    const char *library; /* libscrubjay.so to measure; NULL: the one that belongs to this command */
    const char *server;  /* shell command, NULL: none */
    const char *client;
    const char *normalise; /* shell command that stdout and stderr pass before they are compared */
    const char *input;     /* file for stdin; NULL: /dev/null */
    const char *budget;    /* "cpu=3%,rss=10%" */
    unsigned threads;      /* of the command; 0: find out */
    unsigned base_level;
    size_t layouts; /* 0: as built */
    uint64_t seed;
    double budget_seconds; /* of the whole session */
    size_t pairs;          /* 0: by the budget */
    double delta_time;
    double delta_memory;
    double confidence;
    double pressure_limit_percent;
    double pressure_wait_seconds;
    double least_seconds;   /* shorter runs are refused */
    unsigned limit_seconds; /* longer runs are killed */
    bool single_options;    /* arms with one option changed */
    bool no_ladder;         /* of the levels only the base level */
    bool count_calls;
    bool count_instructions;
    bool time_calls;
    bool list;
    bool sequential;
    bool ignore_output; /* stdout is not compared */
    bool ignore_errors; /* stderr is not compared */
    bool any_status;    /* a command may end with any status, if it is the same under every arm */
};

/* Ends the program on --help and on what it does not understand. */
void bench_options_read(struct bench_options *options, enum bench_command which, int argc, char **argv);

/* --resume: reads the command line the session was started with, in the folder it was given in. */
void bench_options_resume(struct bench_options *options, enum bench_command which);

/* Makes bases[] out of base_names[]; the first arm if none was named. To be called when all arms are there. */
void bench_options_find_bases(struct bench_options *options);

#endif
