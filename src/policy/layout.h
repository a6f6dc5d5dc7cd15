/* SPDX-License-Identifier: MIT
 *
 * What: where the allocator's books lie and how its records are laid out, for a debugger: names and numbers.
 *
 * Why this way: a stripped library, a static program and a core file have no types. gdb/scrubjay-gdb.py goes by this table, so
 * that it fits whatever build it looks at; it finds it through the control block.
 *
 * Invariants: a name that is there means the same in each version; those that begin with '&' are addresses, others offsets or counts.
 *
 * Concurrency: constants.
 */
#ifndef SJ_POLICY_LAYOUT_H
#define SJ_POLICY_LAYOUT_H

#include "base/compiler.h"

#define SJ_LAYOUT_MAGIC "scrubjay layout" /* 16 bytes with its NUL */

enum { SJ_LAYOUT_VERSION = 1, SJ_LAYOUT_MAGIC_BYTES = 16, SJ_LAYOUT_NAME_BYTES = 24 };

struct sj_layout_entry {
    char name[SJ_LAYOUT_NAME_BYTES];
    uintptr_t value;
};

struct sj_layout {
    char magic[SJ_LAYOUT_MAGIC_BYTES];
    uint32_t version; /* SJ_LAYOUT_VERSION */
    uint32_t count;
    const struct sj_layout_entry *entries;
};

#endif
