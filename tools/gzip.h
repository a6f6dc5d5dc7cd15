/* SPDX-License-Identifier: MIT
 *
 * What: writes bytes compressed, as gzip does.
 *
 * Why this way: by zlib. Where it is missing gzip_none.c takes the place of gzip.c and writes them as they are, which every
 * reader of pprof's format takes too.
 *
 * Invariants: none.
 *
 * Concurrency: none.
 */
#ifndef SJ_TOOLS_GZIP_H
#define SJ_TOOLS_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* False, with errno set, if `out` did not take it. */
bool sj__gzip_write(FILE *out, const void *bytes, size_t count);

#endif
