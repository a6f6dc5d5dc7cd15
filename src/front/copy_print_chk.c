/* SPDX-License-Identifier: MIT
 *
 * What: what fortified programs call for sprintf and its kin, checked; see copy_print.h. glibc only, shared library only.
 *
 * Why this way: libc's own function makes the text, since its flag forbids %n in a writable format. The size that the
 * compiler knew is judged here, as libc judges it.
 *
 * Invariants: see copy_print.h.
 *
 * Concurrency: see copy.h.
 */
#include "front/copy_print.h"

#include <errno.h>

_Noreturn void __chk_fail(void);
int __vsprintf_chk(char *to, int flag, size_t known_bytes, const char *format, va_list arguments);
int __vsnprintf_chk(char *to, size_t bytes, int flag, size_t known_bytes, const char *format, va_list arguments);
int __sprintf_chk(char *to, int flag, size_t known_bytes, const char *format, ...);
int __snprintf_chk(char *to, size_t bytes, int flag, size_t known_bytes, const char *format, ...);

static bool is_ready(void)
{
    if (sj_likely(sj__sealed.copies.vsnprintf_chk != NULL) || (sj__start() && sj__sealed.copies.vsnprintf_chk != NULL))
        return true;
    errno = ENOMEM;
    return false;
}

static int print_bounded(char *to, size_t bytes, int flag, size_t known_bytes, const char *format, va_list arguments,
                         struct sj_asker asker)
{
    if (bytes > known_bytes)
        __chk_fail();
    if (!is_ready())
        return -1;
    size_t room = sj_print_room(to, bytes);
    int length = sj__sealed.copies.vsnprintf_chk(to, room, flag, SIZE_MAX, format, arguments);
    sj_print_judge(to, room, bytes, length, asker);
    return length;
}

static int print(char *to, int flag, size_t known_bytes, const char *format, va_list arguments, struct sj_asker asker)
{
    if (!is_ready())
        return -1;
    size_t room = sj_print_room(to, known_bytes);
    if (room >= known_bytes)
        return sj__sealed.copies.vsprintf_chk(to, flag, known_bytes, format, arguments);
    int length = sj__sealed.copies.vsnprintf_chk(to, room, flag, SIZE_MAX, format, arguments);
    sj_print_judge(to, room, known_bytes, length, asker);
    return length;
}

SJ_EXPORT int __vsprintf_chk(char *to, int flag, size_t known_bytes, const char *format, va_list arguments)
{
    return print(to, flag, known_bytes, format, arguments, SJ_COPY_ASKER("vsprintf"));
}

SJ_EXPORT int __vsnprintf_chk(char *to, size_t bytes, int flag, size_t known_bytes, const char *format,
                              va_list arguments)
{
    return print_bounded(to, bytes, flag, known_bytes, format, arguments, SJ_COPY_ASKER("vsnprintf"));
}

SJ_EXPORT int __sprintf_chk(char *to, int flag, size_t known_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = print(to, flag, known_bytes, format, arguments, SJ_COPY_ASKER("sprintf"));
    va_end(arguments);
    return length;
}

SJ_EXPORT int __snprintf_chk(char *to, size_t bytes, int flag, size_t known_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = print_bounded(to, bytes, flag, known_bytes, format, arguments, SJ_COPY_ASKER("snprintf"));
    va_end(arguments);
    return length;
}
