/* SPDX-License-Identifier: MIT */
/*
 * What: the records that processes append to the file of SCRUBJAY_RECORD, as the lab reads them.
 *
 * Why this way: the program that is measured could write anything into that file.
 *
 * Invariants: the texts taken from it have an end. A record that is appended is read, whatever lies before it: that may have been
 * written by a process that was killed over it.
 *
 * Concurrency: one input at a time.
 */
#include "fuzz/as_file.h"

#include <string.h>

#include "bench/proof.h"

static struct bench_proof proof;

static void read_records(const char *path)
{
    bench_proof_read(path, &proof);
    FUZZ_CHECK(memchr(proof.build_id, '\0', sizeof proof.build_id) != NULL);
    FUZZ_CHECK(memchr(proof.options, '\0', sizeof proof.options) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_file(data, size, read_records);
    const unsigned before = proof.started;
    const struct sj_record record = {
        .magic = SJ_RECORD_MAGIC, .version = SJ_RECORD_VERSION, .bytes = sizeof record, .moment = SJ_RECORD_STARTED
    };
    uint8_t *more = malloc(size + sizeof record);
    FUZZ_CHECK(more != NULL);
    memcpy(more, data, size);
    memcpy(more + size, &record, sizeof record);
    as_file(more, size + sizeof record, read_records);
    free(more);
    FUZZ_CHECK(proof.started == before + 1);
    return 0;
}
