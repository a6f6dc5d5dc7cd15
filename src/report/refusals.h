/* SPDX-License-Identifier: MIT
 *
 * What: the call sites whose misuse was refused under onerror=report, and how often.
 *
 * Why this way: one report a call site tells all there is to learn from it; a program that frees wrongly in a loop would
 * write nothing else. A table of fixed size, searched from the start: sites are few, and each has a report behind it.
 *
 * Invariants: a site is entered once and stays. What finds the table full is counted, not reported.
 *
 * Concurrency: for the one thread that holds the right to report refusals; see report.c.
 */
#ifndef SJ_REPORT_REFUSALS_H
#define SJ_REPORT_REFUSALS_H

#include "report/catalogue.h"

enum { SJ_REFUSALS_MAX = 128 };

struct sj_refusal {
    const void *caller;
    enum sj_report_id id;
    uint64_t count;
};

struct sj_refusals {
    struct sj_refusal sites[SJ_REFUSALS_MAX];
    size_t used;
    uint64_t beyond; /* at sites that found the table full */
};

/* Counts one; true if it is the first at this site, which there is room for. */
bool sj__refusals_count(struct sj_refusals *refusals, enum sj_report_id id, const void *caller);

#endif
