/* SPDX-License-Identifier: MIT
 *
 * What: finds libc's copy functions for the shared library; see copies.h.
 *
 * Why this way: by name in the objects after ours, as front/next.c does. Only names that the libc at hand has are asked
 * for: a look-up that succeeds allocates nothing, while one that fails makes a message.
 *
 * Invariants: an entry that was not found keeps what it was.
 *
 * Concurrency: under the start lock.
 */
#include "front/copies.h"

#include "front/names.h"
#include "front/next.h"

#include <string.h>

struct row {
    const char *name;
    size_t offset;
};

#define ROW(field)                                \
    {                                             \
#field, offsetof(struct sj_copies, field) \
    }
#define NAMED(field, own_name)                      \
    {                                               \
        own_name, offsetof(struct sj_copies, field) \
    }

void sj__copies_find(struct sj_copies *copies)
{
    const struct row rows[] = {
        ROW(memmove),
        ROW(memset),
        ROW(strcpy),
        ROW(stpcpy),
        ROW(strcat),
        ROW(strncpy),
        ROW(stpncpy),
        ROW(strncat),
        ROW(wmemset),
        ROW(wcscpy),
        ROW(wcpcpy),
        ROW(wcscat),
        ROW(wcsncpy),
        ROW(wcpncpy),
        ROW(wcsncat),
        ROW(vsprintf),
        ROW(vsnprintf),
        NAMED(vsprintf_chk, sj__names_vsprintf_chk),
        NAMED(vsnprintf_chk, sj__names_vsnprintf_chk),
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *found = rows[i].name[0] != '\0' ? sj__next_find(rows[i].name) : NULL;
        if (found != NULL)
            memcpy((char *)copies + rows[i].offset, &found, sizeof found);
    }
}
