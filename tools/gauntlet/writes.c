/* SPDX-License-Identifier: MIT
 *
 * What: attacks by writes that run out of a block or come after its life.
 *
 * Why this way: the blocks around the one that is overrun are full of marks, so what was changed shows. Writes are single
 * stores in a loop; attacks by copy functions stand in copies.c.
 *
 * Invariants: see attack.h.
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

enum { CROWD = 64, VICTIM = 30, LARGE_BYTES = 300000, ATTEMPTS = 256 };

static void store(volatile char *to, ptrdiff_t from, ptrdiff_t end)
{
    const ptrdiff_t step = from < end ? 1 : -1;
    for (ptrdiff_t at = from; at != end; at += step)
        to[at] = 'A';
}

/* Writes from offset `from` to `end` of a block in a crowd. */
static enum attack_result overrun(bool misuse, size_t size, ptrdiff_t from, ptrdiff_t end)
{
    static struct attack_crowd crowd;
    attack_crowd_make(&crowd, size < 65536 ? CROWD * 2 : 8, size);
    const size_t victim = crowd.count / 2;
    attack_arm();
    if (misuse)
        store(attack_hide(crowd.blocks[victim]), from, end);
    attack_past();
    if (!attack_crowd_is_whole(&crowd, victim)) {
        attack_crowd_free(&crowd, crowd.count); /* an allocator that looks at frees gets its chance */
        return ATTACK_HARM;
    }
    attack_crowd_free(&crowd, crowd.count);
    return ATTACK_HARMLESS;
}

static ptrdiff_t usable(size_t size)
{
    char *block = attack_new(size);
    const size_t bytes = malloc_usable_size(block);
    free(block);
    return (ptrdiff_t)bytes;
}

static enum attack_result one_byte(bool misuse, size_t size)
{
    const ptrdiff_t end = usable(size);
    return overrun(misuse, (size_t)end, end, end + 1);
}

/* Behind what was asked for, within what was given: nobody else's, but a bug. */
static enum attack_result one_byte_of_slack(bool misuse, size_t size)
{
    return overrun(misuse, size, (ptrdiff_t)size, (ptrdiff_t)size + 1);
}

static enum attack_result small_overflow(bool misuse, size_t size)
{
    const ptrdiff_t end = usable(size);
    return overrun(misuse, (size_t)end, end, end + 64);
}

static enum attack_result small_underflow(bool misuse, size_t size)
{
    return overrun(misuse, (size_t)usable(size), -1, -65);
}

/* Runs on until something stops it, or two mebibytes are written. */
static enum attack_result endless_overflow(bool misuse, size_t size)
{
    const ptrdiff_t end = usable(size);
    return overrun(misuse, (size_t)end, end, end + (2 << 20));
}

static enum attack_result endless_underflow(bool misuse, size_t size)
{
    return overrun(misuse, (size_t)usable(size), -1, -(2 << 20));
}

static enum attack_result large_overflow(bool misuse, size_t size)
{
    const ptrdiff_t end = usable(size);
    return overrun(misuse, (size_t)end, end, end + 8192);
}

/* Less than a page, so no guard at the page's end sees it; more than 16 bytes, which an alignment may leave. */
static enum attack_result bytes_behind_large(bool misuse, size_t size)
{
    return overrun(misuse, size, (ptrdiff_t)size, (ptrdiff_t)size + 17);
}

static enum attack_result large_underflow(bool misuse, size_t size)
{
    return overrun(misuse, (size_t)usable(size), -1, -8193);
}

/* The kernel writes: read(2) into a block, longer than it is. */
static enum attack_result by_system_call(bool misuse, size_t size)
{
    static struct attack_crowd crowd;
    const int file = memfd_create("attack", 0);
    const size_t bytes = (size_t)usable(size);
    attack_crowd_make(&crowd, 8, bytes);
    if (file < 0 || ftruncate(file, (off_t)(bytes + 8192)) != 0)
        return ATTACK_UNABLE;
    attack_arm();
    const ssize_t got = pread(file, crowd.blocks[4], bytes + (misuse ? 8192 : 0), 0);
    const bool refused = got < 0 && errno == EFAULT;
    attack_past();
    bool whole = attack_crowd_is_whole(&crowd, 4);
    attack_crowd_free(&crowd, crowd.count);
    if (misuse &&
        (refused || (got > 0 && (size_t)got <= bytes))) /* cut short where the block ends: the program is told */
        return ATTACK_REFUSED;
    return whole ? ATTACK_HARMLESS : ATTACK_HARM;
}

static enum attack_result zero_size(bool misuse, size_t bytes)
{
    static struct attack_crowd crowd;
    char *nothing[CROWD];
    attack_crowd_make(&crowd, CROWD, 16);
    for (int i = 0; i < CROWD; i++)
        nothing[i] = attack_new(0);
    attack_arm();
    if (misuse)
        store(nothing[CROWD / 2], 0, (ptrdiff_t)bytes);
    attack_past();
    for (int i = 0; i < CROWD; i++)
        if (i != CROWD / 2 && malloc_usable_size(nothing[i]) > 0 && nothing[i][0] == 'A')
            return ATTACK_HARM;
    return attack_crowd_is_whole(&crowd, CROWD) ? ATTACK_HARMLESS : ATTACK_HARM;
}

/* ---- After the end of a block's life ---------------------------------------------------------------------------- */

/* Written while the block is free: does the next owner find it in memory that calloc promises to be zero, or in the block
 * of somebody who lives? */
static enum attack_result after_free(bool misuse, size_t size)
{
    static struct attack_crowd crowd;
    attack_crowd_make(&crowd, size < 65536 ? CROWD : 8, size);
    const size_t victim = crowd.count / 2;
    free(crowd.blocks[victim]);
    attack_arm();
    if (misuse)
        store(attack_hide(crowd.blocks[victim]), 16, 48);
    attack_past();
    bool harm = !attack_crowd_is_whole(&crowd, victim);
    for (int i = 0; i < ATTEMPTS && !harm; i++) {
        const unsigned char *fresh = attack_hide(calloc(1, size));
        for (size_t at = 0; fresh != NULL && at < size && at < 4096; at++)
            harm = harm || fresh[at] != 0;
    }
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* Freed, and the attacker asks for blocks until the address is a new owner's, as many as he likes up to `ATTEMPTS`. */
static enum attack_result after_reuse(bool misuse, size_t size)
{
    char *keep = attack_new(size), *stale = attack_new(size), *fresh[ATTEMPTS];
    const int attempts = size < 65536 ? 16 : 4;
    free(stale);
    for (int i = 0; i < attempts; i++) {
        fresh[i] = attack_new(size);
        memset(fresh[i], 7, size);
    }
    attack_arm();
    if (misuse)
        store(attack_hide(stale), 0, 16);
    attack_past();
    bool harm = false;
    for (int i = 0; i < attempts; i++)
        harm = harm || fresh[i][0] != 7;
    (void)keep;
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* Many small blocks are freed and larger ones made: does one of these lie where a stale pointer leads? */
static enum attack_result into_another_size(bool misuse, size_t size)
{
    enum { STALE = 4096, FRESH = 1024, FRESH_BYTES = 400 };
    static char *stale[STALE], *fresh[FRESH];
    for (int i = 0; i < STALE; i++)
        stale[i] = attack_new(size);
    for (int i = 0; i < STALE; i++)
        free(stale[i]);
    for (int i = 0; i < FRESH; i++)
        memset(fresh[i] = attack_new(FRESH_BYTES), 7, FRESH_BYTES);
    attack_arm();
    for (int i = 0; i < STALE && misuse; i++)
        store(attack_hide(stale[i]), 0, 16);
    attack_past();
    bool harm = false;
    for (int i = 0; i < FRESH; i++)
        for (size_t at = 0; at < FRESH_BYTES; at++)
            harm = harm || fresh[i][at] != 7;
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

const struct attack attack_writes[] = {
    { "overflow", "one byte, small", "one byte behind a block of 40", one_byte, 40 },
    { "overflow", "one byte, middle", "one byte behind a block of 2000", one_byte, 2000 },
    { "overflow", "one byte of slack, small", "one byte behind the 41 asked for", one_byte_of_slack, 41 },
    { "overflow", "one byte of slack, middle", "one byte behind the 1901 asked for", one_byte_of_slack, 1901 },
    { "overflow", "64 bytes, small", "64 bytes behind a block of 40", small_overflow, 40 },
    { "overflow", "64 bytes, middle", "64 bytes behind a block of 2000", small_overflow, 2000 },
    { "overflow", "endless, small", "on and on behind a block of 40", endless_overflow, 40 },
    { "overflow", "large", "8 KiB behind a block of 300,000", large_overflow, LARGE_BYTES },
    { "overflow", "17 bytes, large", "17 bytes behind the 300,001 asked for", bytes_behind_large, 300001 },
    { "overflow", "large, by read(2)", "read(2) writes 8 KiB behind a block of 300,000", by_system_call, LARGE_BYTES },
    { "underflow", "64 bytes, small", "64 bytes before a block of 40", small_underflow, 40 },
    { "underflow", "64 bytes, middle", "64 bytes before a block of 2000", small_underflow, 2000 },
    { "underflow", "endless, small", "on and on before a block of 40", endless_underflow, 40 },
    { "underflow", "large", "8 KiB before a block of 300,000", large_underflow, LARGE_BYTES },
    { "zero size", "one byte", "write to malloc(0)", zero_size, 1 },
    { "zero size", "64 bytes", "write 64 bytes to malloc(0)", zero_size, 64 },
    { "write after free", "small", "write to a freed block of 48", after_free, 48 },
    { "write after free", "middle", "write to a freed block of 2000", after_free, 2000 },
    { "write after free", "large", "write to a freed block of 300,000", after_free, LARGE_BYTES },
    { "write after reuse", "small", "free 48 bytes, have 16 blocks made, write", after_reuse, 48 },
    { "write after reuse", "middle", "free 2000 bytes, have 16 blocks made, write", after_reuse, 2000 },
    { "write after reuse", "large", "free 300,000 bytes, have 4 blocks made, write", after_reuse, LARGE_BYTES },
    { "write after reuse", "of another size", "free 4096 blocks of 48, have 1024 of 400 made, write", into_another_size,
      48 },
    { NULL, NULL, NULL, NULL, 0 },
};
