/* SPDX-License-Identifier: MIT
 *
 * What: whether the process's malloc is ours at all.
 *
 * Why this way: another preloaded library, or the program, may define malloc before us in search order; then everything
 * runs and nothing is protected. Asking for a block by name and looking where it lies is the only test that can't be
 * wrong: an address of a function may be a program's own stub for it.
 *
 * Invariants: in the shared library only, where it can happen; the reference to it is weak.
 *
 * Concurrency: called by the library's constructor.
 */
#ifndef SJ_FRONT_SHADOW_H
#define SJ_FRONT_SHADOW_H

#include "base/compiler.h"

/* True if a call of malloc by name does not reach us. The library has been started. */
bool sj__shadow_is_over(void) SJ_WEAK;

#endif
