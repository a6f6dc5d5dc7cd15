/* SPDX-License-Identifier: MIT
 *
 * What: the wide versions: wmemcpy, wmemmove, wmempcpy, wmemset, wcscpy, wcpcpy, wcscat, wcsncpy, wcpncpy, wcsncat, checked;
 * see copy.h.
 *
 * Why this way: as copy_memory.c and copy_string.c, with counts of wide characters. A count whose bytes do not fit a size
 * is taken for the largest size, which no block has room for.
 *
 * Invariants: see copy.h. wcslen and wcsnlen are libc's.
 *
 * Concurrency: see copy.h.
 */
#include "base/checked.h"
#include "front/copy.h"
#include "front/names.h"

wchar_t *wmempcpy(wchar_t *restrict to, const wchar_t *restrict from,
                  size_t count); /* not every libc's header has it */

/* Whoever takes these out of the archive takes malloc too; see family.c. */
static void *(*const family)(size_t) __attribute__((used)) = sj__names_malloc;

static size_t bytes_of(size_t count)
{
    size_t bytes;
    return sj_checked_mul(count, sizeof(wchar_t), &bytes) ? bytes : SIZE_MAX;
}

SJ_ALWAYS_INLINE void set_wide(wchar_t *to, wchar_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = value;
}

SJ_ALWAYS_INLINE wchar_t *copy_string(wchar_t *to, const wchar_t *from, struct sj_asker asker)
{
    size_t length = sj__copy_wide_length(from, SJ_COPY_UNBOUNDED, asker);
    sj__copy_check_write(to, bytes_of(length + 1), asker);
    (void)sj__sealed.copies.memmove(to, from, bytes_of(length + 1));
    return to + length;
}

SJ_ALWAYS_INLINE wchar_t *copy_field(wchar_t *to, const wchar_t *from, size_t count, struct sj_asker asker)
{
    size_t length = sj__copy_wide_length(from, count, asker);
    sj__copy_check_write(to, bytes_of(count), asker);
    (void)sj__sealed.copies.memmove(to, from, bytes_of(length));
    set_wide(to + length, L'\0', count - length);
    return to + length;
}

SJ_ALWAYS_INLINE void append(wchar_t *to, const wchar_t *from, size_t count, struct sj_asker asker)
{
    size_t before = wcslen(to);
    size_t length = sj__copy_wide_length(from, count, asker);
    sj__copy_check_write(to, bytes_of(before + length + 1), asker);
    (void)sj__sealed.copies.memmove(to + before, from, bytes_of(length));
    to[before + length] = L'\0';
}

SJ_EXPORT wchar_t *wmemcpy(wchar_t *restrict to, const wchar_t *restrict from, size_t count)
{
    return sj_copy_move(to, from, bytes_of(count), SJ_COPY_ASKER("wmemcpy"));
}

SJ_EXPORT wchar_t *wmemmove(wchar_t *to, const wchar_t *from, size_t count)
{
    return sj_copy_move(to, from, bytes_of(count), SJ_COPY_ASKER("wmemmove"));
}

SJ_EXPORT wchar_t *wmempcpy(wchar_t *restrict to, const wchar_t *restrict from, size_t count)
{
    return (wchar_t *)sj_copy_move(to, from, bytes_of(count), SJ_COPY_ASKER("wmempcpy")) + count;
}

SJ_EXPORT wchar_t *wmemset(wchar_t *to, wchar_t value, size_t count)
{
    sj__copy_check_write(to, bytes_of(count), SJ_COPY_ASKER("wmemset"));
    if (sj__sealed.copies.wmemset != NULL)
        return sj__sealed.copies.wmemset(to, value, count);
    set_wide(to, value, count);
    return to;
}

SJ_EXPORT wchar_t *wcscpy(wchar_t *restrict to, const wchar_t *restrict from)
{
    wchar_t *(*libc)(wchar_t *, const wchar_t *) = sj__sealed.copies.wcscpy;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from);
    (void)copy_string(to, from, SJ_COPY_ASKER("wcscpy"));
    return to;
}

SJ_EXPORT wchar_t *wcpcpy(wchar_t *restrict to, const wchar_t *restrict from)
{
    wchar_t *(*libc)(wchar_t *, const wchar_t *) = sj__sealed.copies.wcpcpy;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from);
    return copy_string(to, from, SJ_COPY_ASKER("wcpcpy"));
}

SJ_EXPORT wchar_t *wcscat(wchar_t *restrict to, const wchar_t *restrict from)
{
    wchar_t *(*libc)(wchar_t *, const wchar_t *) = sj__sealed.copies.wcscat;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from);
    append(to, from, SJ_COPY_UNBOUNDED, SJ_COPY_ASKER("wcscat"));
    return to;
}

SJ_EXPORT wchar_t *wcsncpy(wchar_t *restrict to, const wchar_t *restrict from, size_t count)
{
    wchar_t *(*libc)(wchar_t *, const wchar_t *, size_t) = sj__sealed.copies.wcsncpy;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from, count);
    (void)copy_field(to, from, count, SJ_COPY_ASKER("wcsncpy"));
    return to;
}

SJ_EXPORT wchar_t *wcpncpy(wchar_t *restrict to, const wchar_t *restrict from, size_t count)
{
    wchar_t *(*libc)(wchar_t *, const wchar_t *, size_t) = sj__sealed.copies.wcpncpy;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from, count);
    return copy_field(to, from, count, SJ_COPY_ASKER("wcpncpy"));
}

SJ_EXPORT wchar_t *wcsncat(wchar_t *restrict to, const wchar_t *restrict from, size_t count)
{
    wchar_t *(*libc)(wchar_t *, const wchar_t *, size_t) = sj__sealed.copies.wcsncat;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from, count);
    append(to, from, count, SJ_COPY_ASKER("wcsncat"));
    return to;
}
