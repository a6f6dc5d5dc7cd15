/* SPDX-License-Identifier: MIT
 *
 * What: memcpy, memmove, mempcpy, memccpy, memset, bcopy, bzero, explicit_bzero, checked; see copy.h.
 *
 * Why this way: each is one check and a jump to libc's function. memcpy leads to memmove: programs linked before glibc 2.14
 * ask for a memcpy that may overlap, and what overlaps is no heap error, so nothing here may make it one.
 * Compiled without builtins: the compiler must not take our memcpy for its own. An archive member of its own.
 *
 * Invariants: see copy.h.
 *
 * Concurrency: see copy.h.
 */
#include "front/copy.h"
#include "front/names.h"

#include <string.h>
#include <strings.h>

/* Whoever takes these out of the archive takes malloc too; see family.c. */
static void *(*const family)(size_t) __attribute__((used)) = sj__names_malloc;

SJ_EXPORT void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    return sj_copy_move(to, from, bytes, SJ_COPY_ASKER("memcpy"));
}

SJ_EXPORT void *memmove(void *to, const void *from, size_t bytes)
{
    return sj_copy_move(to, from, bytes, SJ_COPY_ASKER("memmove"));
}

SJ_EXPORT void *mempcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    return (char *)sj_copy_move(to, from, bytes, SJ_COPY_ASKER("mempcpy")) + bytes;
}

/* Copies as far as the first `byte`, with it; the end of that, or NULL if there was none. */
SJ_EXPORT void *memccpy(void *restrict to, const void *restrict from, int byte, size_t bytes)
{
    const char *found = memchr(from, byte, bytes);
    size_t taken_bytes = found != NULL ? (size_t)(found - (const char *)from) + 1 : bytes;
    char *end = (char *)sj_copy_move(to, from, taken_bytes, SJ_COPY_ASKER("memccpy")) + taken_bytes;
    return found != NULL ? end : NULL;
}

SJ_EXPORT void *memset(void *to, int byte, size_t bytes)
{
    return sj_copy_set(to, byte, bytes, SJ_COPY_ASKER("memset"));
}

SJ_EXPORT void bcopy(const void *from, void *to, size_t bytes)
{
    (void)sj_copy_move(to, from, bytes, SJ_COPY_ASKER("bcopy"));
}

SJ_EXPORT void bzero(void *to, size_t bytes)
{
    (void)sj_copy_set(to, 0, bytes, SJ_COPY_ASKER("bzero"));
}

SJ_EXPORT void explicit_bzero(void *to, size_t bytes)
{
    (void)sj_copy_set(to, 0, bytes, SJ_COPY_ASKER("explicit_bzero"));
}
