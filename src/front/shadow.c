/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see shadow.h.
 */
#include "front/shadow.h"

#include "front/names.h"
#include "meta/window.h"
#include "platform/tags.h"

#include <stdlib.h>

bool sj__shadow_is_over(void)
{
    void *(*by_name)(size_t) = malloc;
    void *(*own)(size_t) = sj__names_malloc;
    sj_hold(by_name); /* or the compiler may hold that two names are two functions */
    if (by_name == own)
        return false;
    void *block = malloc(1);
    bool over = block != NULL && !sj_window_contains(sj_tags_strip(block));
    free(block);
    return over;
}
