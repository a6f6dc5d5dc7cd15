/* SPDX-License-Identifier: MIT */
/*
 * What: `scrubjay report FILE`: lines of JSON, and core files with a report in them.
 *
 * Why this way: the file comes from a process that was just attacked, so it is whatever the attacker wants. Names are not looked
 * up here: which files there are is not the input's.
 *
 * Invariants: what is printed has no control characters; the exit status says whether anything was found.
 *
 * Concurrency: one input at a time.
 */
#include "fuzz/as_file.h"
#include "fuzz/said.h"

#include "command.h"

static int answer;

static void read_report(const char *path)
{
    char command[] = "report", name[64];
    snprintf(name, sizeof name, "%s", path);
    char *argv[] = { command, name, NULL };
    optind = 0;
    answer = sj__command_report(2, argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct said said;
    answer = -1;
    said_begin(&said);
    as_file(data, size, read_report);
    said_end(&said);
    FUZZ_CHECK(answer == SJ_EXIT_GOOD || answer == 1);
    FUZZ_CHECK((answer == SJ_EXIT_GOOD) == (said.bytes[0] != 0));
    FUZZ_CHECK(said_is_tame(said.text[0], said.bytes[0]) && said_is_tame(said.text[1], said.bytes[1]));
    said_free(&said);
    return 0;
}
