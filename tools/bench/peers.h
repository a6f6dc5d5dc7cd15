/* SPDX-License-Identifier: MIT
 *
 * What: the usual arms: the C library's allocator, the allocators found on this machine, Scrubjay's levels and its options
 * one by one.
 *
 * Why this way: the list of levels and options is read from the library's own table, so that what it gains is measured
 * from then on.
 *
 * Invariants: the first arm that is added is glibc, with nothing preloaded.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_PEERS_H
#define SJ_BENCH_PEERS_H

#include "bench/options.h"

/* Path of libscrubjay.so: --library, or the one that belongs to this command; ends the program if there is none. */
const char *bench_library(const struct bench_options *options);

void bench_add_glibc(struct bench_arms *arms);

/* jemalloc, mimalloc, tcmalloc, tbbmalloc, scudo, as far as they are here. */
void bench_add_peers(struct bench_arms *arms);

/* An arm of Scrubjay with these options. */
void bench_add_scrubjay(struct bench_options *options, const char *name, const char *settings);

/* An arm of this level, named with this prefix. */
void bench_add_level(struct bench_options *options, const char *prefix, unsigned level);

/* An arm for each level, named with this prefix. */
void bench_add_levels(struct bench_options *options, const char *prefix);

/* An arm "option=value" on top of the level for each value that differs from the level's; only those that protect more
 * than the level, if `stronger`. Returns their number. */
size_t bench_add_single_options(struct bench_options *options, unsigned level, bool stronger);

/* How much more "option=value" protects than the level does, and which option of the table that is. */
unsigned bench_option_gain(const char *assignment, unsigned level, size_t *option);

/* The lowest level at which "option=value" holds, SJ_LEVEL_MAX + 1 if it is part of none; -1 if it is no such text. */
int bench_option_first_level(const char *assignment);

#endif
