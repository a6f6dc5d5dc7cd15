/* SPDX-License-Identifier: MIT
 *
 * What: what copy_print.c and copy_print_chk.c share: the bound of a formatted text.
 *
 * Why this way: how long a text will be nobody knows before it is made, so it is made into as much room as there is, and
 * what libc says it needed tells whether that was enough. No byte is written behind the block, and a program that states
 * more room than there is, as many do, runs as long as its texts are short. sprintf's text alone is made twice, the first
 * time to be measured, since libc has no bounded function that leaves the target as it was until it is written to.
 *
 * Invariants: see copy.h.
 *
 * Concurrency: see copy.h.
 */
#ifndef SJ_FRONT_COPY_PRINT_H
#define SJ_FRONT_COPY_PRINT_H

#include "front/copy.h"

#include <limits.h>

/* Bytes that a text at `to` may take: at most `stated_bytes`. */
SJ_ALWAYS_INLINE size_t sj_print_room(const void *to, size_t stated_bytes)
{
    size_t room = sj_copy_checks_write(to) ? sj__copy_room(to, 0) : SJ_COPY_UNBOUNDED;
    if (room >= stated_bytes)
        return stated_bytes;
    return room < INT_MAX ? room : INT_MAX;
}

/* After a text that needs `length` bytes and a terminator was made into `room` bytes: reports it if it was cut although
 * the program allowed it more. */
SJ_ALWAYS_INLINE void sj_print_judge(const void *to, size_t room, size_t stated_bytes, int length,
                                     struct sj_asker asker)
{
    if (length < 0 || room >= stated_bytes || (size_t)length < room)
        return;
    size_t wanted = (size_t)length + 1;
    sj__copy_check_write(to, wanted < stated_bytes ? wanted : stated_bytes, asker);
}

#endif
