/* SPDX-License-Identifier: MIT
 *
 * What: the entry points of level 3, compiled with its policy as a constant. See front/fast.h.
 */
#include "front/fast.h"

static const struct sj_policy level = SJ_POLICY_LEVEL_3;

SJ_DEFINE_VARIANT(sj__variant_level3, &level);
