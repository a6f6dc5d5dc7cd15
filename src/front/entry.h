/* SPDX-License-Identifier: MIT
 *
 * What: the dispatch table: which variant of each hot entry point is in force.
 *
 * Why this way: one indirect jump a call buys the choice of the level at run time. Each level is a set of functions
 * compiled with its policy as a constant; the table is filled at start and then sealed together with the settings, so
 * that a stray write can't redirect the allocator. Before start it leads to functions that start the library first.
 *
 * Invariants: the table is complete at all times.
 *
 * Concurrency: read by all; written under the start lock only.
 */
#ifndef SJ_FRONT_ENTRY_H
#define SJ_FRONT_ENTRY_H

#include "front/copies.h"
#include "policy/policy.h"

struct sj_dispatch {
    void *(*malloc)(size_t size_bytes);
    void (*free)(void *block);
    void *(*calloc)(size_t count, size_t size_bytes);
    void (*free_sized)(void *block, size_t size_bytes);
    void *(*realloc)(void *block, size_t size_bytes);
    void *(*aligned)(size_t alignment, size_t size_bytes);
    void (*free_aligned_sized)(void *block, size_t alignment, size_t size_bytes);
    size_t (*usable_size)(void *block);
};

enum { SJ_SEALED_BYTES = 4096 };

/* Everything that is fixed after start, in a page of its own. */
union sj_sealed {
    struct {
        struct sj_dispatch dispatch;
        struct sj_dispatch next; /* SCRUBJAY_DISABLE: the next allocator's, as far as it has them; see front/next.h */
        struct sj_settings settings;
        struct sj_copies copies;
    };
    char page[SJ_SEALED_BYTES];
};
extern SJ_HIDDEN union sj_sealed sj__sealed;

extern const struct sj_dispatch sj__variant_level0;
extern const struct sj_dispatch sj__variant_level1;
extern const struct sj_dispatch sj__variant_level2;
extern const struct sj_dispatch sj__variant_level3;
extern const struct sj_dispatch sj__variant_level4;
extern const struct sj_dispatch sj__variant_custom; /* reads the policy at run time */

/* Starts the library if it has not been; false if the kernel gives no memory at all. */
bool sj__start(void);

/* Starts the library. If calls are passed on to the next allocator: the address of its function called `name`, if it has
 * one. Else 0. */
uintptr_t sj__entry_next(const char *name);

#endif
