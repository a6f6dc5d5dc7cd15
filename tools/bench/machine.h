/* SPDX-License-Identifier: MIT
 *
 * What: the machine: what it is, how busy it is, and which CPU a job goes to.
 *
 * Why this way: a number without its machine cannot be repeated. Whether somebody else runs is asked before each half
 * block: by CPU pressure as the kernel averages it for one-threaded jobs; for jobs with more threads, which make pressure
 * themselves that would linger in that average, by a short look at the idle machine.
 *
 * Invariants: what cannot be read is named "n/a", never guessed.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_MACHINE_H
#define SJ_BENCH_MACHINE_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct bench_machine {
    char *cpu_model;
    unsigned cpus; /* that this process may use */
    char *kernel;
    char *governor;
    char *huge_pages; /* /sys/kernel/mm/transparent_hugepage/enabled */
    char *address_randomisation;
    char *load;
    char *libc;
    char *performance_counters;
    cpu_set_t affinity; /* as this process was started */
    bool from_file;     /* of a session read back, not this one */
    int runner_cpu;     /* where the harness stays during one-threaded jobs */
    int job_cpu;        /* where those run; -1 if there is one CPU only */
};

void bench_machine_read(struct bench_machine *machine);

/* The whole machine in one line of text; the caller frees it. */
char *bench_machine_line(const struct bench_machine *machine);

/* Puts the harness on its CPU before a one-threaded job, and back before others; answers the launcher's CPU, or -1. */
int bench_machine_place(const struct bench_machine *machine, unsigned threads);

/* Time spent since boot, over all CPUs. */
struct bench_busy {
    double busy_seconds;
    double stolen_seconds;
};

struct bench_busy bench_machine_busy(void);

/* CPU pressure, "some avg10", in percent; negative if the kernel does not tell. */
double bench_machine_pressure(void);

/* Waits until nobody else uses the machine, at most wait_seconds; true if it became quiet. */
bool bench_machine_wait_quiet(const struct bench_machine *machine, unsigned threads, double limit_percent,
                              double wait_seconds);

#endif
