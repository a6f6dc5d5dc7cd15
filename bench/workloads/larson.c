/* SPDX-License-Identifier: MIT */
/*
 * What: larson with malloc and free.
 *
 * Why this way: see larson.h; the pattern is in larson_pattern.c.
 *
 * Invariants: none of its own.
 *
 * Concurrency: stateless.
 */
#include "larson.h"
#include "common.h"

void *larson_block_make(size_t size_bytes)
{
    return bench_allocate(size_bytes);
}

void larson_block_drop(void *block, size_t size_bytes)
{
    (void)size_bytes;
    free(block);
}

int main(int count, char **arguments)
{
    return larson_main("larson", count, arguments);
}
