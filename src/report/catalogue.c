/* SPDX-License-Identifier: MIT
 *
 * What: the texts of all reports.
 *
 * Why this way: see catalogue.h.
 *
 * Invariants: entry N-1 has number N.
 *
 * Concurrency: constants.
 */
#include "report/catalogue.h"

const struct sj_report_entry sj__report_catalogue[] = {
#define SJ_REPORT(id, number, title, cause, remedy, example) { (number), title, cause, remedy, example },
#include "report/catalogue.def"
#undef SJ_REPORT
};

const size_t sj__report_catalogue_count = sizeof sj__report_catalogue / sizeof sj__report_catalogue[0];

const struct sj_report_entry *sj__report_entry(enum sj_report_id id)
{
    const size_t index = (size_t)id - 1;
    return index < sj__report_catalogue_count ? &sj__report_catalogue[index] : NULL;
}
