/* SPDX-License-Identifier: MIT
 *
 * What: the ChaCha block function.
 *
 * Why this way: written as the specification draws it, one quarter round a line; compilers keep the sixteen words in
 * registers as far as there are any, and a block costs some 50 to 100 ns, drawn once in 64 picks or more.
 *
 * Invariants: words are numbers, not bytes: RFC 8439 serialises them little-endian, which only its test vectors need.
 *
 * Concurrency: none.
 */
#include "base/chacha.h"

static inline uint32_t chacha_rotate_left(uint32_t word, unsigned count)
{
    return (word << count) | (word >> (32u - count));
}

static inline void chacha_quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b;
    *d = chacha_rotate_left(*d ^ *a, 16);
    *c += *d;
    *b = chacha_rotate_left(*b ^ *c, 12);
    *a += *b;
    *d = chacha_rotate_left(*d ^ *a, 8);
    *c += *d;
    *b = chacha_rotate_left(*b ^ *c, 7);
}

static inline void chacha_double_round(uint32_t x[SJ_CHACHA_BLOCK_WORDS])
{
    chacha_quarter_round(&x[0], &x[4], &x[8], &x[12]);
    chacha_quarter_round(&x[1], &x[5], &x[9], &x[13]);
    chacha_quarter_round(&x[2], &x[6], &x[10], &x[14]);
    chacha_quarter_round(&x[3], &x[7], &x[11], &x[15]);
    chacha_quarter_round(&x[0], &x[5], &x[10], &x[15]);
    chacha_quarter_round(&x[1], &x[6], &x[11], &x[12]);
    chacha_quarter_round(&x[2], &x[7], &x[8], &x[13]);
    chacha_quarter_round(&x[3], &x[4], &x[9], &x[14]);
}

void sj__chacha_block_at(const uint32_t key[SJ_CHACHA_KEY_WORDS], const uint32_t position[SJ_CHACHA_POSITION_WORDS],
                         unsigned rounds, uint32_t block[SJ_CHACHA_BLOCK_WORDS])
{
    static const uint32_t constants[4] = { 0x61707865u, 0x3320646eu, 0x79622d32u,
                                           0x6b206574u }; /* "expand 32-byte k" */
    uint32_t start[SJ_CHACHA_BLOCK_WORDS];
    uint32_t x[SJ_CHACHA_BLOCK_WORDS];

    sj_assert(rounds > 0 && rounds % 2 == 0);
    sj_assert(block != key && block != position);
    for (unsigned i = 0; i < 4; i++) {
        start[i] = constants[i];
        start[4 + i] = key[i];
        start[8 + i] = key[4 + i];
        start[12 + i] = position[i];
    }
    for (unsigned i = 0; i < SJ_CHACHA_BLOCK_WORDS; i++)
        x[i] = start[i];
    for (unsigned done = 0; done < rounds; done += 2)
        chacha_double_round(x);
    for (unsigned i = 0; i < SJ_CHACHA_BLOCK_WORDS; i++)
        block[i] = x[i] + start[i];
}

void sj__chacha_block(const uint32_t key[SJ_CHACHA_KEY_WORDS], uint64_t counter, uint32_t block[SJ_CHACHA_BLOCK_WORDS])
{
    const uint32_t position[SJ_CHACHA_POSITION_WORDS] = { (uint32_t)counter, (uint32_t)(counter >> 32), 0, 0 };

    sj__chacha_block_at(key, position, SJ_CHACHA_ROUNDS, block);
}
