/* SPDX-License-Identifier: MIT */
/*
 * What: what every fuzz target shares: its one function, and an end with a line.
 *
 * Why this way: libFuzzer's interface is what AFL++ and the plain driver understand too.
 *
 * Invariants: a target returns 0 for every input, or the process ends; it keeps nothing from one input to the next but the
 * heap itself.
 *
 * Concurrency: one input at a time.
 */
#ifndef SJ_TESTS_FUZZ_TARGET_H
#define SJ_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property does not hold: says which, and aborts. */
#define FUZZ_CHECK(condition)                                                              \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

#endif
