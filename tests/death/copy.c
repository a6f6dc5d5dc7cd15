/* SPDX-License-Identifier: MIT */
/*
 * What: copies that write (SJ-011) or read (SJ-012) past the end of a block, and copies into freed blocks (SJ-005), by every
 * function that is checked and by what fortified programs call for it.
 *
 * Why this way: each function is told to write exactly so many bytes; the twin writes as many as the block has, the
 * misuse one unit more. Level 2 judges writes only, so the cases of reads have the level "both":
 * contract/copies.sh runs them with copy=both, and all of them with copy=off.
 *
 * Invariants: a source is larger than any block, so nothing but the target can be too small, and the other way round.
 *
 * Concurrency: single thread, but where a thread frees and is joined.
 */
#include "death.h"

#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

enum { SOURCE_BYTES = 2 << 20, WIDE = sizeof(wchar_t) };

static union {
    char bytes[SOURCE_BYTES];
    wchar_t wide[SOURCE_BYTES / WIDE];
} source, target;

void *__memcpy_chk(void *, const void *, size_t, size_t);
void *__memmove_chk(void *, const void *, size_t, size_t);
void *__mempcpy_chk(void *, const void *, size_t, size_t);
void *__memset_chk(void *, int, size_t, size_t);
void __explicit_bzero_chk(void *, size_t, size_t);
void *__mempcpy(void *, const void *, size_t);
char *__stpcpy(char *, const char *);
char *__stpncpy(char *, const char *, size_t);
void __bzero(void *, size_t);
char *__strcpy_chk(char *, const char *, size_t);
char *__stpcpy_chk(char *, const char *, size_t);
char *__strcat_chk(char *, const char *, size_t);
char *__strncpy_chk(char *, const char *, size_t, size_t);
char *__stpncpy_chk(char *, const char *, size_t, size_t);
char *__strncat_chk(char *, const char *, size_t, size_t);
int __sprintf_chk(char *, int, size_t, const char *, ...);
int __snprintf_chk(char *, size_t, int, size_t, const char *, ...);
int __vsprintf_chk(char *, int, size_t, const char *, va_list);
int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list);
wchar_t *__wmemcpy_chk(wchar_t *, const wchar_t *, size_t, size_t);
wchar_t *__wmemmove_chk(wchar_t *, const wchar_t *, size_t, size_t);
wchar_t *__wmempcpy_chk(wchar_t *, const wchar_t *, size_t, size_t);
wchar_t *__wmemset_chk(wchar_t *, wchar_t, size_t, size_t);
wchar_t *__wcscpy_chk(wchar_t *, const wchar_t *, size_t);
wchar_t *__wcpcpy_chk(wchar_t *, const wchar_t *, size_t);
wchar_t *__wcscat_chk(wchar_t *, const wchar_t *, size_t);
wchar_t *__wcsncpy_chk(wchar_t *, const wchar_t *, size_t, size_t);
wchar_t *__wcpncpy_chk(wchar_t *, const wchar_t *, size_t, size_t);
wchar_t *__wcsncat_chk(wchar_t *, const wchar_t *, size_t, size_t);

/* A string that takes `bytes` bytes with its terminator. */
static const char *text(size_t bytes)
{
    memset(source.bytes, 'x', SOURCE_BYTES - 1);
    return source.bytes + SOURCE_BYTES - bytes;
}

static const wchar_t *wide_text(size_t count)
{
    wmemset(source.wide, L'x', SOURCE_BYTES / WIDE - 1);
    return source.wide + SOURCE_BYTES / WIDE - count;
}

static char *empty(char *to)
{
    to[0] = '\0';
    return to;
}

static wchar_t *wide_empty(char *to)
{
    *(wchar_t *)to = L'\0';
    return (wchar_t *)to;
}

static void print_list(char *to, size_t bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (bytes == SIZE_MAX)
        vsprintf(to, format, arguments);
    else
        vsnprintf(to, bytes, format, arguments);
    va_end(arguments);
}

static void print_list_chk(char *to, size_t bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (bytes == SIZE_MAX)
        __vsprintf_chk(to, 1, SIZE_MAX, format, arguments);
    else
        __vsnprintf_chk(to, bytes, 1, SIZE_MAX, format, arguments);
    va_end(arguments);
}

/* FUNCTIONS(CASE) has CASE(name, bytes of a unit, what writes n units to `to`). */
#define MEMORY_FUNCTIONS(CASE)                                                        \
    CASE(memcpy, 1, memcpy(to, source.bytes, n))                                      \
    CASE(memmove, 1, memmove(to, source.bytes, n))                                    \
    CASE(mempcpy, 1, mempcpy(to, source.bytes, n))                                    \
    CASE(memset, 1, memset(to, 1, n))                                                 \
    CASE(bcopy, 1, bcopy(source.bytes, to, n))                                        \
    CASE(bzero, 1, bzero(to, n))                                                      \
    CASE(memccpy, 1, memccpy(to, text(n), '\0', SIZE_MAX / 2))                        \
    CASE(explicit_bzero, 1, explicit_bzero(to, n))                                    \
    CASE(second_mempcpy, 1, __mempcpy(to, source.bytes, n))                           \
    CASE(second_bzero, 1, __bzero(to, n))                                             \
    CASE(explicit_bzero_chk, 1, __explicit_bzero_chk(to, n, SIZE_MAX))                \
    CASE(memcpy_chk, 1, __memcpy_chk(to, source.bytes, n, SIZE_MAX))                  \
    CASE(memmove_chk, 1, __memmove_chk(to, source.bytes, n, SIZE_MAX))                \
    CASE(mempcpy_chk, 1, __mempcpy_chk(to, source.bytes, n, SIZE_MAX))                \
    CASE(memset_chk, 1, __memset_chk(to, 1, n, SIZE_MAX))                             \
    CASE(wmemcpy, WIDE, wmemcpy((wchar_t *)to, source.wide, n))                       \
    CASE(wmemmove, WIDE, wmemmove((wchar_t *)to, source.wide, n))                     \
    CASE(wmempcpy, WIDE, wmempcpy((wchar_t *)to, source.wide, n))                     \
    CASE(wmemset, WIDE, wmemset((wchar_t *)to, 1, n))                                 \
    CASE(wmemcpy_chk, WIDE, __wmemcpy_chk((wchar_t *)to, source.wide, n, SIZE_MAX))   \
    CASE(wmemmove_chk, WIDE, __wmemmove_chk((wchar_t *)to, source.wide, n, SIZE_MAX)) \
    CASE(wmempcpy_chk, WIDE, __wmempcpy_chk((wchar_t *)to, source.wide, n, SIZE_MAX)) \
    CASE(wmemset_chk, WIDE, __wmemset_chk((wchar_t *)to, 1, n, SIZE_MAX))
#define STRING_FUNCTIONS(CASE)                                                   \
    CASE(strcpy, 1, strcpy(to, text(n)))                                         \
    CASE(stpcpy, 1, stpcpy(to, text(n)))                                         \
    CASE(second_stpcpy, 1, __stpcpy(to, text(n)))                                \
    CASE(second_stpncpy, 1, __stpncpy(to, text(n), n))                           \
    CASE(strcat, 1, strcat(empty(to), text(n)))                                  \
    CASE(strncpy, 1, strncpy(to, "short", n))                                    \
    CASE(stpncpy, 1, stpncpy(to, text(n), n))                                    \
    CASE(strncat, 1, strncat(empty(to), text(n + 1), n - 1))                     \
    CASE(sprintf, 1, sprintf(to, "%s", text(n)))                                 \
    CASE(snprintf, 1, snprintf(to, SIZE_MAX / 2, "%s", text(n)))                 \
    CASE(snprintf_cut, 1, snprintf(to, n, "%s", text(n + 10)))                   \
    CASE(vsprintf, 1, print_list(to, SIZE_MAX, "%s", text(n)))                   \
    CASE(vsnprintf, 1, print_list(to, n, "%s", text(n)))                         \
    CASE(strcpy_chk, 1, __strcpy_chk(to, text(n), SIZE_MAX))                     \
    CASE(stpcpy_chk, 1, __stpcpy_chk(to, text(n), SIZE_MAX))                     \
    CASE(strcat_chk, 1, __strcat_chk(empty(to), text(n), SIZE_MAX))              \
    CASE(strncpy_chk, 1, __strncpy_chk(to, text(n), n, SIZE_MAX))                \
    CASE(stpncpy_chk, 1, __stpncpy_chk(to, "short", n, SIZE_MAX))                \
    CASE(strncat_chk, 1, __strncat_chk(empty(to), text(n + 1), n - 1, SIZE_MAX)) \
    CASE(sprintf_chk, 1, __sprintf_chk(to, 1, SIZE_MAX, "%s", text(n)))          \
    CASE(snprintf_chk, 1, __snprintf_chk(to, n, 1, SIZE_MAX, "%s", text(n)))     \
    CASE(vsprintf_chk, 1, print_list_chk(to, SIZE_MAX, "%s", text(n)))           \
    CASE(vsnprintf_chk, 1, print_list_chk(to, n, "%s", text(n)))
#define WIDE_FUNCTIONS(CASE)                                                         \
    CASE(wcscpy, WIDE, wcscpy((wchar_t *)to, wide_text(n)))                          \
    CASE(wcpcpy, WIDE, wcpcpy((wchar_t *)to, wide_text(n)))                          \
    CASE(wcscat, WIDE, wcscat(wide_empty(to), wide_text(n)))                         \
    CASE(wcsncpy, WIDE, wcsncpy((wchar_t *)to, L"short", n))                         \
    CASE(wcpncpy, WIDE, wcpncpy((wchar_t *)to, wide_text(n), n))                     \
    CASE(wcsncat, WIDE, wcsncat(wide_empty(to), wide_text(n + 1), n - 1))            \
    CASE(wcscpy_chk, WIDE, __wcscpy_chk((wchar_t *)to, wide_text(n), SIZE_MAX))      \
    CASE(wcpcpy_chk, WIDE, __wcpcpy_chk((wchar_t *)to, wide_text(n), SIZE_MAX))      \
    CASE(wcscat_chk, WIDE, __wcscat_chk(wide_empty(to), wide_text(n), SIZE_MAX))     \
    CASE(wcsncpy_chk, WIDE, __wcsncpy_chk((wchar_t *)to, L"short", n, SIZE_MAX))     \
    CASE(wcpncpy_chk, WIDE, __wcpncpy_chk((wchar_t *)to, wide_text(n), n, SIZE_MAX)) \
    CASE(wcsncat_chk, WIDE, __wcsncat_chk(wide_empty(to), wide_text(n + 1), n - 1, SIZE_MAX))
#define FUNCTIONS(CASE) MEMORY_FUNCTIONS(CASE) STRING_FUNCTIONS(CASE) WIDE_FUNCTIONS(CASE)

typedef void write_units(char *to, size_t n);

#define WRITER(name, unit, call)                 \
    static void write_##name(char *to, size_t n) \
    {                                            \
        call;                                    \
    }
FUNCTIONS(WRITER)

/* Past the end of a block, from its start and from inside. */
static void overflow(write_units *write, size_t unit, bool misuse, size_t size)
{
    char *block = death_new(size);
    size_t usable = malloc_usable_size(block);
    size_t skipped = size > 100 ? 64 : 0;
    write(block, usable / unit);
    write(death_offset(block, (ptrdiff_t)skipped), (usable - skipped) / unit + (misuse ? 1 : 0));
    write(target.bytes, usable / unit + 1); /* what is not the heap's is no business of ours */
    free(block);
}

static void into_freed(write_units *write, size_t unit, bool misuse, size_t size)
{
    char *neighbour = death_new(size);
    char *block = death_new(size);
    if (misuse)
        death_free(block);
    write(block, size / unit);
    if (!misuse)
        death_free(block);
    death_free(neighbour);
}

/* Not only the block is freed but its whole slab, which is closed and whose place is kept. */
static void into_closed_slab(bool misuse, size_t size)
{
    enum { BLOCKS = 5000, MIDDLE = BLOCKS / 2 };
    static char *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = death_new(size);
    for (size_t i = 0; i < BLOCKS; i++)
        if (misuse || i != MIDDLE)
            death_free(blocks[i]);
    memcpy(blocks[MIDDLE], source.bytes, size - 8);
}

/* In its first granule, where a copy this short is judged by what the map names. */
static void into_freed_large(bool misuse, size_t size)
{
    enum { BYTES = 100 };
    char *block = death_new(size);
    if (misuse)
        death_free(block);
    memcpy(death_offset(block, BYTES), source.bytes, BYTES);
}

static void *free_it(void *block)
{
    death_free(block);
    return NULL;
}

/* Another thread has freed it, and its owner has not yet taken that in. */
static void into_freed_by_another(bool misuse, size_t size)
{
    pthread_t thread;
    char *block = death_new(size);
    if (pthread_create(&thread, NULL, free_it, misuse ? block : NULL) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
    memset(block, 1, size);
}

#define RUNNERS(name, unit, call)                         \
    static void overflow_##name(bool misuse, size_t size) \
    {                                                     \
        overflow(write_##name, unit, misuse, size);       \
    }                                                     \
    static void freed_##name(bool misuse, size_t size)    \
    {                                                     \
        into_freed(write_##name, unit, misuse, size);     \
    }
FUNCTIONS(RUNNERS)

/* Reads: one byte more than the block has. */
static void overread(bool misuse, size_t size)
{
    char *block = death_new(size);
    memcpy(target.bytes, block, malloc_usable_size(block) + (misuse ? 1 : 0));
}

static void unterminated(bool misuse, size_t size)
{
    char *block = death_new(size);
    size_t usable = malloc_usable_size(block);
    memset(block, 'x', usable);
    if (!misuse)
        block[usable - 1] = '\0';
    strcpy(target.bytes, block);
}

static void wide_unterminated(bool misuse, size_t size)
{
    wchar_t *block = death_new(size);
    size_t count = malloc_usable_size(block) / WIDE;
    wmemset(block, L'x', count);
    if (!misuse)
        block[count - 1] = L'\0';
    wcscpy(target.wide, block);
}

static void from_freed(bool misuse, size_t size)
{
    char *neighbour = death_new(size);
    char *block = death_new(size);
    if (misuse)
        death_free(block);
    memcpy(target.bytes, block, size);
    death_free(neighbour);
}

/* A copy long enough that the start of its large block is looked for. */
static void middle_of_large(bool misuse, size_t size)
{
    char *block = death_new(size);
    size_t usable = malloc_usable_size(block), from = size / 4;
    memcpy(death_offset(block, (ptrdiff_t)from), source.bytes, usable - from + (misuse ? 1 : 0));
}

/* One whose block begins further before it than is looked back. memmove would begin at the end, in what comes after. */
static void far_inside_large(bool misuse, size_t size)
{
    enum { LEFT_BYTES = 32768, TOO_MANY_BYTES = 400000 };
    char *block = death_new(size), *after = death_new(size);
    char *to = death_offset(block, (ptrdiff_t)(malloc_usable_size(block) - LEFT_BYTES));
    memmove(to, to - 100, misuse ? TOO_MANY_BYTES : LEFT_BYTES);
    death_free(after);
}

/* A stated size that is too large does no harm as long as the text is short. */
static void stated_too_large(bool misuse, size_t size)
{
    char *block = death_new(size);
    (void)snprintf(block, SIZE_MAX, "%d", 42);
    (void)snprintf(block, size * 10 + 1000, "%s", "short");
    if (strcmp(block, "short") != 0)
        death_cannot("snprintf did not print");
    if (misuse)
        (void)snprintf(block, size * 10 + 1000, "%*d", (int)(malloc_usable_size(block)), 1);
}

static const size_t sizes[] = { 16, 48, 1000, 32768, 40000, 1048576, SIZE_MAX };
static const size_t slot_sizes[] = { 48, 1000, SIZE_MAX };
static const size_t closed_sizes[] = { 48, 2000, SIZE_MAX };
static const size_t kept_sizes[] = { 40000, 300000, SIZE_MAX };
static const size_t large_sizes[] = { 300000, 1048576, SIZE_MAX };
static const size_t huge_sizes[] = { (size_t)64 << 20, (size_t)200 << 20, SIZE_MAX };

#define FAMILIES(name, unit, call)                                           \
    { "copy_" #name, "SJ-011", "2", DEATH_SIZE, 0, sizes, overflow_##name }, \
        { "copy_into_freed_" #name, "SJ-005", "2", DEATH_SIZE, 0, slot_sizes, freed_##name },

const struct death_family death_copy[] = {
    FUNCTIONS(FAMILIES){ "copy_middle_of_large", "SJ-011", "2", DEATH_SIZE, 0, large_sizes, middle_of_large },
    { "copy_far_inside_large", "SJ-011", "2", DEATH_SIZE, 0, huge_sizes, far_inside_large },
    { "copy_into_closed_slab", "SJ-005", "2", DEATH_SIZE, 0, closed_sizes, into_closed_slab },
    { "copy_into_freed_large", "SJ-005", "2", DEATH_SIZE, 0, kept_sizes, into_freed_large },
    { "copy_into_freed_by_another", "SJ-005", "2", DEATH_SIZE, 0, slot_sizes, into_freed_by_another },
    { "copy_stated_too_large", "SJ-011", "2", DEATH_SIZE, 0, slot_sizes, stated_too_large },
    { "copy_overread", "SJ-012", "both", DEATH_SIZE, 0, sizes, overread },
    { "copy_overread_string", "SJ-012", "both", DEATH_SIZE, 0, slot_sizes, unterminated },
    { "copy_overread_wide_string", "SJ-012", "both", DEATH_SIZE, 0, slot_sizes, wide_unterminated },
    { "copy_overread_freed", "SJ-005", "both", DEATH_SIZE, 0, slot_sizes, from_freed },
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
