/* SPDX-License-Identifier: MIT */
/*
 * What: the records that processes append to the file of SCRUBJAY_RECORD, as the lab reads them.
 *
 * Why this way: the program that is measured could write anything into that file.
 *
 * Invariants: the texts taken from it have an end.
 *
 * Concurrency: one input at a time.
 */
#include "fuzz/as_file.h"

#include <string.h>

#include "bench/proof.h"

static void read_records(const char *path)
{
    struct bench_proof proof;
    bench_proof_read(path, &proof);
    FUZZ_CHECK(memchr(proof.build_id, '\0', sizeof proof.build_id) != NULL);
    FUZZ_CHECK(memchr(proof.options, '\0', sizeof proof.options) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_file(data, size, read_records);
    return 0;
}
