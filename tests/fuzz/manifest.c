/* SPDX-License-Identifier: MIT */
/*
 * What: lists of workloads, as `scrubjay bench` reads them.
 *
 * Why this way: people write them by hand; a wrong line must end in a message.
 *
 * Invariants: what is taken has a name and a command.
 *
 * Concurrency: one input at a time.
 */
#include "fuzz/as_file.h"

#include "bench/manifest.h"

static void read_manifest(const char *path)
{
    struct bench_manifest manifest = { 0 };
    bench_manifest_read(&manifest, path, "/bin", "/tmp", NULL, 0);
    for (size_t i = 0; i < manifest.count; i++)
        FUZZ_CHECK(manifest.items[i].name != NULL && manifest.items[i].command != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_file(data, size, read_manifest);
    return 0;
}
