/* SPDX-License-Identifier: MIT */
/*
 * What: the model over the plain names, one random stream after the other in one process.
 * Why this way: what a program sees under preload is malloc and free, not the prefixed names; the shrinking stays in
 * the model suite, here a failure prints its seed.
 */
#define SJ_TEST_PLAIN
#include "support/calls.h"
#include "unit/unit.h"

enum { STREAM_BYTES = 5000 * MODEL_RECORD_BYTES };

static unsigned char stream[STREAM_BYTES];
static struct model model;

static void model_plain__holds_when_operations_are_random(void)
{
    struct model_calls calls = calls_under_test();
    double end = unit_now_seconds() + unit_budget_seconds(2);
    uint64_t seed = unit_state.seed;
    model_start(&model, &calls, calls_promise_clean_memory());
    do {
        model_random_stream(++seed, stream, sizeof stream);
        if (!CHECK(model_run(&model, stream, sizeof stream)))
            break;
    } while (unit_now_seconds() < end);
    CHECK(model_finish(&model));
    if (model.failure[0] != '\0')
        unit_print("# %s (seed of the last stream: %llu)\n", model.failure, (unsigned long long)seed);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(model_plain__holds_when_operations_are_random);
    return unit_end();
}
