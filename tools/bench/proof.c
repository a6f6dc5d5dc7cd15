/* SPDX-License-Identifier: MIT
 *
 * What: see proof.h.
 *
 * Why this way: see proof.h.
 */
#include "bench/proof.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/text.h"

#define PROOF_COUNTER(member)                      \
    {                                              \
#member, offsetof(struct sj_stats, member) \
    }

static const struct proof_counter {
    const char *name;
    size_t offset;
} PROOF_COUNTERS[] = {
    PROOF_COUNTER(allocations),
    PROOF_COUNTER(frees),
    PROOF_COUNTER(live_bytes),
    PROOF_COUNTER(freed_bytes),
    PROOF_COUNTER(scrubbed_at_free),
    PROOF_COUNTER(scrubbed_at_reuse),
    PROOF_COUNTER(scrubbed_by_kernel),
    PROOF_COUNTER(owed_bytes),
    PROOF_COUNTER(calloc_avoided_bytes),
    PROOF_COUNTER(remote_frees),
    PROOF_COUNTER(slabs),
    PROOF_COUNTER(slab_bytes),
    PROOF_COUNTER(large_live_blocks),
    PROOF_COUNTER(large_live_bytes),
    PROOF_COUNTER(free_held_bytes),
    PROOF_COUNTER(window_bytes),
    PROOF_COUNTER(metadata_bytes),
    PROOF_COUNTER(heaps),
    PROOF_COUNTER(guards_refused),
    PROOF_COUNTER(traps_refused),
    PROOF_COUNTER(traps_skipped),
    PROOF_COUNTER(system_calls_refused),
    PROOF_COUNTER(weak_seeds),
    PROOF_COUNTER(realloc_moved_bytes),
    PROOF_COUNTER(realloc_copied_bytes),
    PROOF_COUNTER(turns),
};

enum { PROOF_COUNTER_COUNT = sizeof PROOF_COUNTERS / sizeof PROOF_COUNTERS[0] };

static uint64_t *proof_counter(struct sj_stats *stats, size_t index)
{
    return (uint64_t *)(void *)((char *)stats + PROOF_COUNTERS[index].offset);
}

const char *bench_counter_name(size_t index)
{
    return index < PROOF_COUNTER_COUNT ? PROOF_COUNTERS[index].name : NULL;
}

uint64_t bench_counter_value(const struct bench_proof *proof, size_t index)
{
    struct sj_stats counters = proof->counters;
    return *proof_counter(&counters, index);
}

void bench_counter_set(struct bench_proof *proof, size_t index, uint64_t value)
{
    *proof_counter(&proof->counters, index) = value;
}

bool bench_proof_reset(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return fd >= 0 && close(fd) == 0;
}

static void proof_add(struct bench_proof *proof, const struct sj_record *record, struct sj_stats *counters)
{
    if (proof->started + proof->ended == 0) {
        /* Anything may have written the file: the texts get an end. */
        memcpy(proof->build_id, record->build_id, sizeof proof->build_id - 1);
        memcpy(proof->options, record->options, sizeof proof->options - 1);
    }
    if (record->moment == SJ_RECORD_STARTED) {
        proof->started++;
        proof->off += record->state != SJ_STATE_ON;
        return;
    }
    proof->ended++;
    proof->peak_rss_sum_bytes += record->peak_rss_bytes;
    for (size_t i = 0; i < PROOF_COUNTER_COUNT; i++)
        *proof_counter(&proof->counters, i) += *proof_counter(counters, i);
}

/* All of a file; NULL, and 0 bytes, if there is none. */
static char *proof_load(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    *bytes = 0;
    while (file != NULL && !feof(file) && !ferror(file)) {
        if (*bytes == room) {
            room = room > 0 ? 2 * room : 1 << 16;
            char *grown = realloc(text, room);
            if (grown == NULL)
                bench_die("%s: there is no memory for it", path);
            text = grown;
        }
        *bytes += fread(text + *bytes, 1, room - *bytes, file);
    }
    if (file != NULL)
        fclose(file);
    return text;
}

/* Adds the record at `at`, if it is whole: a process that was killed while it wrote has left the first part of one, and others
 * go on behind that. Returns where to look for the next. */
static const char *proof_take(struct bench_proof *proof, const char *at, const char *end)
{
    struct sj_record record;
    struct sj_stats counters = { 0 };
    if ((size_t)(end - at) < sizeof record)
        return end;
    memcpy(&record, at, sizeof record);
    const char *behind = at + sizeof record;
    if (record.version != SJ_RECORD_VERSION || record.bytes != sizeof record ||
        record.counters_bytes > (size_t)(end - behind))
        return at + SJ_RECORD_MAGIC_BYTES;
    const size_t rest = (size_t)(behind - at) + record.counters_bytes - SJ_RECORD_MAGIC_BYTES;
    if (memmem(at + SJ_RECORD_MAGIC_BYTES, rest, SJ_RECORD_MAGIC, SJ_RECORD_MAGIC_BYTES) != NULL)
        return at + SJ_RECORD_MAGIC_BYTES;
    memcpy(&counters, behind, record.counters_bytes < sizeof counters ? record.counters_bytes : sizeof counters);
    if (counters.version != SJ_STATS_VERSION)
        memset(&counters, 0, sizeof counters);
    proof_add(proof, &record, &counters);
    return behind + record.counters_bytes;
}

void bench_proof_read(const char *path, struct bench_proof *proof)
{
    size_t bytes;
    memset(proof, 0, sizeof *proof);
    char *text = proof_load(path, &bytes);
    if (bytes == 0) {
        free(text);
        return;
    }
    const char *at = text, *end = text + bytes;
    while ((at = memmem(at, (size_t)(end - at), SJ_RECORD_MAGIC, SJ_RECORD_MAGIC_BYTES)) != NULL)
        at = proof_take(proof, at, end);
    free(text);
}
