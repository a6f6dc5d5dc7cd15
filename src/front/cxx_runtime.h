/* SPDX-License-Identifier: MIT
 *
 * What: the three things that only a C++ runtime can do for operator new: name the new-handler, throw std::bad_alloc,
 * and catch what a handler throws.
 *
 * Why this way: the library links no runtime and works with any. One that was loaded before us is reached by weak
 * references; one that came later (a C++ plug-in of a C program, in a scope of its own) is looked up by dlsym at the
 * moment of failure. Nothing is kept from a look-up: failure is rare, and no pointer to code lies about.
 *
 * Invariants: none of these returns into a frame that an exception may not pass: the files that call them are compiled
 * with -fexceptions.
 *
 * Concurrency: any thread, no lock of ours held: a look-up takes the loader's lock and may allocate.
 */
#ifndef SJ_FRONT_CXX_RUNTIME_H
#define SJ_FRONT_CXX_RUNTIME_H

#include "base/compiler.h"

/* Calls the new-handler. False if none is set or no runtime is there. May throw. */
bool sj__cxx_call_handler(void);

/* True if a new-handler is set. */
bool sj__cxx_has_handler(void);

/* Throws std::bad_alloc for a request of `bytes`. Without a runtime that can, reports SJ_NO_CXX_RUNTIME. */
_Noreturn void sj__cxx_throw_bad_alloc(size_t bytes);

/* The runtime's own definition of an operator that we define too, or NULL: the next one in search order after ours, or
 * one in a runtime of a scope of its own. */
void *sj__cxx_runtimes_own(const char *operator_name);

#endif
