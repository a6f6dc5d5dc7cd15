/* SPDX-License-Identifier: MIT */
/*
 * What: the server pattern of Larson and Krishnan, common to larson (malloc, free) and larson-sized (C++ new, delete
 * with the size given).
 *
 * Why this way: the pattern is one piece of C; what differs is the pair of calls that make and drop a block, so each
 * program defines those two and nothing else. The call to them costs both programs the same.
 *
 * Invariants: larson_block_drop gets the size that larson_block_make was given.
 *
 * Concurrency: both are called by any thread.
 */
#ifndef SCRUBJAY_BENCH_LARSON_H
#define SCRUBJAY_BENCH_LARSON_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *larson_block_make(size_t size_bytes);
void larson_block_drop(void *block, size_t size_bytes);

/* Runs the pattern with the program's arguments and returns main's exit status. */
int larson_main(const char *name, int count, char **arguments);

#ifdef __cplusplus
}
#endif

#endif
