/* SPDX-License-Identifier: MIT
 *
 * What: the ChaCha block function: a key and a position give 64 unpredictable bytes.
 *
 * Why this way: every heap draws its own random numbers without a system call and without a lock, and one that leaks
 * tells nothing about the next. ChaCha needs no table, no multiplication and no special instruction, and is as fast
 * as the weak generators once a block is shared among 64 picks. The number of rounds is an argument: 8 is what the
 * allocator draws with (the best published attack reaches 7), 20 is what the published vectors are for.
 *
 * Invariants: a pure function; equal arguments give equal words on every machine.
 *
 * Concurrency: none.
 */
#ifndef SJ_BASE_CHACHA_H
#define SJ_BASE_CHACHA_H

#include "base/compiler.h"

enum { SJ_CHACHA_KEY_WORDS = 8, SJ_CHACHA_POSITION_WORDS = 4, SJ_CHACHA_BLOCK_WORDS = 16, SJ_CHACHA_ROUNDS = 8 };

/* Writes the block at `position` under `key`. `position` holds state words 12 to 15: a 64-bit counter, low word first,
 * and a 64-bit stream number, or, as RFC 8439 divides it, a 32-bit counter and a 96-bit nonce. `rounds` is even and
 * above zero. `block` overlaps neither. */
void sj__chacha_block_at(const uint32_t key[SJ_CHACHA_KEY_WORDS], const uint32_t position[SJ_CHACHA_POSITION_WORDS],
                         unsigned rounds, uint32_t block[SJ_CHACHA_BLOCK_WORDS]);

/* The allocator's use of it: block number `counter` of stream 0, SJ_CHACHA_ROUNDS rounds. */
void sj__chacha_block(const uint32_t key[SJ_CHACHA_KEY_WORDS], uint64_t counter, uint32_t block[SJ_CHACHA_BLOCK_WORDS]);

#endif
