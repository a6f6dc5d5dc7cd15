/* SPDX-License-Identifier: MIT
 *
 * What: the lab's random numbers: order of the arms, padding, bootstrap draws, simulated noise.
 *
 * Why this way: a session must be repeatable from one printed seed on any C library, so rand() and its siblings are out;
 * xoshiro256** seeded by splitmix64 is 30 lines and passes the usual batteries.
 *
 * Invariants: the same seed gives the same stream on every machine (for lab_random_normal: up to libm's last bit).
 *
 * Concurrency: a generator belongs to one thread.
 */
#ifndef SJ_LAB_RANDOM_H
#define SJ_LAB_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct lab_random {
    uint64_t state[4]; /* never all zero */
};

void lab_random_seed(struct lab_random *random, uint64_t seed);

uint64_t lab_random_next(struct lab_random *random);

/* A number in 0 ... bound - 1, without bias; `bound` is at least 1. */
uint64_t lab_random_below(struct lab_random *random, uint64_t bound);

/* A number in (0, 1): neither end is ever returned. */
double lab_random_unit(struct lab_random *random);

/* A draw of the standard normal distribution. */
double lab_random_normal(struct lab_random *random);

/* Puts items[0 ... count - 1] into random order; every order is equally likely. */
void lab_random_shuffle(struct lab_random *random, size_t *items, size_t count);

#endif
