/* SPDX-License-Identifier: MIT
 *
 * What: bytes from getrandom(2), or the best substitute that needs no system call that could be refused.
 *
 * Why this way: getrandom goes by syscall(), because libc's wrapper is a cancellation point and no allocation may be
 * one. Where the kernel refuses it (seccomp, before 3.17) or is not ready yet (early boot), the sixteen bytes the
 * kernel left at AT_RANDOM are the key, which is as good once; the clock, the process, the stack address and a running
 * number make the blocks differ. The bytes of AT_RANDOM are readable in the process, so this is weaker and is counted.
 * /dev/urandom was refused: a sandbox that forbids getrandom forbids open too, and descriptors may run out.
 *
 * Invariants: the buffer is always filled. errno is preserved.
 *
 * Concurrency: the running number and the count are atomic; nothing else is shared.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "platform/entropy.h"

#include "base/atomic.h"
#include "base/chacha.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENTROPY_NONBLOCK 1u /* GRND_NONBLOCK */
#define ENTROPY_ROUNDS   20u

static struct sj_atomic_u64 entropy_weak_fills;

/* Fills from the kernel and returns how many bytes it gave. */
static size_t entropy_from_kernel(unsigned char *buffer, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        long got = syscall(SYS_getrandom, buffer + done, bytes - done, ENTROPY_NONBLOCK);

        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            break;
    }
    return done;
}

static void entropy_gather(uint32_t key[SJ_CHACHA_KEY_WORDS], uint32_t position[SJ_CHACHA_POSITION_WORDS],
                           uint64_t fill_number)
{
    const void *at_random = (const void *)getauxval(AT_RANDOM);
    uint64_t stack = (uint64_t)(uintptr_t)key;
    uint64_t code = (uint64_t)(uintptr_t)&entropy_weak_fills;
    struct timespec now = { 0, 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    memset(key, 0, SJ_CHACHA_KEY_WORDS * sizeof *key);
    if (at_random != NULL)
        memcpy(key, at_random, 16);
    key[4] = (uint32_t)stack;
    key[5] = (uint32_t)(stack >> 32) ^ (uint32_t)getpid();
    key[6] = (uint32_t)code;
    key[7] = (uint32_t)(code >> 32) ^ (uint32_t)now.tv_sec;
    position[0] = 0;
    position[1] = (uint32_t)now.tv_nsec;
    position[2] = (uint32_t)fill_number;
    position[3] = (uint32_t)(fill_number >> 32);
}

static void entropy_from_substitutes(unsigned char *buffer, size_t bytes)
{
    uint32_t key[SJ_CHACHA_KEY_WORDS];
    uint32_t position[SJ_CHACHA_POSITION_WORDS];
    uint32_t block[SJ_CHACHA_BLOCK_WORDS];

    entropy_gather(key, position, sj_fetch_add_relaxed_u64(&entropy_weak_fills, 1));
    for (size_t done = 0; done < bytes;) {
        size_t piece = bytes - done < sizeof block ? bytes - done : sizeof block;

        sj__chacha_block_at(key, position, ENTROPY_ROUNDS, block);
        memcpy(buffer + done, block, piece);
        position[0]++;
        done += piece;
    }
}

bool sj__entropy_fill(void *buffer, size_t bytes)
{
    unsigned char *to = buffer;
    int saved_errno = errno;
    size_t done = entropy_from_kernel(to, bytes);

    if (done < bytes)
        entropy_from_substitutes(to + done, bytes - done);
    errno = saved_errno;
    return done == bytes;
}

uint64_t sj__entropy_weak_count(void)
{
    return sj_load_relaxed_u64(&entropy_weak_fills);
}
