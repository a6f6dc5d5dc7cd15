/* SPDX-License-Identifier: MIT */
/*
 * What: a stream of operations among which other processes write requests into the control block, whole and torn, and scribble
 * over what they have no business with there.
 *
 * Why this way: the input is the model's stream (support/model.h); a record whose first byte is REQUEST_FROM or more is a
 * request, SCRIBBLE a byte written anywhere into the block but the doorbell's address, which is the one pointer that is read
 * there by askers only. A raise can't be undone, so it is asked for in a forked child, which runs the rest of the stream.
 *
 * Invariants: each request is answered within CALLS_MOST calls; one whose checksum is wrong by EBADMSG, and does nothing; no
 * level is ever lowered; blocks and heap stay whole. At most REQUESTS_MAX requests and RAISES_MAX children an input.
 *
 * Concurrency: one thread.
 */
#include "fuzz/target.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "front/entry.h"
#include "report/control_block.h"
#include "scrubjay.h"
#include "span/release.h"
#include "support/calls.h"

enum {
    REQUEST_FROM = 232,
    SCRIBBLE = 248,
    REQUESTS_MAX = 16,
    RAISES_MAX = 1,
    CALLS_MOST = 1000,
    STREAM_MAX = 1 << 13,
    CHILD_SECONDS = 60
};

static struct model model;
static unsigned raises, requests;
static bool in_child;

static struct sj_control *block(void)
{
    return &sj__control_page.control;
}

static void ring(void)
{
    *(volatile uint64_t *)(uintptr_t)block()->doorbell = 0;
}

/* Until the answer is there; false if none comes. */
static bool is_served(void)
{
    for (unsigned i = 0; i < CALLS_MOST && sj_control_block_is_pending(); i++) {
        void *slot = sj_malloc(48), *large = sj_malloc(100000);
        FUZZ_CHECK(slot != NULL && large != NULL);
        sj_free(slot);
        sj_free(large);
    }
    return !sj_control_block_is_pending();
}

/* The number, small or of any size. */
static uint64_t number_of(const unsigned char *record)
{
    uint32_t code;
    memcpy(&code, record + 4, sizeof code);
    switch (record[3] % 4) {
    case 0: return code % 8;
    case 1: return UINT64_MAX - code % 8;
    case 2: return (uint64_t)code << 32 | code;
    default: return code;
    }
}

static void ask(const unsigned char *record)
{
    struct sj_request *request = &block()->request;
    const bool is_torn = record[2] % 8 == 0;
    const unsigned level = sj__sealed.in_force->level;
    const uint64_t sequence = sj_load_relaxed_u64(&block()->answer.sequence) + 1 + record[2];
    request->command = record[1] % 8;
    request->number = number_of(record);
    request->checksum = sj_control_checksum(sequence, request->command, request->number) ^ is_torn;
    sj_store_release_u64(&request->sequence, sequence); /* pairs with the load of who serves */
    ring();
    FUZZ_CHECK(is_served());
    const struct sj_answer *answer = &block()->answer;
    const unsigned raised = sj__sealed.in_force->level;
    FUZZ_CHECK(raised >= level && raised <= SJ_LEVEL_MAX);
    FUZZ_CHECK((answer->error == EBADMSG) == is_torn);
    FUZZ_CHECK(raised == level ||
               (!is_torn && request->command == SJ_COMMAND_LEVEL && answer->error == 0 && answer->number == raised));
}

/* Any byte of the block but those of the doorbell's address. */
static void scribble(const unsigned char *record)
{
    uint32_t code;
    memcpy(&code, record + 4, sizeof code);
    const size_t at = code % sizeof *block(), doorbell = offsetof(struct sj_control, doorbell);
    if (at - doorbell >= sizeof block()->doorbell)
        ((volatile unsigned char *)block())[at] = record[1];
    ring();
    FUZZ_CHECK(is_served());
}

/* True in the child, and in a parent without one: there the stream goes on. */
static bool may_raise(void)
{
    if (in_child)
        return true;
    if (raises++ >= RAISES_MAX)
        return false;
    int status = -1;
    const pid_t child = fork();
    FUZZ_CHECK(child >= 0);
    if (child == 0) {
        alarm(CHILD_SECONDS);
        in_child = true;
        return true;
    }
    FUZZ_CHECK(waitpid(child, &status, 0) == child);
    FUZZ_CHECK(status == 0);
    return false;
}

static bool do_record(const unsigned char *record)
{
    if (record[0] < REQUEST_FROM)
        return model_run(&model, record, MODEL_RECORD_BYTES);
    if (requests++ >= REQUESTS_MAX)
        return true;
    if (record[0] >= SCRIBBLE)
        scribble(record);
    else if (record[1] % 8 != SJ_COMMAND_LEVEL || may_raise())
        ask(record);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model_calls calls;
    struct sj_hold hold;
    const union sj_control_page page = sj__control_page;
    calls = calls_under_test();
    model_start(&model, &calls, calls_promise_clean_memory());
    raises = requests = 0;
    FUZZ_CHECK(sj_malloc_usable_size(NULL) == 0);
    sj__release_get(&hold);
    for (size_t at = 0; at + MODEL_RECORD_BYTES <= size && at < STREAM_MAX; at += MODEL_RECORD_BYTES)
        if (!do_record(data + at))
            break;
    const bool good = model_finish(&model);
    if (!good)
        fprintf(stderr, "%s\n", model.failure);
    FUZZ_CHECK(good);
    FUZZ_CHECK(sj_check(0) == 1);
    if (in_child)
        _exit(0);
    sj__control_page = page;
    sj__release_set(&hold);
    return 0;
}
