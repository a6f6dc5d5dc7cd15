/* SPDX-License-Identifier: MIT
 *
 * What: attacks by reads: of freed blocks, and of what earlier owners left in new ones.
 *
 * Why this way: a secret is a pattern that stands nowhere else. Whether it can still be read is all that counts.
 *
 * Invariants: the twin wipes the secret first, and reads its own blocks only.
 *
 * Concurrency: see attack.h.
 */
#include "gauntlet/attack.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SECRET_BYTE = 0xC3, ATTEMPTS = 512, LARGE_BYTES = 300000 };

/* How many of the bytes are the secret's. */
static size_t secrets_in(const void *start, size_t bytes)
{
    const volatile unsigned char *at = start;
    size_t found = 0;
    for (size_t i = 0; i < bytes; i++)
        found += at[i] == SECRET_BYTE;
    return found;
}

static enum attack_result found(size_t secrets)
{
    return secrets > 0 ? ATTACK_HARM : ATTACK_HARMLESS;
}

static enum attack_result stale(bool misuse, size_t size)
{
    char *keep = attack_new(size), *block = attack_new(size);
    memset(block, SECRET_BYTE, size);
    free(block);
    attack_arm();
    const size_t secrets = misuse ? secrets_in(attack_hide(block), size) : 0;
    attack_past();
    (void)keep;
    return found(secrets);
}

/* The kernel reads: write(2) from a freed block. */
static enum attack_result stale_by_system_call(bool misuse, size_t size)
{
    static char copy[4096];
    char *keep = attack_new(size), *block = attack_new(size);
    const int file = memfd_create("attack", 0);
    if (file < 0)
        return ATTACK_UNABLE;
    memset(block, SECRET_BYTE, size);
    free(block);
    attack_arm();
    const ssize_t put = misuse ? pwrite(file, attack_hide(block), size, 0) : 0;
    const bool refused = put < 0 && errno == EFAULT;
    attack_past();
    if (refused)
        return ATTACK_REFUSED;
    const ssize_t got = pread(file, copy, sizeof copy, 0);
    (void)keep;
    return found(got > 0 ? secrets_in(copy, (size_t)got) : 0);
}

/* Freed, and read when others have had time to write their secrets there. */
static enum attack_result stale_after_reuse(bool misuse, size_t size)
{
    char *keep = attack_new(size), *block = attack_new(size);
    free(block);
    for (int i = 0; i < 16; i++)
        memset(attack_new(size), SECRET_BYTE, size);
    attack_arm();
    const size_t secrets = misuse ? secrets_in(attack_hide(block), size) : 0;
    attack_past();
    (void)keep;
    return found(secrets);
}

/* New blocks of the size, read before they are written. */
static enum attack_result uninitialised(bool misuse, size_t size)
{
    char *blocks[8];
    size_t secrets = 0;
    for (int i = 0; i < 8; i++) {
        blocks[i] = attack_new(size);
        memset(blocks[i], SECRET_BYTE, size);
    }
    for (int i = 0; i < 8; i++) {
        if (!misuse)
            memset(blocks[i], 0, size);
        free(attack_hide(blocks[i]));
    }
    attack_arm();
    for (int i = 0; i < (size < 65536 ? ATTEMPTS : 16) && secrets == 0; i++)
        secrets = secrets_in(attack_new(size), size);
    attack_past();
    return found(secrets);
}

/* Freed as large blocks, asked for as small ones. */
static enum attack_result of_another_size(bool misuse, size_t size)
{
    size_t secrets = 0;
    char *block = attack_new(LARGE_BYTES);
    memset(block, SECRET_BYTE, LARGE_BYTES);
    if (!misuse)
        memset(block, 0, LARGE_BYTES);
    free(attack_hide(block));
    attack_arm();
    for (int i = 0; i < ATTEMPTS * 4 && secrets == 0; i++)
        secrets = secrets_in(attack_new(size), size);
    attack_past();
    return found(secrets);
}

/* A block shrinks and grows again: the tail was given up in between. */
static enum attack_result grown_again(bool misuse, size_t size)
{
    char *block = attack_new(size), *shrunk, *grown;
    memset(block, SECRET_BYTE, size);
    if (!misuse)
        memset(block, 0, size);
    shrunk = realloc(block, size / 8);
    attack_arm();
    grown = shrunk != NULL ? realloc(shrunk, size) : NULL;
    const size_t secrets = grown != NULL ? secrets_in(attack_offset(grown, (ptrdiff_t)(size / 8)), size - size / 8) : 0;
    attack_past();
    return found(secrets > 64 ? secrets : 0); /* up to a size class the tail was the block's all the time */
}

const struct attack attack_reads[] = {
    { "stale read", "small", "read a freed block of 48", stale, 48 },
    { "stale read", "middle", "read a freed block of 2000", stale, 2000 },
    { "stale read", "large", "read a freed block of 300,000", stale, LARGE_BYTES },
    { "stale read", "large, by write(2)", "write(2) from a freed block of 300,000", stale_by_system_call, LARGE_BYTES },
    { "stale read", "after reuse, small", "free 48 bytes, have 16 blocks made, read", stale_after_reuse, 48 },
    { "stale read", "after reuse, middle", "free 2000 bytes, have 16 blocks made, read", stale_after_reuse, 2000 },
    { "uninitialised read", "small", "look for old bytes in new blocks of 48", uninitialised, 48 },
    { "uninitialised read", "middle", "look for old bytes in new blocks of 2000", uninitialised, 2000 },
    { "uninitialised read", "large", "look for old bytes in new blocks of 300,000", uninitialised, LARGE_BYTES },
    { "uninitialised read", "of another size", "look for a large block's bytes in small ones", of_another_size, 1000 },
    { "uninitialised read", "grown again", "shrink a block, grow it, read the tail", grown_again, LARGE_BYTES },
    { NULL, NULL, NULL, NULL, 0 },
};
