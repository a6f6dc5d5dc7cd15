/* SPDX-License-Identifier: MIT */
/*
 * What: minimises random two-level logic: expand, irredundant, reduce, until nothing gets smaller.
 * espresso [OUTPUTS] [INPUTS] [TERMS].
 *
 * Why this way: Espresso-II's loop is the second of the classic allocation benchmarks: lists of short-lived sets, built by
 * recursion. Each output is a function of its own, with don't-cares, and is minimised by itself.
 *
 * Invariants: after each step the cover still holds all of the on-set and none of the off-set; checked at the end by
 * tautology of the result with the complement.
 *
 * Concurrency: one thread.
 */
#include "common.h"
#include "espresso_cover.h"

enum { CARE_PERCENT = 60, UNUSED_PERCENT = 25 };

/* Random product terms; about CARE_PERCENT of the variables occur in each. */
static struct cover *random_terms(struct bench_random *random, uint32_t variables, size_t terms)
{
    struct cover *cover = cover_new(variables);
    for (size_t i = 0; i < terms; i++) {
        uint64_t literals = literals_full(variables);
        for (uint32_t variable = 0; variable < variables; variable++) {
            if (bench_random_chance(random, CARE_PERCENT)) {
                uint64_t lost = bench_random_chance(random, 50) ? LITERAL_ZERO : LITERAL_ONE;
                literals &= ~literal_mask(variable, lost);
            }
        }
        cover_add(cover, literals);
    }
    return cover;
}

/* True if the cube meets no cube of the cover. */
static bool cube_avoids(uint64_t literals, const struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++) {
        if (literals_possible(literals & cover->cubes[i]->literals, cover->variables)) {
            return false;
        }
    }
    return true;
}

/* Makes each cube as large as the off-set allows, one literal at a time, and drops what it swallows. */
static void expand(struct cover *on, const struct cover *off)
{
    for (size_t i = 0; i < on->count; i++) {
        for (uint32_t variable = 0; variable < on->variables; variable++) {
            uint64_t raised = on->cubes[i]->literals | literal_mask(variable, LITERAL_ANY);
            if (raised != on->cubes[i]->literals && cube_avoids(raised, off)) {
                on->cubes[i]->literals = raised;
            }
        }
    }
    cover_drop_contained(on);
}

/* Is cube number `index` covered by the other cubes and the don't-cares? */
static bool cube_is_redundant(const struct cover *on, const struct cover *unused, size_t index)
{
    struct cover *others = cover_cofactor(on, on->cubes[index]->literals, index);
    cover_absorb(others, cover_cofactor(unused, on->cubes[index]->literals, SIZE_MAX));
    bool redundant = cover_is_tautology(others);
    cover_free(others);
    return redundant;
}

static void irredundant(struct cover *on, const struct cover *unused)
{
    for (size_t i = on->count; i > 0; i--) {
        if (cube_is_redundant(on, unused, i - 1)) {
            free(on->cubes[i - 1]);
            on->cubes[i - 1] = on->cubes[--on->count];
        }
    }
}

/* Shrinks each cube to the smallest one around the part that only it covers, to give expand another try. */
static void reduce(struct cover *on, const struct cover *unused)
{
    for (size_t i = 0; i < on->count; i++) {
        uint64_t literals = on->cubes[i]->literals;
        struct cover *others = cover_cofactor(on, literals, i);
        cover_absorb(others, cover_cofactor(unused, literals, SIZE_MAX));
        struct cover *own = cover_complement(others);
        uint64_t around = 0;
        for (size_t j = 0; j < own->count; j++) {
            around |= own->cubes[j]->literals;
        }
        if (own->count > 0) {
            on->cubes[i]->literals = literals & around;
        }
        cover_free(own);
        cover_free(others);
    }
}

static size_t cover_cost(const struct cover *cover)
{
    size_t cost = 0;
    for (size_t i = 0; i < cover->count; i++) {
        uint64_t missing = literals_full(cover->variables) & ~cover->cubes[i]->literals;
        cost += 1 + (size_t)__builtin_popcountll(missing);
    }
    return cost;
}

static struct cover *minimise(const struct cover *start, const struct cover *unused, const struct cover *off)
{
    struct cover *best = cover_copy(start);
    struct cover *on = cover_copy(start);
    for (;;) {
        expand(on, off);
        irredundant(on, unused);
        if (cover_cost(on) >= cover_cost(best)) {
            cover_free(on);
            return best;
        }
        cover_free(best);
        best = cover_copy(on);
        reduce(on, unused);
    }
}

static uint64_t cover_hash(const struct cover *cover)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < cover->count; i++) {
        hash += bench_mix(cover->cubes[i]->literals);
    }
    return hash;
}

static uint64_t minimise_output(struct bench_random *random, uint32_t inputs, size_t terms)
{
    struct cover *start = random_terms(random, inputs, terms);
    struct cover *unused = random_terms(random, inputs, terms * UNUSED_PERCENT / 100);
    struct cover *all = cover_copy(start);
    cover_absorb(all, cover_copy(unused));
    struct cover *off = cover_complement(all);
    struct cover *result = minimise(start, unused, off);
    uint64_t hash = bench_mix(cover_hash(result) + cover_cost(result));
    struct cover *whole = cover_copy(result);
    cover_absorb(whole, cover_copy(off));
    cover_absorb(whole, cover_copy(unused));
    if (!cover_is_tautology(whole)) {
        bench_fail("espresso: the result lost a part of the function");
    }
    cover_free(start);
    cover_free(unused);
    cover_free(all);
    cover_free(off);
    cover_free(result);
    cover_free(whole);
    return hash;
}

int main(int count, char **arguments)
{
    size_t outputs = bench_argument(count, arguments, 1, 40);
    size_t inputs = bench_argument(count, arguments, 2, 14);
    size_t terms = bench_argument(count, arguments, 3, 140);
    if (inputs > 32) {
        bench_fail("espresso: at most 32 inputs");
    }
    struct bench_random random = bench_random_seeded(2);
    uint64_t checksum = 0;
    for (size_t output = 0; output < outputs; output++) {
        checksum = bench_mix(checksum ^ minimise_output(&random, (uint32_t)inputs, terms));
    }
    return bench_finish("espresso", checksum);
}
