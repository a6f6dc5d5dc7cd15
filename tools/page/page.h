/* SPDX-License-Identifier: MIT
 *
 * What: a session as one page that stands alone: pictures, price list, tables, and how it was measured.
 *
 * Why this way: one file that can be sent, opened without a network and printed. There is no script in it, and its own
 * policy forbids any, so that a hostile name could do nothing even if its escaping were wrong.
 *
 * Invariants: the page is HTML and well-formed XML at once, and refers to nothing outside itself.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_PAGE_PAGE_H
#define SJ_PAGE_PAGE_H

#include <stdio.h>

#include "bench/claims.h"

void page_write(FILE *out, const struct bench_session *session, const struct bench_claims *claims,
                const struct bench_run *floor);

#endif
