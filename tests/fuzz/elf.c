/* SPDX-License-Identifier: MIT */
/*
 * What: executable files and scripts, as `scrubjay run` and `verify` read them before anything is started.
 *
 * Why this way: the file is the user's choice and may be anything; a reader that goes astray would do so in the command.
 *
 * Invariants: the interpreter is a text with an end.
 *
 * Concurrency: one input at a time.
 */
#include "fuzz/as_file.h"

#include <string.h>

#include "elf_file.h"

static void read_elf(const char *path)
{
    struct sj_elf_facts facts;
    char name[64];
    FUZZ_CHECK(sj__elf_read(path, &facts));
    FUZZ_CHECK(memchr(facts.interpreter, '\0', sizeof facts.interpreter) != NULL);
    FUZZ_CHECK(sj__elf_machine_name(facts.machine, name, sizeof name)[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_file(data, size, read_elf);
    return 0;
}
