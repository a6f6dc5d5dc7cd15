/* SPDX-License-Identifier: MIT
 *
 * What: sprintf, snprintf, vsprintf, vsnprintf, checked; see copy_print.h. In the shared library only: a static program's
 * printf can't be had under another name.
 *
 * Why this way: see copy_print.h.
 *
 * Invariants: see copy_print.h.
 *
 * Concurrency: see copy.h.
 */
#include "front/copy_print.h"

#include <errno.h>
#include <stdio.h>

/* libc's vsprintf, other than its vsnprintf, does not empty the target first: programs print a buffer into itself. */
static int print_measured(char *to, size_t room, const char *format, va_list arguments, struct sj_asker asker)
{
    va_list again;
    va_copy(again, arguments);
    sj_print_judge(to, room, SJ_COPY_UNBOUNDED, sj__sealed.copies.vsnprintf(NULL, 0, format, again), asker);
    va_end(again);
    return sj__sealed.copies.vsprintf(to, format, arguments);
}

static int print(char *to, size_t stated_bytes, const char *format, va_list arguments, struct sj_asker asker)
{
    if (sj_unlikely(sj__sealed.copies.vsnprintf == NULL) && (!sj__start() || sj__sealed.copies.vsnprintf == NULL)) {
        errno = ENOMEM;
        return -1;
    }
    size_t room = sj_print_room(to, stated_bytes);
    if (room == SJ_COPY_UNBOUNDED)
        return sj__sealed.copies.vsprintf(to, format, arguments);
    if (stated_bytes == SJ_COPY_UNBOUNDED)
        return print_measured(to, room, format, arguments, asker);
    int length = sj__sealed.copies.vsnprintf(to, room, format, arguments);
    sj_print_judge(to, room, stated_bytes, length, asker);
    return length;
}

SJ_EXPORT int vsprintf(char *restrict to, const char *restrict format, va_list arguments)
{
    return print(to, SJ_COPY_UNBOUNDED, format, arguments, SJ_COPY_ASKER("vsprintf"));
}

SJ_EXPORT int vsnprintf(char *restrict to, size_t bytes, const char *restrict format, va_list arguments)
{
    return print(to, bytes, format, arguments, SJ_COPY_ASKER("vsnprintf"));
}

SJ_EXPORT int sprintf(char *restrict to, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = print(to, SJ_COPY_UNBOUNDED, format, arguments, SJ_COPY_ASKER("sprintf"));
    va_end(arguments);
    return length;
}

SJ_EXPORT int snprintf(char *restrict to, size_t bytes, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = print(to, bytes, format, arguments, SJ_COPY_ASKER("snprintf"));
    va_end(arguments);
    return length;
}
