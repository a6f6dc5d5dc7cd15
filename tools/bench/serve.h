/* SPDX-License-Identifier: MIT
 *
 * What: a run of a server: waits until it listens, runs the client, ends the server.
 *
 * Why this way: "answers" is seen from outside: a process of the server's group holds a listening socket. Connecting to
 * it would be a request that the server answers, and the port would have to be told. The client runs without the
 * allocator under test, on the harness's CPUs. The group gets SIGTERM, so that wrappers and workers end too; what is left
 * after ten seconds is killed. A server must stay in the foreground: one that leaves its group is not found.
 *
 * Invariants: no process of the group outlives the run.
 *
 * Concurrency: one run at a time.
 */
#ifndef SJ_BENCH_SERVE_H
#define SJ_BENCH_SERVE_H

#include <sys/types.h>

#include "bench/launch.h"

/* Seconds the client took; fills run->client_status. `group` is the launcher's process group. */
double bench_serve(const struct bench_launch *launch, pid_t group, struct bench_run *run);

#endif
