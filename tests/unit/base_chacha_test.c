/* SPDX-License-Identifier: MIT
 *
 * What: the ChaCha block function against published blocks.
 *
 * Why this way: RFC 8439 has the 20-round vectors; the 8- and 12-round ones are the first of the well-known set for a
 * zero key and zero nonce (draft-strombergson-chacha-test-vectors, TC1, 256-bit key).
 *
 * Invariants: none.
 *
 * Concurrency: none.
 */
#include "unit/unit.h"

#include "base/chacha.h"

static bool block_is(const uint32_t block[SJ_CHACHA_BLOCK_WORDS], const char *hex)
{
    char text[2 * 64 + 1];

    for (size_t i = 0; i < 64; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)(block[i / 4] >> (8 * (i % 4))) & 0xffu);
    if (strcmp(text, hex) == 0)
        return true;
    unit_print("# got %s\n", text);
    return false;
}

static const uint32_t zero_key[SJ_CHACHA_KEY_WORDS];
static const uint32_t zero_position[SJ_CHACHA_POSITION_WORDS];

static void base_chacha__gives_rfc8439_block_when_key_counts_up(void)
{
    uint32_t key[SJ_CHACHA_KEY_WORDS];
    const uint32_t position[SJ_CHACHA_POSITION_WORDS] = { 1, 0x09000000u, 0x4a000000u, 0 };
    uint32_t block[SJ_CHACHA_BLOCK_WORDS];

    for (uint32_t i = 0; i < SJ_CHACHA_KEY_WORDS; i++)
        key[i] = (4 * i) | (4 * i + 1) << 8 | (4 * i + 2) << 16 | (4 * i + 3) << 24;
    sj__chacha_block_at(key, position, 20, block);
    CHECK(block_is(block, "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
                          "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"));
}

static void base_chacha__gives_known_blocks_when_all_is_zero(void)
{
    uint32_t block[SJ_CHACHA_BLOCK_WORDS];

    sj__chacha_block_at(zero_key, zero_position, 20, block);
    CHECK(block_is(block, "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
                          "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"));
    sj__chacha_block_at(zero_key, zero_position, 12, block);
    CHECK(block_is(block, "9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f"
                          "0564f879d27ae3c02ce82834acfa8c793a629f2ca0de6919610be82f411326be"));
    sj__chacha_block_at(zero_key, zero_position, 8, block);
    CHECK(block_is(block, "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"
                          "984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42"));
}

static void base_chacha__gives_second_rfc8439_block_when_counter_is_one(void)
{
    const uint32_t position[SJ_CHACHA_POSITION_WORDS] = { 1, 0, 0, 0 };
    uint32_t block[SJ_CHACHA_BLOCK_WORDS];

    sj__chacha_block_at(zero_key, position, 20, block); /* RFC 8439, A.1, vector 2 */
    CHECK(block_is(block, "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
                          "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"));
}

static void base_chacha__counts_in_64_bits(void)
{
    const uint32_t position[SJ_CHACHA_POSITION_WORDS] = { 0x9abcdef0u, 0x12345678u, 0, 0 };
    uint32_t by_position[SJ_CHACHA_BLOCK_WORDS];
    uint32_t by_counter[SJ_CHACHA_BLOCK_WORDS];
    uint32_t next[SJ_CHACHA_BLOCK_WORDS];

    sj__chacha_block_at(zero_key, position, SJ_CHACHA_ROUNDS, by_position);
    sj__chacha_block(zero_key, 0x123456789abcdef0u, by_counter);
    CHECK(memcmp(by_position, by_counter, sizeof by_position) == 0);
    sj__chacha_block(zero_key, 0x123456799abcdef0u, next);
    CHECK(memcmp(next, by_counter, sizeof next) != 0);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(base_chacha__gives_rfc8439_block_when_key_counts_up);
    RUN(base_chacha__gives_known_blocks_when_all_is_zero);
    RUN(base_chacha__gives_second_rfc8439_block_when_counter_is_one);
    RUN(base_chacha__counts_in_64_bits);
    return unit_end();
}
