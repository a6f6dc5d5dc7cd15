/* SPDX-License-Identifier: MIT
 *
 * What: see random.h.
 *
 * Why this way: see random.h. Normal draws are Box-Muller without the spare: half the speed, no hidden state.
 */
#include "lab/random.h"

#include <math.h>

static uint64_t random_spread(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t random_rotate(uint64_t value, unsigned bits)
{
    return (value << bits) | (value >> (64 - bits));
}

void lab_random_seed(struct lab_random *random, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++)
        random->state[i] = random_spread(&seed);
}

uint64_t lab_random_next(struct lab_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = random_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = random_rotate(s[3], 45);
    return result;
}

uint64_t lab_random_below(struct lab_random *random, uint64_t bound)
{
    /* Draws below 2^64 mod bound would be one too many of their remainder. */
    uint64_t refused = (UINT64_C(0) - bound) % bound;
    uint64_t draw;
    do
        draw = lab_random_next(random);
    while (draw < refused);
    return draw % bound;
}

double lab_random_unit(struct lab_random *random)
{
    return ((double)(lab_random_next(random) >> 12) + 0.5) * 0x1p-52;
}

double lab_random_normal(struct lab_random *random)
{
    double radius = sqrt(-2.0 * log(lab_random_unit(random)));
    return radius * cos(2.0 * 3.14159265358979323846 * lab_random_unit(random));
}

void lab_random_shuffle(struct lab_random *random, size_t *items, size_t count)
{
    for (size_t left = count; left > 1; left--) {
        size_t chosen = (size_t)lab_random_below(random, left);
        size_t kept = items[left - 1];
        items[left - 1] = items[chosen];
        items[chosen] = kept;
    }
}
