/* SPDX-License-Identifier: MIT
 *
 * What: whether the process's malloc is ours at all.
 *
 * Why this way: another preloaded library, or the program, may define malloc before us in search order; then everything
 * runs and nothing is protected. If the address of malloc is that of our own, all is well, and nothing has been touched.
 * If not, it may be a program's own stub that leads to ours: then a block is asked for by name, and where it lies can't
 * be wrong. To ask always would leave a freed slot behind in every process.
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
