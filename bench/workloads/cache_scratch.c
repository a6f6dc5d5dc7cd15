/* SPDX-License-Identifier: MIT */
/*
 * What: passive false sharing. Each thread frees a block that main made, then makes and writes its own.
 * cache-scratch [THREADS] [BLOCKS].
 *
 * Why this way: main's blocks lie side by side; an allocator that hands a freed one straight to the thread that freed it
 * makes the threads share a line although none asked for it.
 *
 * Invariants: as cache_sharing.h.
 *
 * Concurrency: as cache_sharing.h.
 */
#include "cache_sharing.h"

static void *work(void *argument)
{
    struct sharing_worker *worker = argument;
    free(worker->first);
    worker->sum = sharing_loop(worker->blocks, worker->writes);
    return NULL;
}

int main(int count, char **arguments)
{
    return sharing_main("cache-scratch", count, arguments, work, 1);
}
