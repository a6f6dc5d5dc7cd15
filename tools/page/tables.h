/* SPDX-License-Identifier: MIT
 *
 * What: the tables of the page: the price list, the effects, the medians.
 *
 * Why this way: what a picture shows is also there as text, for screen readers, for copying, and for those who doubt.
 *
 * Invariants: a table that is wider than the window scrolls by itself, also by keyboard.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_PAGE_TABLES_H
#define SJ_PAGE_TABLES_H

#include "page/view.h"

/* What each step up the ladder, and each single option, adds and costs against the arm it builds on, under a heading; nothing
 * if no two arms are such a pair. */
void page_table_prices(FILE *out, const struct page_view *view, const struct bench_result *result);

/* Every claim against this baseline. */
void page_table_effects(FILE *out, const struct page_view *view, size_t base);

/* Medians, in the columns of mimalloc-bench. */
void page_table_medians(FILE *out, const struct page_view *view);

#endif
