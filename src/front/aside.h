/* SPDX-License-Identifier: MIT
 *
 * What: tools that bring an allocator of their own to watch the program's: sanitizers, and valgrind's memcheck and its kin.
 *
 * Why this way: two that both want to be malloc spoil each other: a sanitizer whose malloc is passed by sees no heap, and calls
 * into a runtime that is still starting crash. So the library leaves the place to them, says so in one line, and verify does
 * too. A sanitizer's runtime is known by its own symbol, asked for weakly, so that nothing is called to find out; valgrind by
 * its request to itself, and by what it preloads, since callgrind and others leave malloc alone, and measure ours.
 * AddressSanitizer wants to be loaded before anybody else and ends the program otherwise; it asks for options by a function
 * that anybody may define, and by ours it does without. A program's own function of that name comes first, and then its
 * runtime's message stands.
 *
 * Invariants: in the shared library only: what is linked statically was chosen, and references to this are weak.
 *
 * Concurrency: any thread. Calls nothing that a sanitizer intercepts.
 */
#ifndef SJ_FRONT_ASIDE_H
#define SJ_FRONT_ASIDE_H

#include "base/compiler.h"

/* The tool's name; NULL if there is none. */
const char *sj__aside_for(void) SJ_WEAK;

#endif
