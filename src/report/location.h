/* SPDX-License-Identifier: MIT
 *
 * What: says in words where an address lies: which file and offset, which stack, an anonymous mapping, nowhere.
 *
 * Why this way: from /proc/self/maps, read in pieces into static buffers, never by touching the address. dladdr would
 * take the loader's lock, and there may be no room for a buffer on an alternate signal stack.
 *
 * Invariants: a mapping whose line is longer than the buffer loses the end of its path.
 *
 * Concurrency: for the one thread that reports; async-signal-safe. Mappings may change while they are read; then the
 * answer may be old.
 */
#ifndef SJ_REPORT_LOCATION_H
#define SJ_REPORT_LOCATION_H

#include "base/format.h"

enum sj_address_shape {
    SJ_ADDRESS_USUAL,
    SJ_ADDRESS_SMALL,        /* in the first 64 KiB: a number, or a member of a NULL structure */
    SJ_ADDRESS_KERNEL,       /* in the upper half */
    SJ_ADDRESS_NON_CANONICAL /* no page can be there; or its upper bits carry a tag */
};

enum sj_address_shape sj__location_shape(const void *address);

/* A place in a file that is mapped. */
struct sj_code_place {
    const char *file; /* until the next question to this floor */
    uintptr_t base;   /* where the file is mapped first */
    uintptr_t offset; /* from there */
};

/* False if it is in no file. */
bool sj__location_find_code(const void *address, struct sj_code_place *place);

/* For code: adds "/usr/bin/foo+0x1234", the distance from where the file is mapped first, as addr2line and gdb take it
 * for position-independent files; nothing if it is not known. */
void sj__location_format_code(struct sj_text *text, const void *address);

/* For data: adds a phrase that follows "pointer lies ": "in the stack of this thread", "in /usr/lib/x.so+0x10 (rw-p)",
 * "in an anonymous mapping of 4096 bytes", "nowhere: ..." */
void sj__location_format_data(struct sj_text *text, const void *address);

#endif
