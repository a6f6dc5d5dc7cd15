/* SPDX-License-Identifier: MIT
 *
 * What: reads a session back from its rows.jsonl, so that it can be shown, merged with others, or gone on with.
 *
 * Why this way: claims are judged again from the rows, by the same code; no second file of results can differ from them.
 *
 * Invariants: only whole blocks count; a last block without all its rows is left out. A file of another format ends the
 * program with its name and line.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_LOAD_H
#define SJ_BENCH_LOAD_H

#include "bench/engine.h"

struct bench_loaded {
    struct bench_options options;
    struct bench_manifest manifest;
    struct bench_outcome outcome; /* not judged yet */
};

/* Reads FILE, or rows.jsonl in the folder FILE. */
void bench_load(struct bench_loaded *loaded, const char *file);

/* The command line a session was started with, of which argv[0] is the command's name; and the folder it was given in. */
char **bench_load_arguments(const char *file, int *argc, char **folder, uint64_t *seed);

/* Adds the blocks of `more` behind those of `loaded`: workloads and arms are matched by name. Ends the program if the
 * arms, or (unless `unlike` is allowed) the machines, are not the same. */
void bench_load_merge(struct bench_loaded *loaded, const struct bench_loaded *more, bool unlike);

/* Takes over what options->out has of these workloads already. */
void bench_load_results(struct bench_outcome *outcome, struct bench_manifest *manifest);

#endif
