/* SPDX-License-Identifier: MIT */
/*
 * What: cubes and covers for espresso: a cube is a product of literals, a cover is a list of cubes (their sum).
 *
 * Why this way: every cube is a heap block of its own and every cover has its own list, as in the logic minimiser of that
 * name: recursion makes covers, looks at them once and drops them, which is what this workload is about.
 *
 * Invariants: two bits a variable: bit 0 says that the value 0 is allowed, bit 1 that 1 is; both: the variable does not
 * matter; none: the cube is empty. A cover owns its cubes.
 *
 * Concurrency: one thread.
 */
#ifndef SCRUBJAY_BENCH_ESPRESSO_COVER_H
#define SCRUBJAY_BENCH_ESPRESSO_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Up to 32 variables in the one word of literals; the word count is kept as a set library would keep it. */
struct cube {
    uint32_t variables;
    uint32_t flags;
    uint64_t literals;
};

struct cover {
    uint32_t variables;
    size_t count;
    size_t room;
    struct cube **cubes;
};

enum { CUBE_COVERED = 1, LITERAL_ZERO = 1, LITERAL_ONE = 2, LITERAL_ANY = 3 };

/* The literals of the cube that holds everything. */
static inline uint64_t literals_full(uint32_t variables)
{
    return variables == 32 ? ~UINT64_C(0) : (UINT64_C(1) << (2 * variables)) - 1;
}

static inline uint64_t literal_at(uint64_t literals, uint32_t variable)
{
    return literals >> (2 * variable) & LITERAL_ANY;
}

static inline uint64_t literal_mask(uint32_t variable, uint64_t literal)
{
    return literal << (2 * variable);
}

/* True if no variable has lost both of its values. */
static inline bool literals_possible(uint64_t literals, uint32_t variables)
{
    uint64_t zeros = UINT64_C(0x5555555555555555) & literals_full(variables);
    return ((literals | literals >> 1) & zeros) == zeros;
}

struct cover *cover_new(uint32_t variables);
void cover_free(struct cover *cover);
struct cover *cover_copy(const struct cover *cover);
/* Adds a new cube with these literals. */
void cover_add(struct cover *cover, uint64_t literals);
/* Moves all cubes of `from` into `to` and frees the rest of `from`. */
void cover_absorb(struct cover *to, struct cover *from);
/* Drops the cubes that are inside another one. */
void cover_drop_contained(struct cover *cover);

/* The cover as seen from inside the cube: what does not meet it falls out, what it fixes no longer matters.
 * The cube number `without` is left out (SIZE_MAX: none). */
struct cover *cover_cofactor(const struct cover *cover, uint64_t literals, size_t without);
bool cover_is_tautology(const struct cover *cover);
struct cover *cover_complement(const struct cover *cover);

#endif
