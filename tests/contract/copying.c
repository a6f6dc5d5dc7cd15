/* SPDX-License-Identifier: MIT */
/*
 * What: what the copy functions promise besides their bounds: what libc's do, they do.
 * Why this way: the same call on the heap, where it is checked, and on the stack, where libc does it alone.
 */
#include "unit/unit.h"

#include <stdarg.h>
#include <stdlib.h>

int __sprintf_chk(char *, int, size_t, const char *, ...);

enum { BLOCK_BYTES = 64 };

static int print_list(char *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsprintf(to, format, arguments);
    va_end(arguments);
    return length;
}

/* ISO C leaves it undefined; glibc keeps it working, and programs rely on that. */
static void copying_sprintf__prints_a_block_into_itself(void)
{
    char array[BLOCK_BYTES] = "abc";
    char *volatile stack = array, *volatile block =
                                      malloc(BLOCK_BYTES); /* volatile: the compiler sees through, and warns */
    REQUIRE(block != NULL);
    memcpy(block, "abc", sizeof "abc");
    CHECK_EQ(sprintf(block, "%s%d", block, 7), sprintf(stack, "%s%d", stack, 7));
    CHECK(strcmp(block, stack) == 0 && strcmp(block, "abc7") == 0);
    CHECK_EQ(print_list(block, "%s-%d", block, 8), print_list(stack, "%s-%d", stack, 8));
    CHECK(strcmp(block, stack) == 0 && strcmp(block, "abc7-8") == 0);
    CHECK_EQ(__sprintf_chk(block, 1, SIZE_MAX, "%s%d", block, 9), __sprintf_chk(stack, 1, SIZE_MAX, "%s%d", stack, 9));
    CHECK(strcmp(block, stack) == 0);
    free(block);
}

static void copying_sprintf__counts_with_n_as_ever(void)
{
    int count = -1;
    char *block = malloc(BLOCK_BYTES);
    REQUIRE(block != NULL);
    CHECK_EQ(sprintf(block, "%s%n!", "four", &count), 5);
    CHECK_EQ(count, 4);
    CHECK(strcmp(block, "four!") == 0);
    free(block);
}

static void copying_memccpy__stops_behind_the_byte(void)
{
    char *block = calloc(1, BLOCK_BYTES);
    REQUIRE(block != NULL);
    CHECK((char *)memccpy(block, "ab,cd", ',', BLOCK_BYTES) == block + 3);
    CHECK(strcmp(block, "ab,") == 0);
    CHECK(memccpy(block, "xyz", ',', 2) == NULL);
    CHECK(strcmp(block, "xy,") == 0);
    CHECK(memccpy(block, "xyz", 'x', 0) == NULL);
    CHECK((char *)memccpy(block, "\xff", 0x1ff, 1) == block + 1); /* only the low byte counts */
    free(block);
}

static void copying_explicit_bzero__zeroes_what_was_asked(void)
{
    char *block = malloc(BLOCK_BYTES);
    REQUIRE(block != NULL);
    memset(block, 'x', BLOCK_BYTES);
    explicit_bzero(block + 1, BLOCK_BYTES - 2);
    CHECK_EQ(block[0], 'x');
    CHECK_EQ(block[BLOCK_BYTES - 1], 'x');
    for (int i = 1; i < BLOCK_BYTES - 1; i++)
        CHECK_EQ(block[i], 0);
    free(block);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(copying_sprintf__prints_a_block_into_itself);
    RUN(copying_sprintf__counts_with_n_as_ever);
    RUN(copying_memccpy__stops_behind_the_byte);
    RUN(copying_explicit_bzero__zeroes_what_was_asked);
    return unit_end();
}
