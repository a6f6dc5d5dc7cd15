/* SPDX-License-Identifier: MIT */
/*
 * What: natural numbers of any size for cfrac. Every result is a new heap block that the caller frees.
 *
 * Why this way: the classic cfrac benchmark is a stream of tiny, short-lived blocks, one an arithmetic operation, and
 * that stream is the workload. So there is no small-number cache and no in-place arithmetic.
 *
 * Invariants: limbs are little-endian and the top limb is not zero; zero has no limbs.
 *
 * Concurrency: numbers are immutable once made, and belong to one thread.
 */
#ifndef SCRUBJAY_BENCH_CFRAC_NUMBER_H
#define SCRUBJAY_BENCH_CFRAC_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

struct number {
    uint32_t limbs;
    uint16_t limb[];
};

struct number *number_from(uint64_t value);
struct number *number_parse(const char *decimal);
struct number *number_copy(const struct number *a);
struct number *number_add(const struct number *a, const struct number *b);
/* a - b, where a is at least b. */
struct number *number_subtract(const struct number *a, const struct number *b);
struct number *number_multiply(const struct number *a, const struct number *b);
/* The quotient; the remainder goes to *remainder as a new number unless `remainder` is NULL. b is not zero. */
struct number *number_divide(const struct number *a, const struct number *b, struct number **remainder);
/* The same for a divisor of one limb, which is most of the work of trial division. */
struct number *number_divide_small(const struct number *a, uint16_t divisor, uint16_t *remainder);
/* Only the remainder, and no block. */
uint16_t number_modulo_small(const struct number *a, uint16_t divisor);
struct number *number_modulo(const struct number *a, const struct number *b);
struct number *number_square_root(const struct number *a);
struct number *number_common_divisor(const struct number *a, const struct number *b);

int number_compare(const struct number *a, const struct number *b);
bool number_is_zero(const struct number *a);
bool number_is_one(const struct number *a);
uint64_t number_hash(const struct number *a);

/* Frees *slot and puts `value` there: the usual step of a loop over numbers. */
void number_replace(struct number **slot, struct number *value);

#endif
