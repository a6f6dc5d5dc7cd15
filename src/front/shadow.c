/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see shadow.h.
 */
#include "front/shadow.h"

#include "meta/window.h"

#include <stdlib.h>

bool sj__shadow_is_over(void)
{
    void *block = malloc(1);
    bool over = block != NULL && !sj_window_contains(block);
    free(block);
    return over;
}
