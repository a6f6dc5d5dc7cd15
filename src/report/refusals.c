/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see refusals.h.
 */
#include "report/refusals.h"

bool sj__refusals_count(struct sj_refusals *refusals, enum sj_report_id id, const void *caller)
{
    for (size_t i = 0; i < refusals->used; i++) {
        struct sj_refusal *site = &refusals->sites[i];
        if (site->caller == caller && site->id == id) {
            site->count++;
            return false;
        }
    }
    if (refusals->used == SJ_REFUSALS_MAX) {
        refusals->beyond++;
        return false;
    }
    refusals->sites[refusals->used++] = (struct sj_refusal){ .caller = caller, .id = id, .count = 1 };
    return true;
}
