/* SPDX-License-Identifier: MIT
 *
 * What: the status block: what another process can read about Scrubjay in this one.
 *
 * Why this way: `scrubjay verify` must tell whether the library is really on in a process, which build and under which
 * options, for stripped and static programs too, and without a thread, a socket or a signal in the target. So the
 * answer lies in the library's data as text, and is found by its magic in the mappings of the object that holds it.
 * Its own address stands in it, so that a copy of the bytes is not mistaken for it.
 *
 * Invariants: the layout of a version never changes, and all have the same up to `self`; `state` is written last.
 *
 * Concurrency: written at start, by one thread; the reader is another process and reads `state` first. A raise of the level
 * writes `options` again: a reader that finds two different texts in two reads reads again.
 */
#ifndef SJ_POLICY_STATUS_H
#define SJ_POLICY_STATUS_H

#include "policy/options.h"

#define SJ_STATUS_MAGIC "scrubjay status" /* 16 bytes with its NUL */

enum { SJ_STATUS_VERSION = 4, SJ_STATUS_MAGIC_BYTES = 16, SJ_STATUS_BUILD_BYTES = 72, SJ_STATUS_RELEASE_BYTES = 24 };

enum sj_status_state {
    SJ_STATE_LOADED,   /* mapped, but not started: nothing has been allocated and no constructor has run */
    SJ_STATE_ON,       /* serves the process */
    SJ_STATE_DISABLED, /* SCRUBJAY_DISABLE: calls go to the next allocator */
    SJ_STATE_SHADOWED, /* another definition of malloc comes first in search order: calls don't reach this one */
    SJ_STATE_ASIDE     /* stepped aside for another tool that needs the allocator's place */
};

struct sj_status {
    char magic[SJ_STATUS_MAGIC_BYTES];
    uint32_t version; /* SJ_STATUS_VERSION */
    uint32_t bytes;   /* sizeof(struct sj_status) */
    uint64_t self;    /* the address of this block in its process; 0 before the start */
    uint32_t state;   /* enum sj_status_state */
    uint32_t process; /* the process that started; a forked child's block names its parent */
    uint64_t control; /* the address of the control block, see policy/control_block.h; 0 if there is none */
    char release[SJ_STATUS_RELEASE_BYTES];
    char build_id[SJ_STATUS_BUILD_BYTES]; /* hexadecimal */
    char options[SJ_OPTIONS_TEXT_BYTES];  /* as sj__options_print; "" if none is in force */
};

#endif
