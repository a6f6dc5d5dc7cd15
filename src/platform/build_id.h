/* SPDX-License-Identifier: MIT
 *
 * What: the build id the linker wrote into the object that Scrubjay is part of, and that of any other loaded object.
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

/* The same of the object whose file's first byte is mapped at `base`; nothing if there is no such object. */
void sj__build_id_format_of(struct sj_text *text, const void *base);

#endif
