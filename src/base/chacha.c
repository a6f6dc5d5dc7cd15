/* SPDX-License-Identifier: MIT
 *
 * What: the ChaCha block function.
 *
 * Why this way: the state as four rows of four words, so that a round is one quarter round on vectors. One word at a time,
 * as the specification draws it, a block takes 1.8 times the instructions, four more for each pick.
 *
 * Invariants: words are numbers, not bytes: RFC 8439 serialises them little-endian, which only its test vectors need.
 *
 * Concurrency: none.
 */
#include "base/chacha.h"

/* A row of the state: the four quarter rounds of its columns are one. */
typedef uint32_t chacha_row __attribute__((vector_size(16)));

SJ_ALWAYS_INLINE chacha_row chacha_rotate_left(chacha_row row, unsigned count)
{
    return (row << count) | (row >> (32u - count));
}

SJ_ALWAYS_INLINE void chacha_round(chacha_row *a, chacha_row *b, chacha_row *c, chacha_row *d)
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

/* A round over the columns, and one over the diagonals: these are the columns while the rows are turned. */
SJ_ALWAYS_INLINE void chacha_double_round(chacha_row *a, chacha_row *b, chacha_row *c, chacha_row *d)
{
    chacha_round(a, b, c, d);
    *b = __builtin_shufflevector(*b, *b, 1, 2, 3, 0);
    *c = __builtin_shufflevector(*c, *c, 2, 3, 0, 1);
    *d = __builtin_shufflevector(*d, *d, 3, 0, 1, 2);
    chacha_round(a, b, c, d);
    *b = __builtin_shufflevector(*b, *b, 3, 0, 1, 2);
    *c = __builtin_shufflevector(*c, *c, 2, 3, 0, 1);
    *d = __builtin_shufflevector(*d, *d, 1, 2, 3, 0);
}

void sj__chacha_block_at(const uint32_t key[SJ_CHACHA_KEY_WORDS], const uint32_t position[SJ_CHACHA_POSITION_WORDS],
                         unsigned rounds, uint32_t block[SJ_CHACHA_BLOCK_WORDS])
{
    const chacha_row constants = { 0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u }; /* "expand 32-byte k" */
    const chacha_row start_b = { key[0], key[1], key[2], key[3] };
    const chacha_row start_c = { key[4], key[5], key[6], key[7] };
    const chacha_row start_d = { position[0], position[1], position[2], position[3] };

    sj_assert(rounds > 0 && rounds % 2 == 0);
    sj_assert(block != key && block != position);
    chacha_row a = constants;
    chacha_row b = start_b;
    chacha_row c = start_c;
    chacha_row d = start_d;
    for (unsigned done = 0; done < rounds; done += 2)
        chacha_double_round(&a, &b, &c, &d);
    a += constants;
    b += start_b;
    c += start_c;
    d += start_d;
    for (unsigned i = 0; i < 4; i++) {
        block[i] = a[i];
        block[4 + i] = b[i];
        block[8 + i] = c[i];
        block[12 + i] = d[i];
    }
}

void sj__chacha_block(const uint32_t key[SJ_CHACHA_KEY_WORDS], uint64_t counter, uint32_t block[SJ_CHACHA_BLOCK_WORDS])
{
    const uint32_t position[SJ_CHACHA_POSITION_WORDS] = { (uint32_t)counter, (uint32_t)(counter >> 32), 0, 0 };

    sj__chacha_block_at(key, position, SJ_CHACHA_ROUNDS, block);
}
