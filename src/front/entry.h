/* SPDX-License-Identifier: MIT
 *
 * What: the dispatch table: which variant of each hot entry point is in force.
 *
 * Why this way: one indirect jump a call buys the choice of the level at run time. Each level is a set of functions
 * compiled with its policy as a constant; the table is filled at start and then sealed together with the settings, so
 * that a stray write can't redirect the allocator. Before start it leads to functions that start the library first.
 * A raise of the level opens the page for the moment it writes (front/live.h).
 *
 * Invariants: the table is complete at all times.
 *
 * Concurrency: read by all; written under the start lock, and by a raise.
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
    void *(*new_object)(size_t size_bytes);
    void *(*new_array)(size_t size_bytes);
    void (*delete_object)(void *block);
    void (*delete_array)(void *block);
    void (*delete_object_sized)(void *block, size_t size_bytes);
    void (*delete_array_sized)(void *block, size_t size_bytes);
};

enum { SJ_SEALED_PAGE_BYTES = 4096, SJ_SEALED_BYTES = 2 * SJ_SEALED_PAGE_BYTES };

/* Everything that is fixed after start, in pages of its own. */
union sj_sealed {
    struct {
        struct sj_dispatch dispatch;
        struct sj_dispatch next; /* SCRUBJAY_DISABLE: the next allocator's, as far as it has them; see front/next.h */
        struct sj_dispatch behind_tags; /* with tags: the level's, where `dispatch` is sj__tagged_table */
        struct sj_settings settings;
        struct sj_copies copies;
        const struct sj_settings *in_force;      /* those above, or the last raised ones */
        struct sj_settings raised[SJ_LEVEL_MAX]; /* by the level they were raised to, less one */
        const struct sj_dispatch *raised_to;     /* the variant of the last raise */
    };
    char page[SJ_SEALED_BYTES];
};
_Static_assert(sizeof(union sj_sealed) == SJ_SEALED_BYTES, "all that is sealed fits the pages");
extern SJ_HIDDEN union sj_sealed sj__sealed;

extern const struct sj_dispatch sj__variant_level0;
extern const struct sj_dispatch sj__variant_level1;
extern const struct sj_dispatch sj__variant_level2;
extern const struct sj_dispatch sj__variant_level3;
extern const struct sj_dispatch sj__variant_level4;
extern const struct sj_dispatch sj__variant_custom; /* reads the policy at run time */

/* The table that serves a policy. */
const struct sj_dispatch *sj__variant_for(const struct sj_policy *policy);

/* Starts the library if it has not been; false if the kernel gives no memory at all. */
bool sj__start(void);

/* Starts the library. If calls are passed on to the next allocator: the address of its function called `name`, if it has
 * one. Else 0. */
uintptr_t sj__entry_next(const char *name);

#endif
