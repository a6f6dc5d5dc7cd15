/* SPDX-License-Identifier: MIT */
/*
 * What: active false sharing. Each thread makes, writes and frees small blocks. cache-thrash [THREADS] [BLOCKS].
 *
 * Why this way: an allocator with one shared pool gives neighbouring blocks to different threads.
 *
 * Invariants: as cache_sharing.h.
 *
 * Concurrency: as cache_sharing.h.
 */
#include "cache_sharing.h"

static void *work(void *argument)
{
    struct sharing_worker *worker = argument;
    worker->sum = sharing_loop(worker->blocks, worker->writes);
    return NULL;
}

int main(int count, char **arguments)
{
    return sharing_main("cache-thrash", count, arguments, work, 0);
}
