/* SPDX-License-Identifier: MIT
 *
 * What: entry points that have only a standard name.
 *
 * Why this way: family.c, which defines the standard names, is left out of the prefixed library; what it needs beyond
 * scrubjay.h stands here, where tests reach it.
 *
 * Invariants, concurrency: as scrubjay.h.
 */
#ifndef SJ_FRONT_API_H
#define SJ_FRONT_API_H

#include <stddef.h>

/* Page-aligned memory; pvalloc rounds the size up to whole pages. */
void *sj__api_valloc(size_t size);
void *sj__api_pvalloc(size_t size);

#endif
