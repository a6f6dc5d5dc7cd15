/* SPDX-License-Identifier: MIT
 *
 * What: one run of one command: through the launcher, with what it used and what it wrote.
 *
 * Why this way: output goes to files in memory, so that neither a disk nor a reader on the other end of a pipe takes
 * part in the measurement; it is hashed after the run.
 *
 * Invariants: a run that outlives its limit is killed; so is, after each run, whatever is left of its process group.
 *
 * Concurrency: one run at a time.
 */
#ifndef SJ_BENCH_LAUNCH_H
#define SJ_BENCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/proof.h"
#include "lab/series.h"

struct bench_launch {
    const char *launcher; /* path */
    char *const *words;
    char **environment;
    const char *directory;
    const char *input;     /* file for stdin */
    const char *record;    /* file for the records of the processes */
    const char *normalise; /* shell command, or NULL */
    const char *client;    /* shell command: the run is of a server, see serve.h; or NULL */
    int cpu;               /* to run on, or -1 */
    unsigned limit_seconds;
};

struct bench_output {
    uint64_t hash; /* FNV-1a of 64 bits, of the normalised text if there is a normaliser */
    uint64_t bytes;
    int fd; /* the text itself, or -1 */
};

struct bench_run {
    int exec_errno;
    int wait_status;
    bool timed_out;
    bool lost;         /* the launcher brought no record */
    int client_status; /* of --client: 0, or as waitpid() gives it; -1: the server never listened */
    double wall_seconds;
    double user_seconds;
    double system_seconds;
    double cpu_seconds; /* user + system */
    double peak_rss_kib;
    double mean_rss_kib;       /* over the time of the run, by samples; 0 if it was too short */
    struct lab_series rss_kib; /* over time in seconds, which mean_rss_kib is the mean of */
    uint64_t minor_faults;
    uint64_t major_faults;
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    struct bench_output output; /* stdout */
    struct bench_output errors; /* stderr */
    struct bench_proof proof;
};

/* The two descriptors of the outputs are the caller's to close, by bench_close_outputs(). */
void bench_launch_run(const struct bench_launch *launch, struct bench_run *run);

void bench_close_outputs(struct bench_run *run);

/* Exit status of a command run by `sh -c` in a directory, unmeasured, with our own environment. */
int bench_run_shell(const char *command, const char *directory);

/* "exit 0", "signal 11", "timeout" ...; the caller frees it. */
char *bench_run_ending(const struct bench_run *run);

#endif
