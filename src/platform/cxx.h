/* SPDX-License-Identifier: MIT
 *
 * What: how C++ spells size_t inside a symbol's name, and how its runtime is referred to.
 *
 * Why this way: the operators are written in C under their Itanium names, in which size_t is `m` where it is unsigned
 * long (64-bit) and `j` where it is unsigned int (most 32-bit systems). The shared library refers to the C++ runtime
 * weakly, as it must load without one. In the archive (SJ_CXX_RUNTIME_LINKED) the references are strong: only a
 * program that uses operator new gets them and it links a runtime anyway, while out of a static one only a strong
 * reference pulls what throwing needs.
 *
 * Invariants: none.
 *
 * Concurrency: none.
 */
#ifndef SJ_PLATFORM_CXX_H
#define SJ_PLATFORM_CXX_H

#include "base/compiler.h"

/* SJ_CXX_SIZED(_Znw, suffix) is _Znwmsuffix or _Znwjsuffix. */
#if defined(__LP64__)
#define SJ_CXX_SIZED(head, tail) head##m##tail
#else
#define SJ_CXX_SIZED(head, tail) head##j##tail
#endif

#if defined(SJ_CXX_RUNTIME_LINKED)
#define SJ_CXX_RUNTIME_REFERENCE
#define SJ_CXX_RUNTIME_MAY_COME_LATER 0
#else
#define SJ_CXX_RUNTIME_REFERENCE      SJ_WEAK
#define SJ_CXX_RUNTIME_MAY_COME_LATER 1
#endif

#endif
