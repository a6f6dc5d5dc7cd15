/* SPDX-License-Identifier: MIT
 *
 * What: which pages of owing runs owe their scrub: a bit a page.
 *
 * Why this way: the granules of a freed large block hold more than the block: its guard pages, and pages behind them that
 * nobody touched. To scrub means to read first, and to read such a page is a fault, and another for whoever writes it later.
 * One bit a page says where there is nothing to read; see doc/adr/0101.
 *
 * Invariants: a page of an owing run whose bit is clear reads as zero. What is not noted, for want of memory or beyond the
 * table's end, owes everywhere. The bits of granules that are in no owing run mean nothing.
 *
 * Concurrency: whoever notes or scrubs has the granules to himself.
 */
#ifndef SJ_SPAN_DEBTS_H
#define SJ_SPAN_DEBTS_H

#include "meta/window.h"

/* Of these granules the pages [start, start + bytes) owe, and no others. */
void sj__debts_note(size_t first_granule, size_t granules, const char *start, size_t bytes);

/* Scrubs the pages that owe. */
void sj__debts_scrub(size_t first_granule, size_t granules);

#endif
