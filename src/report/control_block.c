/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see control_block.h.
 */
#include "report/control_block.h"

_Static_assert(sizeof(struct sj_control) <= SJ_CONTROL_PAGE_BYTES, "the block has a page");
_Static_assert(offsetof(struct sj_control, layout) + sizeof(uint64_t) == sizeof(struct sj_control),
               "gdb/scrubjay-gdb.py looks for it there, whatever the version");

__attribute__((aligned(SJ_CONTROL_PAGE_BYTES))) union sj_control_page sj__control_page = {
    .control = {
        .magic = { 's', 'c', 'r', 'u', 'b', 'j', 'a', 'y', ' ', 'c', 'o', 'n', 't', 'r', 'o', 'l' },
        .version = SJ_CONTROL_VERSION,
        .bytes = sizeof(struct sj_control),
    },
};

void sj__control_block_start(void *doorbell, unsigned level, uint64_t profile, const void *layout)
{
    struct sj_control *control = &sj__control_page.control;
    control->doorbell = (uint64_t)(uintptr_t)doorbell;
    control->first_level = level;
    control->profile = profile;
    control->layout = (uint64_t)(uintptr_t)layout;
    sj_store_relaxed_u32(&control->level, level);
    control->self = (uint64_t)(uintptr_t)control;
}
