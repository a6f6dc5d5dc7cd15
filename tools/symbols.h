/* SPDX-License-Identifier: MIT
 *
 * What: what function and line a place in a file is.
 *
 * Why this way: libdwfl finds symbols, line tables and separate debug files as gdb does, by build id, also from a debuginfod
 * server if DEBUGINFOD_URLS says so. Where it is missing symbols_none.c takes the place of symbols.c: reports are read all the same.
 *
 * Invariants: a file that is not the one of the report (another build id) gives no names: they would be wrong.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_TOOLS_SYMBOLS_H
#define SJ_TOOLS_SYMBOLS_H

#include "base/compiler.h"

enum sj_symbols_answer { SJ_SYMBOLS_FOUND, SJ_SYMBOLS_UNKNOWN, SJ_SYMBOLS_NO_FILE, SJ_SYMBOLS_OTHER_BUILD };

/* Lives until the next question. */
struct sj_symbol {
    const char *function; /* NULL if not known */
    const char *file;     /* of the source; NULL if not known */
    int line;
};

/* False if this command was built without libdw. */
bool sj__symbols_can(void);

/* What lies `offset` bytes behind where `module` is mapped first. `build_id`: in hexadecimal; "" for any. */
enum sj_symbols_answer sj__symbols_find(const char *module, const char *build_id, uint64_t offset,
                                        struct sj_symbol *symbol);

#endif
