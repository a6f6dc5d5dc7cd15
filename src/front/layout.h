/* SPDX-License-Identifier: MIT
 *
 * What: the table of policy/layout.h.
 *
 * Why this way, invariants, concurrency: see there.
 */
#ifndef SJ_FRONT_LAYOUT_H
#define SJ_FRONT_LAYOUT_H

#include "policy/layout.h"

extern const SJ_HIDDEN struct sj_layout sj__layout;

#endif
