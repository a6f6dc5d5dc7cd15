/* SPDX-License-Identifier: MIT
 *
 * What: what fortified programs call for the functions of copy_memory.c, copy_string.c and copy_wide.c where the compiler
 * knew the target's size: that size is judged as libc judges it, and the block by the plain function. And glibc's second
 * names of four of them, which its older headers led to. glibc only.
 *
 * Why this way: two numbers bound the copy, and the smaller one stops it. The plain functions are jumped to, so a report
 * names these, with the program as their caller.
 *
 * Invariants: see copy.h. __chk_fail is libc's.
 *
 * Concurrency: see copy.h.
 */
#include "base/compiler.h"

#include <string.h>
#include <wchar.h>

_Noreturn void __chk_fail(void);

void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t known_bytes);
void *__memmove_chk(void *to, const void *from, size_t bytes, size_t known_bytes);
void *__mempcpy_chk(void *to, const void *from, size_t bytes, size_t known_bytes);
void *__memset_chk(void *to, int byte, size_t bytes, size_t known_bytes);
void __explicit_bzero_chk(void *to, size_t bytes, size_t known_bytes);
char *__strcpy_chk(char *to, const char *from, size_t known_bytes);
char *__stpcpy_chk(char *to, const char *from, size_t known_bytes);
char *__strcat_chk(char *to, const char *from, size_t known_bytes);
char *__strncpy_chk(char *to, const char *from, size_t bytes, size_t known_bytes);
char *__stpncpy_chk(char *to, const char *from, size_t bytes, size_t known_bytes);
char *__strncat_chk(char *to, const char *from, size_t bytes, size_t known_bytes);
wchar_t *__wmemcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count);
wchar_t *__wmemmove_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count);
wchar_t *__wmempcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count);
wchar_t *__wmemset_chk(wchar_t *to, wchar_t value, size_t count, size_t known_count);
wchar_t *__wcscpy_chk(wchar_t *to, const wchar_t *from, size_t known_count);
wchar_t *__wcpcpy_chk(wchar_t *to, const wchar_t *from, size_t known_count);
wchar_t *__wcscat_chk(wchar_t *to, const wchar_t *from, size_t known_count);
wchar_t *__wcsncpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count);
wchar_t *__wcpncpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count);
wchar_t *__wcsncat_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count);
void *__mempcpy(void *to, const void *from, size_t bytes);
char *__stpcpy(char *to, const char *from);
char *__stpncpy(char *to, const char *from, size_t bytes);
void __bzero(void *to, size_t bytes);

SJ_ALWAYS_INLINE void need(bool fits)
{
    if (sj_unlikely(!fits))
        __chk_fail();
}

/* Do `before` units, `length` units and a terminator fit? */
SJ_ALWAYS_INLINE void need_text(size_t before, size_t length, size_t known)
{
    need(before < known && length < known - before);
}

SJ_EXPORT void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t known_bytes)
{
    need(bytes <= known_bytes);
    return memcpy(to, from, bytes);
}

SJ_EXPORT void *__memmove_chk(void *to, const void *from, size_t bytes, size_t known_bytes)
{
    need(bytes <= known_bytes);
    return memmove(to, from, bytes);
}

SJ_EXPORT void *__mempcpy_chk(void *to, const void *from, size_t bytes, size_t known_bytes)
{
    need(bytes <= known_bytes);
    return mempcpy(to, from, bytes);
}

SJ_EXPORT void *__memset_chk(void *to, int byte, size_t bytes, size_t known_bytes)
{
    need(bytes <= known_bytes);
    return memset(to, byte, bytes);
}

SJ_EXPORT void __explicit_bzero_chk(void *to, size_t bytes, size_t known_bytes)
{
    need(bytes <= known_bytes);
    explicit_bzero(to, bytes);
}

SJ_EXPORT char *__strcpy_chk(char *to, const char *from, size_t known_bytes)
{
    need_text(0, strlen(from), known_bytes);
    return strcpy(to, from);
}

SJ_EXPORT char *__stpcpy_chk(char *to, const char *from, size_t known_bytes)
{
    need_text(0, strlen(from), known_bytes);
    return stpcpy(to, from);
}

SJ_EXPORT char *__strcat_chk(char *to, const char *from, size_t known_bytes)
{
    need_text(strnlen(to, known_bytes), strlen(from), known_bytes);
    return strcat(to, from);
}

SJ_EXPORT char *__strncpy_chk(char *to, const char *from, size_t bytes, size_t known_bytes)
{
    need(bytes <= known_bytes);
    return strncpy(to, from, bytes);
}

SJ_EXPORT char *__stpncpy_chk(char *to, const char *from, size_t bytes, size_t known_bytes)
{
    need(bytes <= known_bytes);
    return stpncpy(to, from, bytes);
}

SJ_EXPORT char *__strncat_chk(char *to, const char *from, size_t bytes, size_t known_bytes)
{
    need_text(strnlen(to, known_bytes), strnlen(from, bytes), known_bytes);
    return strncat(to, from, bytes);
}

SJ_EXPORT wchar_t *__wmemcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count)
{
    need(count <= known_count);
    return wmemcpy(to, from, count);
}

SJ_EXPORT wchar_t *__wmemmove_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count)
{
    need(count <= known_count);
    return wmemmove(to, from, count);
}

SJ_EXPORT wchar_t *__wmempcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count)
{
    need(count <= known_count);
    return wmempcpy(to, from, count);
}

SJ_EXPORT wchar_t *__wmemset_chk(wchar_t *to, wchar_t value, size_t count, size_t known_count)
{
    need(count <= known_count);
    return wmemset(to, value, count);
}

SJ_EXPORT wchar_t *__wcscpy_chk(wchar_t *to, const wchar_t *from, size_t known_count)
{
    need_text(0, wcslen(from), known_count);
    return wcscpy(to, from);
}

SJ_EXPORT wchar_t *__wcpcpy_chk(wchar_t *to, const wchar_t *from, size_t known_count)
{
    need_text(0, wcslen(from), known_count);
    return wcpcpy(to, from);
}

SJ_EXPORT wchar_t *__wcscat_chk(wchar_t *to, const wchar_t *from, size_t known_count)
{
    need_text(wcsnlen(to, known_count), wcslen(from), known_count);
    return wcscat(to, from);
}

SJ_EXPORT wchar_t *__wcsncpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count)
{
    need(count <= known_count);
    return wcsncpy(to, from, count);
}

SJ_EXPORT wchar_t *__wcpncpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count)
{
    need(count <= known_count);
    return wcpncpy(to, from, count);
}

SJ_EXPORT wchar_t *__wcsncat_chk(wchar_t *to, const wchar_t *from, size_t count, size_t known_count)
{
    need_text(wcsnlen(to, known_count), wcsnlen(from, count), known_count);
    return wcsncat(to, from, count);
}

SJ_EXPORT void *__mempcpy(void *to, const void *from, size_t bytes)
{
    return mempcpy(to, from, bytes);
}

SJ_EXPORT char *__stpcpy(char *to, const char *from)
{
    return stpcpy(to, from);
}

SJ_EXPORT char *__stpncpy(char *to, const char *from, size_t bytes)
{
    return stpncpy(to, from, bytes);
}

SJ_EXPORT void __bzero(void *to, size_t bytes)
{
    (void)memset(to, 0, bytes);
}
