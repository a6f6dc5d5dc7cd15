/* SPDX-License-Identifier: MIT
 *
 * What: the arms of a session: an allocator library and variables each, the baseline's copy as null control, and the
 * environment a run of an arm gets.
 *
 * Why this way: the size of the environment moves the stack, which moves the time of some programs by percents. So
 * libraries are copied to paths of equal length, every arm has the same number of variables and the same number of bytes
 * of them, and the padding that is drawn for a pair is shared by its arms. For the bundled workloads the caller's own
 * variables stay outside, but for those named by --keep-env; a user's command gets them all.
 *
 * Invariants: arm 0 ... count - 1 as given; the null control, if made, is the last. A copy cannot change under a session
 * when the library is built anew.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_ARMS_H
#define SJ_BENCH_ARMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_ARMS_MAX = 48, BENCH_ARM_VARIABLES_MAX = 16, BENCH_PADDING_MAX = 4080 };

struct bench_arm {
    char *name;
    char *library; /* as given; "" for none */
    char *preload; /* the copy's path; "" for none */
    char *variables[BENCH_ARM_VARIABLES_MAX];
    size_t variable_count;
    bool ours; /* Scrubjay: each process leaves a record, so that it can be seen to have run */
};

struct bench_arms {
    struct bench_arm items[BENCH_ARMS_MAX + 1];
    size_t count; /* with the null control */
    size_t null;  /* index of the null control */
    bool chosen;  /* by the user: the usual arms are not wanted */
    const char *kept_variables[BENCH_ARM_VARIABLES_MAX];
    size_t kept_count;
    bool keep_all; /* the whole environment of ours is passed on, but for what chooses an allocator */
};

/* Adds an arm from NAME=LIBRARY[;VARIABLE=VALUE...]; ends the program with a reason if it cannot be. An extra one comes
 * on top of the usual arms, the others stand in for them. */
void bench_arms_add(struct bench_arms *arms, const char *text, bool extra);

/* Index of the arm of this name; ends the program if there is none. */
size_t bench_arms_find(const struct bench_arms *arms, const char *name);

/* Copies the libraries into directory/NN/ and adds the null control of arm `base`. */
void bench_arms_prepare(struct bench_arms *arms, size_t base, const char *directory);

/* What the arms of a pair share. */
struct bench_shared {
    const char *home;   /* not used with keep_all */
    const char *record; /* file for the records of the processes */
    const char *shim;   /* library in front of the arm's, and the file for its times; or NULL */
    const char *times;
    char *const *variables; /* the command's own, up to a NULL; may be NULL */
    size_t padding_bytes;
    uint64_t seed;
};

/* The environment of one run; {seed} in a variable of the arm becomes the seed in 16 hexadecimal digits. */
char **bench_arms_environment(const struct bench_arms *arms, size_t arm, const struct bench_shared *shared);

void bench_arms_free_environment(char **environment);

#endif
