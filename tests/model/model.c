/* SPDX-License-Identifier: MIT */
/*
 * What: random operations against the oracle on one thread, and the shrinking of a stream that fails.
 *
 * Why this way: each stream runs in a child process, which begins with a fresh heap; so a failure is a stream and
 * nothing else, and can be replayed: SJ_TEST_STREAM=FILE runs that file instead of random streams.
 *
 * Invariants: as in support/model.h.
 *
 * Concurrency: one thread in each process.
 */
#include "support/calls.h"
#include "unit/unit.h"

#include <fcntl.h>

enum { STREAM_RECORDS = 20000, STREAM_BYTES = STREAM_RECORDS * MODEL_RECORD_BYTES };

static unsigned char stream[STREAM_BYTES];

static void print_line(const char *line)
{
    unit_print("#   %s\n", line);
}

static void save(const unsigned char *bytes, size_t length)
{
    char path[128];
    snprintf(path, sizeof path, "/tmp/scrubjay-model-%d.stream", (int)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0 && write(file, bytes, length) == (ssize_t)length)
        unit_print("# replay with SJ_TEST_STREAM=%s\n", path);
    close(file);
}

static void explain_failure(const struct model_calls *calls, bool clean, uint64_t seed)
{
    unit_print("# the stream of seed %llu fails; cutting it down\n", (unsigned long long)seed);
    size_t length = model_shrink(calls, clean, stream, sizeof stream, 60);
    unit_print("# %zu records are left:\n", length / MODEL_RECORD_BYTES);
    model_print(stream, length, 60, print_line);
    model_survives(calls, clean, stream, length, true);
    save(stream, length);
}

static void model_stream__holds_when_operations_are_random(void)
{
    struct model_calls calls = calls_under_test();
    bool clean = calls_promise_clean_memory();
    double end = unit_now_seconds() + unit_budget_seconds(2);
    uint64_t streams = 0;
    do {
        uint64_t seed = unit_state.seed + streams * 0x10001;
        model_random_stream(seed, stream, sizeof stream);
        if (!CHECK(model_survives(&calls, clean, stream, sizeof stream, true))) {
            explain_failure(&calls, clean, seed);
            return;
        }
        streams++;
    } while (unit_now_seconds() < end);
    unit_print("# %llu streams of %d operations, %s\n", (unsigned long long)streams, (int)STREAM_RECORDS,
               clean ? "memory must be clean" : "memory may be stale");
}

/* Few slots and few sizes: the same slots of the same classes again and again. */
static void model_stream__holds_when_slots_are_reused_at_once(void)
{
    struct model_calls calls = calls_under_test();
    bool clean = calls_promise_clean_memory();
    double end = unit_now_seconds() + unit_budget_seconds(2) / 2;
    uint64_t seed = unit_state.seed;
    do {
        model_random_stream(++seed, stream, sizeof stream);
        uint64_t state = seed;
        uint64_t bits = unit_random_below(&state, 18);
        for (size_t at = 0; at < sizeof stream; at += MODEL_RECORD_BYTES) {
            stream[at + 3] = 0;
            stream[at + 2] &= 15;
            stream[at + 7] = (unsigned char)(stream[at + 7] & 7) | (unsigned char)(bits << 3);
        }
        if (!CHECK(model_survives(&calls, clean, stream, sizeof stream, true))) {
            explain_failure(&calls, clean, seed);
            return;
        }
    } while (unit_now_seconds() < end);
}

static void model_stream__holds_when_replayed_from_a_file(void)
{
    const char *path = getenv("SJ_TEST_STREAM");
    if (path == NULL)
        SKIP("SJ_TEST_STREAM is not set");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, stream, sizeof stream) : -1;
    close(file);
    REQUIRE(length >= 0);
    struct model_calls calls = calls_under_test();
    model_print(stream, (size_t)length, 60, print_line);
    CHECK(model_survives(&calls, calls_promise_clean_memory(), stream, (size_t)length, true));
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(model_stream__holds_when_replayed_from_a_file);
    if (getenv("SJ_TEST_STREAM") == NULL) {
        RUN(model_stream__holds_when_operations_are_random);
        RUN(model_stream__holds_when_slots_are_reused_at_once);
    }
    return unit_end();
}
