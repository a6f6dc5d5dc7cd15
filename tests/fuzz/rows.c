/* SPDX-License-Identifier: MIT */
/*
 * What: rows.jsonl, as `scrubjay show` and `merge` read it.
 *
 * Why this way: such files are sent around. What is no session's file must end in a message; what is taken must be fit for
 * what comes after: arms and blocks within their bounds.
 *
 * Invariants: no row of an arm that does not exist.
 *
 * Concurrency: one input at a time.
 */
#include "fuzz/as_file.h"

#include "bench/load.h"

static struct bench_loaded loaded;

static void read_rows(const char *path)
{
    bench_load(&loaded, path);
    FUZZ_CHECK(loaded.manifest.count <= BENCH_WORKLOADS_MAX);
    for (size_t i = 0; i < loaded.manifest.count; i++) {
        const struct bench_result *result = &loaded.outcome.results[i];
        for (size_t row = 0; row < result->row_count; row++) {
            FUZZ_CHECK(result->rows[row].arm < loaded.options.arms.count);
            FUZZ_CHECK(result->rows[row].warm_up || result->rows[row].block < result->blocks);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_file(data, size, read_rows);
    free(loaded.manifest.items);
    free(loaded.outcome.results);
    loaded = (struct bench_loaded){ 0 };
    return 0;
}
