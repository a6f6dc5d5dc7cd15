/* SPDX-License-Identifier: MIT
 *
 * What: the ids of all reports.
 *
 * Why this way: one list, report/catalogue.def, makes the enum, the texts of the reports, `scrubjay explain` and the
 * manual, so that none of them can say something else than the others.
 *
 * Invariants: an id, once published, keeps its number and meaning.
 *
 * Concurrency: constants.
 */
#ifndef SJ_REPORT_CATALOGUE_H
#define SJ_REPORT_CATALOGUE_H

#include "base/compiler.h"

enum sj_report_id {
    SJ_REPORT_NONE = 0,
#define SJ_REPORT(id, number, title, cause, remedy, example) id = (number),
#include "report/catalogue.def"
#undef SJ_REPORT
};

struct sj_report_entry {
    unsigned number;     /* NNN of SJ-NNN */
    const char *title;   /* short, as in the first line */
    const char *cause;   /* what the program did */
    const char *remedy;  /* what to do about it */
    const char *example; /* code that does it, in a line */
};

extern const struct sj_report_entry sj__report_catalogue[];
extern const size_t sj__report_catalogue_count;

const struct sj_report_entry *sj__report_entry(enum sj_report_id id);

#endif
