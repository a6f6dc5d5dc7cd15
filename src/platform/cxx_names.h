/* SPDX-License-Identifier: MIT
 *
 * What: how C++ spells size_t inside a symbol's name.
 *
 * Why this way: the operators are written in C under their Itanium names, in which size_t is `m` where it is unsigned
 * long (64-bit) and `j` where it is unsigned int (most 32-bit systems).
 *
 * Invariants: none.
 *
 * Concurrency: none.
 */
#ifndef SJ_PLATFORM_CXX_NAMES_H
#define SJ_PLATFORM_CXX_NAMES_H

/* SJ_CXX_SIZED(_Znw, SomeSuffix) is _ZnwmSomeSuffix or _ZnwjSomeSuffix. */
#if defined(__LP64__)
#define SJ_CXX_SIZED(head, tail) head##m##tail
#else
#define SJ_CXX_SIZED(head, tail) head##j##tail
#endif

#endif
