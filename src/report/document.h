/* SPDX-License-Identifier: MIT
 *
 * What: a report as one line of JSON, and where it lies in memory.
 *
 * Why this way: made whenever a process ends with a report, wanted or not: a core file then has it, and `scrubjay report`
 * finds it there by its mark. It lies in a buffer of fixed size, with the frames last, so that what is cut is the outer end
 * of the stack.
 *
 * Invariants: the layout of a version never changes; members are only added. The text is one JSON object and a newline, in
 * ASCII: a byte of a path that is not stands as \u00XX. Addresses and offsets are strings "0x...".
 *
 * Concurrency: for the one thread that reports; async-signal-safe.
 */
#ifndef SJ_REPORT_DOCUMENT_H
#define SJ_REPORT_DOCUMENT_H

#include "report/report.h"

#define SJ_DOCUMENT_MAGIC "scrubjay report" /* 16 bytes with its NUL */

enum { SJ_DOCUMENT_VERSION = 1, SJ_DOCUMENT_MAGIC_BYTES = 16, SJ_DOCUMENT_TEXT_BYTES = 16384 };

struct sj_document {
    char magic[SJ_DOCUMENT_MAGIC_BYTES];
    uint32_t version; /* SJ_DOCUMENT_VERSION; 0 before the first report */
    uint32_t bytes;   /* of the text */
    char text[SJ_DOCUMENT_TEXT_BYTES];
};

/* Return addresses, the innermost first. */
struct sj_frames {
    const void *const *addresses;
    size_t count;
};

/* Makes the document of a report; `line` is its first line. It stays where it is. */
const struct sj_document *sj__document_make(const struct sj_report_entry *entry, const struct sj_report_facts *facts,
                                            const char *line, const char *program, struct sj_frames frames);

#endif
