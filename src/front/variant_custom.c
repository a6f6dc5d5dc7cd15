/* SPDX-License-Identifier: MIT
 *
 * What: the entry points for policies that are no level's: the same templates, reading the policy in force at run time.
 */
#include "front/fast.h"

SJ_DEFINE_VARIANT(sj__variant_custom, &sj__sealed.in_force->policy);
