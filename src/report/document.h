/* SPDX-License-Identifier: MIT
 *
 * What: makes the document of a report; policy/document.h has what it looks like.
 *
 * Why this way: in a buffer of fixed size, with the frames last, so that what is cut is the outer end of the stack.
 *
 * Invariants: see policy/document.h.
 *
 * Concurrency: for the one thread that reports; async-signal-safe.
 */
#ifndef SJ_REPORT_DOCUMENT_H
#define SJ_REPORT_DOCUMENT_H

#include "policy/document.h"
#include "report/report.h"

/* Return addresses, the innermost first. */
struct sj_frames {
    const void *const *addresses;
    size_t count;
};

/* Makes the document of a report; `line` is its first line. `refused`: the process goes on. It stays where it is. */
const struct sj_document *sj__document_make(const struct sj_report_entry *entry, const struct sj_report_facts *facts,
                                            const char *line, const char *program, struct sj_frames frames,
                                            bool refused);

#endif
