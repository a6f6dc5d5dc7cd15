/* SPDX-License-Identifier: MIT */
/*
 * What: factors a number by the continued fraction method of Morrison and Brillhart. cfrac [ROUNDS] [NUMBER].
 *
 * Why this way: one small block an arithmetic operation, most of them dead at once and a few (the relations) kept to
 * the end: the oldest allocation benchmark there is, and still how bignum code and interpreters behave.
 *
 * Invariants: for each relation, head^2 = (-1)^sign * (product of base[i]^power[i]) modulo the number; the factor found
 * divides the number, which is checked before it is printed.
 *
 * Concurrency: one thread.
 */
#include "cfrac_number.h"
#include "common.h"

#include <string.h>

enum { BASE_PRIMES = 250, SPARE_RELATIONS = 12, RELATIONS = BASE_PRIMES + SPARE_RELATIONS, BITMAP_WORDS = 5 };
enum { LAST_PRIME_TRIED = 65536, EARLY_PRIMES = 20, EARLY_GAIN = 65535 };

_Static_assert(BITMAP_WORDS * 64 > RELATIONS, "a row has a bit for each relation and one for each prime and the sign");

static const char default_number[] = "853973422267359480124910374143517";

struct relation {
    struct number *head;
    uint8_t powers[BASE_PRIMES];
    uint8_t sign;
    uint64_t odd[BITMAP_WORDS];
    uint64_t members[BITMAP_WORDS];
};

/* The expansion of the square root of the number: the names are those of the textbooks. */
struct fraction {
    struct number *n;
    struct number *root;
    struct number *p;
    struct number *q;
    struct number *head;
    struct number *previous_head;
    uint64_t steps;
};

static uint16_t base[BASE_PRIMES];

static bool is_prime(uint32_t candidate)
{
    for (uint32_t divisor = 2; divisor * divisor <= candidate; divisor++) {
        if (candidate % divisor == 0) {
            return false;
        }
    }
    return candidate >= 2;
}

static uint64_t power_modulo(uint64_t value, uint32_t exponent, uint32_t modulus)
{
    uint64_t result = 1;
    for (value %= modulus; exponent > 0; exponent >>= 1) {
        if (exponent & 1) {
            result = result * value % modulus;
        }
        value = value * value % modulus;
    }
    return result;
}

/* Only primes of which the number is a square can divide a q; 2 always may. */
static void choose_base(const struct number *n)
{
    size_t chosen = 0;
    for (uint32_t prime = 2; chosen < BASE_PRIMES && prime < LAST_PRIME_TRIED; prime++) {
        uint16_t rest = 0;
        if (!is_prime(prime)) {
            continue;
        }
        free(number_divide_small(n, (uint16_t)prime, &rest));
        if (prime == 2 || power_modulo(rest, (prime - 1) / 2, prime) <= 1) {
            base[chosen++] = (uint16_t)prime;
        }
    }
    if (chosen < BASE_PRIMES) {
        bench_fail("cfrac: factor base not filled");
    }
}

static struct fraction fraction_start(const char *decimal)
{
    struct fraction f = { .n = number_parse(decimal) };
    f.root = number_square_root(f.n);
    f.p = number_copy(f.root);
    struct number *square = number_multiply(f.root, f.root);
    f.q = number_subtract(f.n, square);
    free(square);
    f.head = number_copy(f.root);
    f.previous_head = number_from(1);
    f.steps = 1;
    return f;
}

/* head^2 = (-1)^steps * q modulo n holds before and after. */
static void fraction_step(struct fraction *f)
{
    struct number *sum = number_add(f->root, f->p);
    struct number *part = number_divide(sum, f->q, NULL);
    struct number *covered = number_multiply(part, f->q);
    struct number *p = number_subtract(covered, f->p);
    struct number *square = number_multiply(p, p);
    struct number *rest = number_subtract(f->n, square);
    struct number *q = number_divide(rest, f->q, NULL);
    struct number *scaled = number_multiply(part, f->head);
    struct number *wide = number_add(scaled, f->previous_head);
    free(sum);
    free(part);
    free(covered);
    free(square);
    free(rest);
    free(scaled);
    number_replace(&f->p, p);
    number_replace(&f->q, q);
    number_replace(&f->previous_head, f->head);
    f->head = number_modulo(wide, f->n);
    free(wide);
    f->steps++;
}

static void fraction_free(struct fraction *f)
{
    free(f->n);
    free(f->root);
    free(f->p);
    free(f->q);
    free(f->head);
    free(f->previous_head);
}

/* Divides q by the base as often as it goes; true if nothing is left over. Gives up early on a q that the first primes
 * have not brought under `hopeless`: few of those are smooth, and most of the base need not be tried on them. */
static bool try_smooth(const struct number *q, const struct number *hopeless, struct relation *relation)
{
    struct number *left = number_copy(q);
    memset(relation->powers, 0, sizeof relation->powers);
    for (size_t i = 0; i < BASE_PRIMES && !number_is_one(left); i++) {
        if (i == EARLY_PRIMES && number_compare(left, hopeless) > 0) {
            break;
        }
        while (number_modulo_small(left, base[i]) == 0) {
            uint16_t rest = 0;
            number_replace(&left, number_divide_small(left, base[i], &rest));
            relation->powers[i]++;
        }
    }
    bool smooth = number_is_one(left);
    free(left);
    return smooth;
}

static void relation_index(struct relation *relation, size_t index)
{
    memset(relation->odd, 0, sizeof relation->odd);
    memset(relation->members, 0, sizeof relation->members);
    relation->odd[0] = relation->sign;
    for (size_t i = 0; i < BASE_PRIMES; i++) {
        relation->odd[(i + 1) / 64] |= (uint64_t)(relation->powers[i] & 1) << ((i + 1) % 64);
    }
    relation->members[index / 64] |= UINT64_C(1) << (index % 64);
}

static void collect(struct fraction *f, struct relation **relations)
{
    uint16_t rest = 0;
    struct number *hopeless = number_divide_small(f->root, EARLY_GAIN, &rest);
    struct relation *spare = bench_allocate(sizeof *spare);
    for (size_t found = 0; found < RELATIONS; fraction_step(f)) {
        if (number_is_one(f->q) && f->steps > 1) {
            bench_fail("cfrac: the period is too short for this number");
        }
        if (!try_smooth(f->q, hopeless, spare)) {
            continue;
        }
        spare->head = number_copy(f->head);
        spare->sign = f->steps & 1;
        relation_index(spare, found);
        relations[found++] = spare;
        spare = bench_allocate(sizeof *spare);
    }
    free(spare);
    free(hopeless);
}

/* Multiplies the members of one dependency: x^2 = y^2 modulo n, and with luck x - y shares a factor with n. */
static struct number *factor_from(const struct number *n, struct relation *const *relations, const uint64_t *members)
{
    struct number *x = number_from(1);
    struct number *y = number_from(1);
    uint32_t powers[BASE_PRIMES] = { 0 };
    for (size_t i = 0; i < RELATIONS; i++) {
        if ((members[i / 64] >> (i % 64) & 1) == 0) {
            continue;
        }
        number_replace(&x, number_multiply(x, relations[i]->head));
        number_replace(&x, number_modulo(x, n));
        for (size_t j = 0; j < BASE_PRIMES; j++) {
            powers[j] += relations[i]->powers[j];
        }
    }
    for (size_t j = 0; j < BASE_PRIMES; j++) {
        struct number *prime = number_from(base[j]);
        for (uint32_t k = 0; k < powers[j] / 2; k++) {
            number_replace(&y, number_multiply(y, prime));
            number_replace(&y, number_modulo(y, n));
        }
        free(prime);
    }
    struct number *difference = number_compare(x, y) >= 0 ? number_subtract(x, y) : number_subtract(y, x);
    struct number *factor = number_common_divisor(n, difference);
    free(x);
    free(y);
    free(difference);
    return factor;
}

/* Adds row `from` to row `to` over GF(2). */
static void row_add(struct relation *to, const struct relation *from)
{
    for (size_t word = 0; word < BITMAP_WORDS; word++) {
        to->odd[word] ^= from->odd[word];
        to->members[word] ^= from->members[word];
    }
}

/* Clears each column from all rows but its pivot's; rows that end empty are the dependencies. */
static void eliminate(struct relation **relations, bool *is_pivot)
{
    for (size_t column = 0; column <= BASE_PRIMES; column++) {
        size_t word = column / 64;
        uint64_t bit = UINT64_C(1) << (column % 64);
        size_t pivot = 0;
        while (pivot < RELATIONS && (is_pivot[pivot] || (relations[pivot]->odd[word] & bit) == 0)) {
            pivot++;
        }
        if (pivot == RELATIONS) {
            continue;
        }
        is_pivot[pivot] = true;
        for (size_t row = 0; row < RELATIONS; row++) {
            if (row != pivot && (relations[row]->odd[word] & bit) != 0) {
                row_add(relations[row], relations[pivot]);
            }
        }
    }
}

static uint64_t factor(const char *decimal)
{
    struct fraction f = fraction_start(decimal);
    struct relation *relations[RELATIONS];
    bool is_pivot[RELATIONS] = { false };
    uint64_t hash = 0;
    choose_base(f.n);
    collect(&f, relations);
    eliminate(relations, is_pivot);
    for (size_t row = 0; row < RELATIONS && hash == 0; row++) {
        if (is_pivot[row]) {
            continue;
        }
        struct number *found = factor_from(f.n, relations, relations[row]->members);
        struct number *rest = number_modulo(f.n, found);
        if (!number_is_one(found) && number_compare(found, f.n) != 0 && number_is_zero(rest)) {
            hash = bench_mix(number_hash(found) ^ f.steps);
        }
        free(found);
        free(rest);
    }
    for (size_t i = 0; i < RELATIONS; i++) {
        free(relations[i]->head);
        free(relations[i]);
    }
    fraction_free(&f);
    return hash;
}

int main(int count, char **arguments)
{
    size_t rounds = bench_argument(count, arguments, 1, 1);
    const char *decimal = count > 2 ? arguments[2] : default_number;
    uint64_t checksum = 0;
    for (size_t round = 0; round < rounds; round++) {
        uint64_t hash = factor(decimal);
        if (hash == 0) {
            bench_fail("cfrac: no factor found");
        }
        checksum = bench_mix(checksum ^ hash);
    }
    return bench_finish("cfrac", checksum);
}
