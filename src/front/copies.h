/* SPDX-License-Identifier: MIT
 *
 * What: the table of libc's copy functions, and where copies are checked.
 *
 * Why this way: our exported memcpy hides libc's, so libc's is called through its address, found once at the start. It
 * lies in the sealed page (front/entry.h) beside what else a stray write must not change. Whether copies are checked is
 * no branch: with checks off `write_base` is an address that nothing is near.
 *
 * Invariants: memmove and memset are never NULL: plain code of our own stands in until libc's are found, and for good in
 * static programs. The others may be NULL there, and are then done by way of these two.
 *
 * Concurrency: written under the start lock; read-only afterwards.
 */
#ifndef SJ_FRONT_COPIES_H
#define SJ_FRONT_COPIES_H

#include "base/compiler.h"

#include <stdarg.h>
#include <wchar.h>

struct sj_copies {
    uintptr_t write_base; /* the window's base if writes are checked, else SJ_COPIES_NOWHERE */
    uintptr_t read_base;  /* likewise for reads */
    uintptr_t ends_mask;  /* less the step, a power of two, that all small objects end at multiples of */
    void *(*memmove)(void *to, const void *from, size_t bytes);
    void *(*memset)(void *to, int byte, size_t bytes);
    char *(*strcpy)(char *to, const char *from);
    char *(*stpcpy)(char *to, const char *from);
    char *(*strcat)(char *to, const char *from);
    char *(*strncpy)(char *to, const char *from, size_t bytes);
    char *(*stpncpy)(char *to, const char *from, size_t bytes);
    char *(*strncat)(char *to, const char *from, size_t bytes);
    wchar_t *(*wmemset)(wchar_t *to, wchar_t value, size_t count);
    wchar_t *(*wcscpy)(wchar_t *to, const wchar_t *from);
    wchar_t *(*wcpcpy)(wchar_t *to, const wchar_t *from);
    wchar_t *(*wcscat)(wchar_t *to, const wchar_t *from);
    wchar_t *(*wcsncpy)(wchar_t *to, const wchar_t *from, size_t count);
    wchar_t *(*wcpncpy)(wchar_t *to, const wchar_t *from, size_t count);
    wchar_t *(*wcsncat)(wchar_t *to, const wchar_t *from, size_t count);
    int (*vsprintf)(char *to, const char *format, va_list arguments);
    int (*vsnprintf)(char *to, size_t bytes, const char *format, va_list arguments);
    /* glibc's; NULL with other libcs */
    int (*vsprintf_chk)(char *to, int flag, size_t known_bytes, const char *format, va_list arguments);
    int (*vsnprintf_chk)(char *to, size_t bytes, int flag, size_t known_bytes, const char *format, va_list arguments);
};

/* No address less this is smaller than any window: checks find nothing to do. */
#define SJ_COPIES_NOWHERE ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1))

/* Puts libc's functions into the table, which is still writable. In the shared library only. */
void sj__copies_find(struct sj_copies *copies) SJ_WEAK;

#endif
