/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see aside.h.
 */
#include "front/aside.h"

#include "platform/emulator.h"
#include "platform/process.h"

#include <string.h>

extern void __asan_init(void) SJ_WEAK;
extern void __tsan_init(void) SJ_WEAK;
extern void __lsan_init(void) SJ_WEAK;
const char *__asan_default_options(void);

/* Weak: in a static link the program may have its own. */
SJ_EXPORT SJ_WEAK const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}

/* Of all that valgrind preloads, the core alone leaves malloc to others. */
static bool valgrind_serves_malloc(void)
{
    static const char preloaded[] = "vgpreload_", core[] = "core";
    static char buffer[1024];
    const char *at = sj__process_environment("LD_PRELOAD", buffer, sizeof buffer);
    while (at != NULL && (at = strstr(at, preloaded)) != NULL) {
        at += sizeof preloaded - 1;
        if (strncmp(at, core, sizeof core - 1) != 0)
            return true;
    }
    return false;
}

const char *sj__aside_for(void)
{
    if (__asan_init != NULL)
        return "AddressSanitizer";
    if (__tsan_init != NULL)
        return "ThreadSanitizer";
    if (__lsan_init != NULL)
        return "LeakSanitizer";
    return sj__emulator_is_valgrind() && valgrind_serves_malloc() ? "valgrind" : NULL;
}
