/* SPDX-License-Identifier: MIT
 *
 * What: the tables of a session in Markdown, a file each, for the documents: summary-BASE.md, METRIC-BASE.md (a row a
 * workload, a column an arm), medians.md, session.md.
 *
 * Why this way: a document takes a table whole, between two markers, and never a number typed by hand.
 *
 * Invariants: the same claims as in the text report.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_BENCH_MARKDOWN_H
#define SJ_BENCH_MARKDOWN_H

#include "bench/claims.h"

/* Into options->out, if it is given. */
void bench_write_markdown(const struct bench_session *session, const struct bench_claims *claims);

#endif
