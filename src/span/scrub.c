/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see scrub.h.
 */
#include "span/scrub.h"

#include <string.h>

enum {
    SCAN_MIN_BYTES = 4096, /* below this, writing is always cheaper than looking */
    SCAN_STEP_BYTES = 1024
};

static bool is_zero(const sj_vector16 *at, const sj_vector16 *end)
{
    for (; at < end; at += 8) {
        sj_vector16 any = at[0] | at[1] | at[2] | at[3] | at[4] | at[5] | at[6] | at[7];
        if ((any[0] | any[1]) != 0)
            return false;
    }
    return true;
}

void sj__scrub_bytes(void *start, size_t bytes)
{
    char *at = start;
    if (bytes >= SCAN_MIN_BYTES) {
        for (; bytes >= SCAN_STEP_BYTES; at += SCAN_STEP_BYTES, bytes -= SCAN_STEP_BYTES) {
            void *step = at;
            if (!is_zero(step, (sj_vector16 *)(void *)(at + SCAN_STEP_BYTES)))
                memset(at, 0, SCAN_STEP_BYTES);
        }
    }
    memset(at, 0, bytes);
}
