/* SPDX-License-Identifier: MIT */
/*
 * What: school arithmetic on 16-bit limbs for cfrac.
 *
 * Why this way: numbers here have two to sixteen limbs, where the school methods win and where the allocation of the
 * result costs as much as the arithmetic. Long division is Knuth's algorithm D.
 *
 * Invariants: a result is trimmed before it is returned. Working copies are heap blocks too, as in the original.
 *
 * Concurrency: pure functions.
 */
#include "cfrac_number.h"

#include "common.h"

#include <string.h>

enum { LIMB_BITS = 16 };

static struct number *number_new(uint32_t limbs)
{
    struct number *a = bench_allocate(sizeof *a + limbs * sizeof a->limb[0]);
    a->limbs = limbs;
    return a;
}

static struct number *number_trim(struct number *a)
{
    while (a->limbs > 0 && a->limb[a->limbs - 1] == 0) {
        a->limbs--;
    }
    return a;
}

struct number *number_from(uint64_t value)
{
    struct number *a = number_new(4);
    for (uint32_t i = 0; i < 4; i++) {
        a->limb[i] = (uint16_t)(value >> (16 * i));
    }
    return number_trim(a);
}

struct number *number_copy(const struct number *a)
{
    struct number *copy = number_new(a->limbs);
    memcpy(copy->limb, a->limb, a->limbs * sizeof a->limb[0]);
    return copy;
}

void number_replace(struct number **slot, struct number *value)
{
    free(*slot);
    *slot = value;
}

struct number *number_parse(const char *decimal)
{
    struct number *ten = number_from(10);
    struct number *a = number_from(0);
    for (; *decimal >= '0' && *decimal <= '9'; decimal++) {
        struct number *digit = number_from((uint64_t)(*decimal - '0'));
        number_replace(&a, number_multiply(a, ten));
        number_replace(&a, number_add(a, digit));
        free(digit);
    }
    free(ten);
    return a;
}

bool number_is_zero(const struct number *a)
{
    return a->limbs == 0;
}

bool number_is_one(const struct number *a)
{
    return a->limbs == 1 && a->limb[0] == 1;
}

int number_compare(const struct number *a, const struct number *b)
{
    if (a->limbs != b->limbs) {
        return a->limbs < b->limbs ? -1 : 1;
    }
    for (uint32_t i = a->limbs; i-- > 0;) {
        if (a->limb[i] != b->limb[i]) {
            return a->limb[i] < b->limb[i] ? -1 : 1;
        }
    }
    return 0;
}

uint64_t number_hash(const struct number *a)
{
    uint64_t hash = a->limbs;
    for (uint32_t i = 0; i < a->limbs; i++) {
        hash = bench_mix(hash ^ a->limb[i]);
    }
    return hash;
}

struct number *number_add(const struct number *a, const struct number *b)
{
    if (a->limbs < b->limbs) {
        const struct number *swap = a;
        a = b;
        b = swap;
    }
    struct number *sum = number_new(a->limbs + 1);
    uint32_t carry = 0;
    for (uint32_t i = 0; i < a->limbs; i++) {
        carry += (uint32_t)a->limb[i] + (i < b->limbs ? b->limb[i] : 0);
        sum->limb[i] = (uint16_t)carry;
        carry >>= LIMB_BITS;
    }
    sum->limb[a->limbs] = (uint16_t)carry;
    return number_trim(sum);
}

/* A limb of a difference: what is stored, and the borrow that goes to the next one. */
static uint32_t limb_subtract(uint16_t *limb, uint32_t from, uint32_t amount)
{
    uint32_t difference = from - amount;
    *limb = (uint16_t)difference;
    return difference >> 31;
}

struct number *number_subtract(const struct number *a, const struct number *b)
{
    struct number *difference = number_new(a->limbs);
    uint32_t borrow = 0;
    for (uint32_t i = 0; i < a->limbs; i++) {
        borrow = limb_subtract(&difference->limb[i], a->limb[i], (i < b->limbs ? b->limb[i] : 0) + borrow);
    }
    return number_trim(difference);
}

struct number *number_multiply(const struct number *a, const struct number *b)
{
    struct number *product = number_new(a->limbs + b->limbs);
    memset(product->limb, 0, product->limbs * sizeof product->limb[0]);
    for (uint32_t i = 0; i < a->limbs; i++) {
        uint32_t carry = 0;
        for (uint32_t j = 0; j < b->limbs; j++) {
            carry += (uint32_t)a->limb[i] * b->limb[j] + product->limb[i + j];
            product->limb[i + j] = (uint16_t)carry;
            carry >>= LIMB_BITS;
        }
        product->limb[i + b->limbs] = (uint16_t)carry;
    }
    return number_trim(product);
}

struct number *number_divide_small(const struct number *a, uint16_t divisor, uint16_t *remainder)
{
    struct number *quotient = number_new(a->limbs);
    uint32_t rest = 0;
    for (uint32_t i = a->limbs; i-- > 0;) {
        rest = (rest << LIMB_BITS) | a->limb[i];
        quotient->limb[i] = (uint16_t)(rest / divisor);
        rest %= divisor;
    }
    *remainder = (uint16_t)rest;
    return number_trim(quotient);
}

uint16_t number_modulo_small(const struct number *a, uint16_t divisor)
{
    uint32_t rest = 0;
    for (uint32_t i = a->limbs; i-- > 0;) {
        rest = ((rest << LIMB_BITS) | a->limb[i]) % divisor;
    }
    return (uint16_t)rest;
}

/* a shifted left by fewer than LIMB_BITS bits, with one limb of room at the top that may be zero. */
static struct number *number_widen(const struct number *a, unsigned shift_bits)
{
    struct number *wide = number_new(a->limbs + 1);
    uint32_t carry = 0;
    for (uint32_t i = 0; i < a->limbs; i++) {
        uint32_t limb = ((uint32_t)a->limb[i] << shift_bits) | carry;
        wide->limb[i] = (uint16_t)limb;
        carry = limb >> LIMB_BITS;
    }
    wide->limb[a->limbs] = (uint16_t)carry;
    return wide;
}

/* One step of long division: takes quotient * divisor from the top of `rest`, correcting a quotient one too big. */
static uint16_t number_divide_step(uint16_t *rest, const uint16_t *divisor, uint32_t limbs)
{
    uint32_t top = ((uint32_t)rest[limbs] << LIMB_BITS) | rest[limbs - 1];
    uint32_t guess = top / divisor[limbs - 1];
    uint32_t left = top % divisor[limbs - 1];
    while (guess >> LIMB_BITS != 0 || guess * divisor[limbs - 2] > ((left << LIMB_BITS) | rest[limbs - 2])) {
        guess--;
        left += divisor[limbs - 1];
        if (left >> LIMB_BITS != 0) {
            break;
        }
    }
    uint32_t borrow = 0;
    uint32_t carry = 0;
    for (uint32_t i = 0; i < limbs; i++) {
        carry += guess * divisor[i];
        borrow = limb_subtract(&rest[i], rest[i], (uint16_t)carry + borrow);
        carry >>= LIMB_BITS;
    }
    if (limb_subtract(&rest[limbs], rest[limbs], carry + borrow) != 0) {
        guess--;
        carry = 0;
        for (uint32_t i = 0; i < limbs; i++) {
            carry += (uint32_t)rest[i] + divisor[i];
            rest[i] = (uint16_t)carry;
            carry >>= LIMB_BITS;
        }
        rest[limbs] = (uint16_t)(rest[limbs] + carry);
    }
    return (uint16_t)guess;
}

static void number_shift_right(struct number *a, unsigned shift_bits)
{
    for (uint32_t i = 0; i < a->limbs; i++) {
        uint32_t above = i + 1 < a->limbs ? a->limb[i + 1] : 0;
        a->limb[i] = (uint16_t)(((above << LIMB_BITS) | a->limb[i]) >> shift_bits);
    }
}

struct number *number_divide(const struct number *a, const struct number *b, struct number **remainder)
{
    if (b->limbs == 1) {
        uint16_t rest = 0;
        struct number *quotient = number_divide_small(a, b->limb[0], &rest);
        if (remainder != NULL) {
            *remainder = number_from(rest);
        }
        return quotient;
    }
    if (number_compare(a, b) < 0) {
        if (remainder != NULL) {
            *remainder = number_copy(a);
        }
        return number_from(0);
    }
    unsigned shift_bits = (unsigned)__builtin_clz(b->limb[b->limbs - 1]) - LIMB_BITS;
    struct number *rest = number_widen(a, shift_bits);
    struct number *divisor = number_widen(b, shift_bits);
    struct number *quotient = number_new(a->limbs - b->limbs + 1);
    for (uint32_t i = quotient->limbs; i-- > 0;) {
        quotient->limb[i] = number_divide_step(rest->limb + i, divisor->limb, b->limbs);
    }
    free(divisor);
    if (remainder != NULL) {
        rest->limbs = b->limbs;
        number_shift_right(rest, shift_bits);
        *remainder = number_trim(rest);
    } else {
        free(rest);
    }
    return number_trim(quotient);
}

struct number *number_modulo(const struct number *a, const struct number *b)
{
    struct number *remainder = NULL;
    free(number_divide(a, b, &remainder));
    return remainder;
}

/* Newton's iteration from above, which falls until it has reached the root. */
struct number *number_square_root(const struct number *a)
{
    if (number_is_zero(a)) {
        return number_from(0);
    }
    struct number *root = number_new(a->limbs / 2 + 2);
    memset(root->limb, 0, root->limbs * sizeof root->limb[0]);
    root->limb[root->limbs - 1] = 1;
    for (;;) {
        uint16_t odd = 0;
        struct number *next = number_divide(a, root, NULL);
        number_replace(&next, number_add(next, root));
        number_replace(&next, number_divide_small(next, 2, &odd));
        if (number_compare(next, root) >= 0) {
            free(next);
            return root;
        }
        number_replace(&root, next);
    }
}

struct number *number_common_divisor(const struct number *a, const struct number *b)
{
    struct number *larger = number_copy(a);
    struct number *smaller = number_copy(b);
    while (!number_is_zero(smaller)) {
        struct number *rest = number_modulo(larger, smaller);
        free(larger);
        larger = smaller;
        smaller = rest;
    }
    free(smaller);
    return larger;
}
