/* SPDX-License-Identifier: MIT
 *
 * What: every slab carries the level it was opened under.
 *
 * Why this way: the level is fixed at a process's first call, so the test runs itself again for each.
 *
 * Invariants: a slab found through a pointer is the one that serves it.
 *
 * Concurrency: one thread.
 */
#include "unit/unit.h"

#include "meta/window.h"
#include "scrubjay.h"
#include "span/slab.h"

#include <sys/wait.h>

static const char again[] = "--stamps";

/* In the process started again: 0 if the slab of each size has the stamp `level`. */
static int judge_stamps(unsigned level)
{
    for (size_t size_bytes = 0; size_bytes <= SJ_SMALL_MAX_BYTES; size_bytes += size_bytes / 8 + 1) {
        void *block = sj_malloc(size_bytes);
        const struct sj_span *span = sj__window_find(block);
        if (sj_load_relaxed_u32(&span->kind) != SJ_SPAN_SLAB)
            return 2;
        if (((const struct sj_slab *)(const void *)span)->stamp != level)
            return 3;
        sj_free(block);
    }
    return 0;
}

static void heap_stamp__is_the_level_in_force(void)
{
    for (unsigned level = 0; level <= SJ_LEVEL_MAX; level++) {
        char options[32], digit[2] = { (char)('0' + level), '\0' };
        int status = -1;
        snprintf(options, sizeof options, "level=%u,sample=0", level);
        pid_t child = fork();
        if (child == 0) {
            setenv("SCRUBJAY_OPTIONS", options, 1);
            execl("/proc/self/exe", "heap_stamp_test", again, digit, (char *)NULL);
            _exit(127);
        }
        REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_EQ(status, 0);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], again) == 0)
        return judge_stamps((unsigned)atoi(argv[2]));
    unit_begin(argc, argv);
    RUN(heap_stamp__is_the_level_in_force);
    return unit_end();
}
