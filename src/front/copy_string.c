/* SPDX-License-Identifier: MIT
 *
 * What: strcpy, stpcpy, strcat, strncpy, stpncpy, strncat, checked; see copy.h.
 *
 * Why this way: how much will be written is found out before anything is, so a string that does not fit leaves no byte
 * behind the block. That takes a pass over the string, but only where a block of ours is concerned; else libc's function
 * does it all.
 *
 * Invariants: see copy.h. strlen and strnlen are libc's.
 *
 * Concurrency: see copy.h.
 */
#include "front/copy.h"
#include "front/names.h"

#include <string.h>

/* Whoever takes these out of the archive takes malloc too; see family.c. */
static void *(*const family)(size_t) __attribute__((used)) = sj__names_malloc;

/* Copies the string with its terminator to `to`; returns where the terminator stands. */
SJ_ALWAYS_INLINE char *copy_string(char *to, const char *from, struct sj_asker asker)
{
    size_t length = sj__copy_length(from, SJ_COPY_UNBOUNDED, asker);
    sj__copy_check_write(to, length + 1, asker);
    (void)sj__sealed.copies.memmove(to, from, length + 1);
    return to + length;
}

/* As strncpy: exactly `bytes` bytes are written. Returns the first of the zeros, or to + bytes. */
SJ_ALWAYS_INLINE char *copy_field(char *to, const char *from, size_t bytes, struct sj_asker asker)
{
    size_t length = sj__copy_length(from, bytes, asker);
    sj__copy_check_write(to, bytes, asker);
    (void)sj__sealed.copies.memmove(to, from, length);
    (void)sj__sealed.copies.memset(to + length, 0, bytes - length);
    return to + length;
}

/* Appends at most `bytes` bytes of `from` and a terminator. */
SJ_ALWAYS_INLINE void append(char *to, const char *from, size_t bytes, struct sj_asker asker)
{
    size_t before = strlen(to);
    size_t length = sj__copy_length(from, bytes, asker);
    sj__copy_check_write(to, before + length + 1, asker);
    (void)sj__sealed.copies.memmove(to + before, from, length);
    to[before + length] = '\0';
}

SJ_EXPORT char *strcpy(char *restrict to, const char *restrict from)
{
    char *(*libc)(char *, const char *) = sj__sealed.copies.strcpy;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from);
    (void)copy_string(to, from, SJ_COPY_ASKER("strcpy"));
    return to;
}

SJ_EXPORT char *stpcpy(char *restrict to, const char *restrict from)
{
    char *(*libc)(char *, const char *) = sj__sealed.copies.stpcpy;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from);
    return copy_string(to, from, SJ_COPY_ASKER("stpcpy"));
}

SJ_EXPORT char *strcat(char *restrict to, const char *restrict from)
{
    char *(*libc)(char *, const char *) = sj__sealed.copies.strcat;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from);
    append(to, from, SJ_COPY_UNBOUNDED, SJ_COPY_ASKER("strcat"));
    return to;
}

SJ_EXPORT char *strncpy(char *restrict to, const char *restrict from, size_t bytes)
{
    char *(*libc)(char *, const char *, size_t) = sj__sealed.copies.strncpy;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from, bytes);
    (void)copy_field(to, from, bytes, SJ_COPY_ASKER("strncpy"));
    return to;
}

SJ_EXPORT char *stpncpy(char *restrict to, const char *restrict from, size_t bytes)
{
    char *(*libc)(char *, const char *, size_t) = sj__sealed.copies.stpncpy;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from, bytes);
    return copy_field(to, from, bytes, SJ_COPY_ASKER("stpncpy"));
}

SJ_EXPORT char *strncat(char *restrict to, const char *restrict from, size_t bytes)
{
    char *(*libc)(char *, const char *, size_t) = sj__sealed.copies.strncat;
    if (!sj_copy_concerns(to, from) && libc != NULL)
        return libc(to, from, bytes);
    append(to, from, bytes, SJ_COPY_ASKER("strncat"));
    return to;
}
