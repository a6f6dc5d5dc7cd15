/* SPDX-License-Identifier: MIT
 *
 * What: what the launcher tells the runner about the process it ran.
 *
 * Why this way: one fixed record through a pipe; both sides are built together, so there is nothing to parse.
 *
 * Invariants: the record is written once, whole (it is smaller than PIPE_BUF), after the process has been waited for.
 *
 * Concurrency: none.
 */
#ifndef SJ_BENCH_LAUNCHER_H
#define SJ_BENCH_LAUNCHER_H

#include <stdint.h>

#define BENCH_LAUNCHER_MAGIC UINT32_C(0x534a4c31)

struct bench_launcher_record {
    uint32_t magic;
    int32_t exec_errno;  /* 0, or why the command could not be started */
    int32_t wait_status; /* as wait4() gives it */
    int32_t unused;
    int64_t wall_ns; /* from before the fork until the process was waited for */
    int64_t user_us; /* this and all below: the process with those children it waited for */
    int64_t system_us;
    int64_t peak_rss_kib; /* the largest of them, not the sum */
    int64_t minor_faults;
    int64_t major_faults;
    int64_t voluntary_switches;
    int64_t involuntary_switches;
};

#endif
