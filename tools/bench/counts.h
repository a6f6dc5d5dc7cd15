/* SPDX-License-Identifier: MIT
 *
 * What: what is counted, not timed: system calls by kind and mappings (--calls), instructions (--instructions), in runs of
 * their own once the blocks are over.
 *
 * Why this way: a tracer and callgrind slow a program down, so neither takes part in a timed run, and nothing is asked of the
 * allocator, so that every arm is counted alike. Calls are counted twice: if both runs agree they are exact, which a
 * program with one thread should be. Instructions are not time, but they hardly scatter: a small difference that a session
 * cannot see shows here. There is no performance counter to read on many virtual machines; callgrind is everywhere.
 *
 * Invariants: a run that ends otherwise than the arm's timed ones is not counted.
 *
 * Concurrency: one run at a time; nobody else waits for children meanwhile.
 */
#ifndef SJ_BENCH_COUNTS_H
#define SJ_BENCH_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_launch;

/* The kinds of system calls that are counted by themselves. */
enum bench_call {
    BENCH_CALL_MMAP,
    BENCH_CALL_MUNMAP,
    BENCH_CALL_MREMAP,
    BENCH_CALL_MADVISE,
    BENCH_CALL_MPROTECT,
    BENCH_CALL_BRK,
    BENCH_CALL_FUTEX,
    BENCH_CALL_KINDS
};

struct bench_counts {
    bool traced; /* the calls are there */
    bool exact;  /* and were the same twice */
    int wait_status;
    uint64_t calls; /* of all kinds */
    uint64_t calls_of[BENCH_CALL_KINDS];
    uint64_t mappings;     /* the most a process had at one of those calls */
    uint64_t instructions; /* of all processes; 0: not counted */
};

/* Counts the calls of a command and of all it starts; false if it could not be traced, or somebody wants to stop. */
bool bench_count_calls(const struct bench_launch *launch, struct bench_counts *counts);

/* Counts the instructions; false with a word on stderr if there is no valgrind, or the run failed. */
bool bench_count_instructions(const struct bench_launch *launch, struct bench_counts *counts);

#endif
