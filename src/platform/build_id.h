/* SPDX-License-Identifier: MIT
 *
 * What: the build id the linker wrote into the object that Scrubjay is part of.
 *
 * Why this way: read from our own program headers through a symbol of the linker's: no lock (dl_iterate_phdr takes
 * one), no file.
 *
 * Invariants: in the static library it is the program's build id.
 *
 * Concurrency: reads constants.
 */
#ifndef SJ_PLATFORM_BUILD_ID_H
#define SJ_PLATFORM_BUILD_ID_H

#include "base/format.h"

/* Adds the build id in hexadecimal to `text`; nothing if there is none. */
void sj__build_id_format(struct sj_text *text);

#endif
