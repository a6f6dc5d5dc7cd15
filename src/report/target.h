/* SPDX-License-Identifier: MIT
 *
 * What: the file or descriptor that reports go to besides fd 2: the value of the option `report`.
 *
 * Why this way: the file is made when there is something to write, so a healthy process leaves none behind; and it is always a
 * new one, so that nobody who can guess its name can have a report written over something else. A later report of the same
 * process, or of a child, is appended to the file that was made, which is known again by its identity.
 *
 * Invariants: nothing is written to a file that was not made here, or to a descriptor that is another file than at start.
 *
 * Concurrency: started once; written to by the one thread that reports. Async-signal-safe.
 */
#ifndef SJ_REPORT_TARGET_H
#define SJ_REPORT_TARGET_H

#include "base/format.h"

/* `value` is "json:PATH", "json:fd:N" or ""; it is kept, not copied. */
void sj__target_start(const char *value);

/* Writes a document. If there is a target that does not take the whole of it: false, and the reason is added to `reason`. */
bool sj__target_write(const char *bytes, size_t count, struct sj_text *reason);

/* Writes a path into `text` with the process's number in the place of each %p. */
void sj__target_expand(struct sj_text *text, const char *from);

/* What a negative errno of a file call means to whoever asked for the file; `otherwise` if it is none of the usual. */
const char *sj__target_reason(int error, const char *otherwise);

#endif
