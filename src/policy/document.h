/* SPDX-License-Identifier: MIT
 *
 * What: a report as one line of JSON, as it lies in memory.
 *
 * Why this way: made whenever a process ends with a report, wanted or not: a core file then has it, and `scrubjay report`
 * finds it there by its mark.
 *
 * Invariants: the layout of a version never changes; members of the object are only added. The text is one JSON object and a
 * newline, in ASCII: a byte of a path that is not stands as \u00XX. Addresses and offsets are strings "0x...".
 *
 * Concurrency: written by the one thread that reports.
 */
#ifndef SJ_POLICY_DOCUMENT_H
#define SJ_POLICY_DOCUMENT_H

#include "base/compiler.h"

#define SJ_DOCUMENT_MAGIC "scrubjay report" /* 16 bytes with its NUL */

enum { SJ_DOCUMENT_VERSION = 1, SJ_DOCUMENT_MAGIC_BYTES = 16, SJ_DOCUMENT_TEXT_BYTES = 16384 };

struct sj_document {
    char magic[SJ_DOCUMENT_MAGIC_BYTES];
    uint32_t version; /* SJ_DOCUMENT_VERSION; 0 before the first report */
    uint32_t bytes;   /* of the text */
    char text[SJ_DOCUMENT_TEXT_BYTES];
};

#endif
