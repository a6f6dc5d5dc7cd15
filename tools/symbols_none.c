/* SPDX-License-Identifier: MIT
 *
 * What: symbols.h where there is no libdw: nothing is known.
 */
#include "symbols.h"

bool sj__symbols_can(void)
{
    return false;
}

enum sj_symbols_answer sj__symbols_find(const char *module, const char *build_id, uint64_t offset,
                                        struct sj_symbol *symbol)
{
    (void)module;
    (void)build_id;
    (void)offset;
    *symbol = (struct sj_symbol){ 0 };
    return SJ_SYMBOLS_UNKNOWN;
}
