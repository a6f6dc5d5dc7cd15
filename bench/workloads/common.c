/* SPDX-License-Identifier: MIT */
/*
 * What: the parts of the workloads' common code that are not hot: arguments, threads, the result line.
 *
 * Why this way: everything here runs a handful of times a process, so it is plain calls to libc.
 *
 * Invariants: a failure ends the process with status 2 and a line on standard error; nothing fails silently.
 *
 * Concurrency: bench_run_threads may be called by several threads at once; it keeps no global state.
 */
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

_Noreturn void bench_fail(const char *reason)
{
    fprintf(stderr, "bench: %s\n", reason);
    exit(2);
}

size_t bench_argument(int count, char **arguments, int index, size_t otherwise)
{
    if (index >= count) {
        return otherwise;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(arguments[index], &end, 10);
    if (errno != 0 || end == arguments[index] || *end != '\0' || value == 0 || value > SIZE_MAX) {
        bench_fail("arguments are whole numbers from 1 up");
    }
    return (size_t)value;
}

void bench_run_threads(size_t threads, void *(*entry)(void *state), void *states, size_t stride_bytes)
{
    pthread_t *ids = bench_allocate(threads * sizeof *ids);
    for (size_t i = 0; i < threads; i++) {
        if (pthread_create(&ids[i], NULL, entry, (char *)states + i * stride_bytes) != 0) {
            bench_fail("cannot create a thread");
        }
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    free(ids);
}

int bench_finish(const char *name, uint64_t checksum)
{
    printf("checksum %s %016" PRIx64 "\n", name, checksum);
    return fflush(stdout) == 0 ? 0 : 2;
}
