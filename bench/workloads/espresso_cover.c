/* SPDX-License-Identifier: MIT */
/*
 * What: the recursive half of espresso: cofactor, tautology, complement.
 *
 * Why this way: the unate recursive paradigm: split on the variable that the most cubes care about, answer both halves, put
 * the answers together. A cover in which some variable occurs in one polarity only needs no split to be judged.
 *
 * Invariants: a function that returns a cover gives it to the caller; arguments are left as they are.
 *
 * Concurrency: one thread.
 */
#include "espresso_cover.h"

#include "common.h"

enum { FIRST_ROOM = 8 };

#define NO_VARIABLE UINT32_MAX

struct cover *cover_new(uint32_t variables)
{
    struct cover *cover = bench_allocate(sizeof *cover);
    *cover = (struct cover){ .variables = variables, .room = FIRST_ROOM };
    cover->cubes = bench_allocate(cover->room * sizeof(struct cube *));
    return cover;
}

void cover_free(struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++) {
        free(cover->cubes[i]);
    }
    free(cover->cubes);
    free(cover);
}

static void cover_append(struct cover *cover, struct cube *cube)
{
    if (cover->count == cover->room) {
        cover->room += cover->room / 2;
        cover->cubes = bench_reallocate(cover->cubes, cover->room * sizeof(struct cube *));
    }
    cover->cubes[cover->count++] = cube;
}

void cover_add(struct cover *cover, uint64_t literals)
{
    struct cube *cube = bench_allocate(sizeof *cube);
    *cube = (struct cube){ .variables = cover->variables, .literals = literals };
    cover_append(cover, cube);
}

struct cover *cover_copy(const struct cover *cover)
{
    struct cover *copy = cover_new(cover->variables);
    for (size_t i = 0; i < cover->count; i++) {
        cover_add(copy, cover->cubes[i]->literals);
    }
    return copy;
}

void cover_absorb(struct cover *to, struct cover *from)
{
    for (size_t i = 0; i < from->count; i++) {
        cover_append(to, from->cubes[i]);
    }
    from->count = 0;
    cover_free(from);
}

/* Frees the cubes marked as covered and closes the gaps. */
static void cover_sweep(struct cover *cover)
{
    size_t kept = 0;
    for (size_t i = 0; i < cover->count; i++) {
        if ((cover->cubes[i]->flags & CUBE_COVERED) != 0) {
            free(cover->cubes[i]);
        } else {
            cover->cubes[kept++] = cover->cubes[i];
        }
    }
    cover->count = kept;
}

void cover_drop_contained(struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++) {
        for (size_t j = 0; j < cover->count; j++) {
            const struct cube *larger = cover->cubes[j];
            if (i != j && (larger->flags & CUBE_COVERED) == 0 && (cover->cubes[i]->literals & ~larger->literals) == 0) {
                cover->cubes[i]->flags |= CUBE_COVERED;
                break;
            }
        }
    }
    cover_sweep(cover);
}

struct cover *cover_cofactor(const struct cover *cover, uint64_t literals, size_t without)
{
    struct cover *inside = cover_new(cover->variables);
    uint64_t outside = ~literals & literals_full(cover->variables);
    for (size_t i = 0; i < cover->count; i++) {
        if (i != without && literals_possible(cover->cubes[i]->literals & literals, cover->variables)) {
            cover_add(inside, cover->cubes[i]->literals | outside);
        }
    }
    return inside;
}

/* The variable that most cubes care about in both polarities; NO_VARIABLE if none occurs in both. */
static uint32_t pick_binate(const struct cover *cover)
{
    uint32_t best = NO_VARIABLE;
    uint32_t best_count = 0;
    for (uint32_t variable = 0; variable < cover->variables; variable++) {
        uint32_t zeros = 0;
        uint32_t ones = 0;
        for (size_t i = 0; i < cover->count; i++) {
            uint64_t literal = literal_at(cover->cubes[i]->literals, variable);
            zeros += literal == LITERAL_ZERO;
            ones += literal == LITERAL_ONE;
        }
        if (zeros > 0 && ones > 0 && zeros + ones > best_count) {
            best_count = zeros + ones;
            best = variable;
        }
    }
    return best;
}

static bool cover_has_full_cube(const struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++) {
        if (cover->cubes[i]->literals == literals_full(cover->variables)) {
            return true;
        }
    }
    return false;
}

/* The half of the cover where the variable has this value. */
static struct cover *cover_half(const struct cover *cover, uint32_t variable, uint64_t literal)
{
    uint64_t half = literals_full(cover->variables) & ~literal_mask(variable, LITERAL_ANY ^ literal);
    return cover_cofactor(cover, half, SIZE_MAX);
}

bool cover_is_tautology(const struct cover *cover)
{
    if (cover_has_full_cube(cover)) {
        return true;
    }
    /* A unate cover is a tautology only if it holds the full cube. */
    uint32_t variable = pick_binate(cover);
    if (variable == NO_VARIABLE) {
        return false;
    }
    for (uint64_t literal = LITERAL_ZERO; literal <= LITERAL_ONE; literal++) {
        struct cover *half = cover_half(cover, variable, literal);
        bool full = cover_is_tautology(half);
        cover_free(half);
        if (!full) {
            return false;
        }
    }
    return true;
}

/* By De Morgan: one cube a literal. */
static struct cover *cube_complement(const struct cube *cube)
{
    struct cover *complement = cover_new(cube->variables);
    uint64_t full = literals_full(cube->variables);
    for (uint32_t variable = 0; variable < cube->variables; variable++) {
        uint64_t literal = literal_at(cube->literals, variable);
        if (literal != LITERAL_ANY) {
            cover_add(complement, full & ~literal_mask(variable, literal));
        }
    }
    return complement;
}

/* Any variable that some cube cares about. */
static uint32_t pick_any(const struct cover *cover)
{
    uint64_t cared = literals_full(cover->variables) & ~cover->cubes[0]->literals;
    return (uint32_t)__builtin_ctzll(cared) / 2;
}

struct cover *cover_complement(const struct cover *cover)
{
    struct cover *complement = cover_new(cover->variables);
    if (cover->count == 0) {
        cover_add(complement, literals_full(cover->variables));
        return complement;
    }
    if (cover_has_full_cube(cover)) {
        return complement;
    }
    if (cover->count == 1) {
        cover_free(complement);
        return cube_complement(cover->cubes[0]);
    }
    uint32_t variable = pick_binate(cover);
    if (variable == NO_VARIABLE) {
        variable = pick_any(cover);
    }
    for (uint64_t literal = LITERAL_ZERO; literal <= LITERAL_ONE; literal++) {
        struct cover *half = cover_half(cover, variable, literal);
        struct cover *part = cover_complement(half);
        for (size_t i = 0; i < part->count; i++) {
            part->cubes[i]->literals &= ~literal_mask(variable, LITERAL_ANY ^ literal);
        }
        cover_absorb(complement, part);
        cover_free(half);
    }
    cover_drop_contained(complement);
    return complement;
}
