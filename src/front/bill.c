/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see bill.h.
 */
#include "front/bill.h"

#include "front/entry.h"
#include "front/slow.h"
#include "heap/deep.h"
#include "meta/window.h"

#include <errno.h>
#include <string.h>

void sj__bill_fill(struct sj_bill *bill, struct sj_bill_row *rows, unsigned count, bool with_resident)
{
    sj__bill_make(bill, rows, count);
    bill->resident_bytes = with_resident ? sj__window_resident() : 0;
    if (bill->resident_bytes > 0 && bill->resident_bytes < bill->committed_bytes)
        bill->untouched_bytes = bill->committed_bytes - bill->resident_bytes;
}

bool sj__bill_ask(struct sj_bill *bill, struct sj_bill_row *row, bool with_resident)
{
    struct sj_deep deep;
    if (!sj__start() || sj__sealed.settings.disable || sj__slow_is_inside()) {
        errno = sj__slow_is_inside() ? EAGAIN : sj__sealed.settings.disable ? ENOTSUP : ENOMEM;
        return false;
    }
    sj_deep_begin(&deep);
    sj__bill_fill(bill, row, row != NULL, with_resident);
    sj_deep_end(&deep);
    return true;
}

SJ_EXPORT int sj_bill_read(struct sj_bill *bill, size_t bytes)
{
    struct sj_bill made;
    if (!sj__bill_ask(&made, NULL, true))
        return -1;
    made.bytes = (uint32_t)(bytes < sizeof made ? bytes : sizeof made);
    memcpy(bill, &made, made.bytes);
    return 0;
}
