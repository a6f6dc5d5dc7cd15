/* SPDX-License-Identifier: MIT
 *
 * What: nothing: for a libc, such as musl, that has no names for malloc beyond those of family.c. See front/names.h.
 */
#include "front/names.h"

const char sj__names_aligned[] = "aligned_alloc"; /* musl's memalign and posix_memalign call it */
const char sj__names_vsprintf_chk[] = "";
const char sj__names_vsnprintf_chk[] = "";
