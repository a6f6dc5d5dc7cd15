/* SPDX-License-Identifier: MIT
 *
 * What: a stretch of address space that grows at its end, at a base nobody can guess.
 *
 * Why this way: three things grow for the life of a process: the window that all user memory comes from, the map from
 * its granules to their owners, and the metadata. Each gets a stretch of its own, far from the others and from what the
 * kernel places, and is mapped only as far as it is used. Nothing is reserved ahead: an inaccessible reservation would
 * count against RLIMIT_AS and against RLIMIT_MEMLOCK in mlockall (measured: 32 MB make an unprivileged mlockall fail
 * that works under glibc). Where the chosen place is refused (a sanitizer's address space, a small one), the kernel
 * chooses, and there the stretch is reserved inaccessible, since its end could be taken by others.
 *
 * Invariants: [base, base + mapped_bytes) is readable and writable but for guards; mapped_bytes only grows,
 * but for a growth that is taken back before anybody has seen it. The page
 * before `base` is never mapped by us, and inaccessible if the stretch is reserved.
 *
 * Concurrency: grown under the lock of whoever owns the region.
 */
#ifndef SJ_META_REGION_H
#define SJ_META_REGION_H

#include "base/compiler.h"

struct sj_region {
    char *base;
    size_t mapped_bytes; /* how far it is accessible */
    size_t limit_bytes;  /* how far it may ever grow */
    bool reserved;       /* the whole of limit_bytes is mapped, inaccessible past mapped_bytes */
    bool tagged;         /* its memory has tags, see tags.h; set likewise */
    bool no_huge;        /* its pages shall be small ones; set by the owner before it is opened */
};

enum sj_region_place { SJ_REGION_WINDOW, SJ_REGION_MAP, SJ_REGION_META, SJ_REGION_PLACES };

/* Chooses a base. `random` is an unpredictable word. False if no address space can be had. */
bool sj__region_open(struct sj_region *region, enum sj_region_place place, uint64_t random);

/* Makes the next `bytes` accessible. False: the kernel refused, or the end is taken, or the limit reached. */
bool sj__region_grow(struct sj_region *region, size_t bytes);

/* Gives up the next `bytes` (somebody else sits there) and goes on behind them. False at the limit. */
bool sj__region_skip(struct sj_region *region, size_t bytes);

/* Takes back what the last growth by `bytes` made accessible; nobody has used it yet. If the kernel refuses, it stays. */
void sj__region_shrink(struct sj_region *region, size_t bytes);

#endif
