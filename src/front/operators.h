/* SPDX-License-Identifier: MIT
 *
 * What: what operators.c tells the rest of the front.
 *
 * Why this way: weak, since the prefixed library and C programs linked with the archive have no operators.
 *
 * Invariants: see operators.c.
 *
 * Concurrency: any thread.
 */
#ifndef SJ_FRONT_OPERATORS_H
#define SJ_FRONT_OPERATORS_H

#include "base/compiler.h"

/* True if every form of operator new and delete in force is ours. */
bool sj__operators_are_ours(void) SJ_WEAK;

#endif
