/* SPDX-License-Identifier: MIT */
/*
 * What: a stream of operations with misuse in it. Right use is checked against the model's oracle; every misuse must end in
 * a report.
 *
 * Why this way: the input is the model's stream (support/model.h), so a stream of the model's tests is an input here and the
 * other way round. A record whose first byte is MISUSE_FROM or more is a misuse: it is tried in a forked child, on the heap
 * as the stream has made it, so that this process goes on unharmed and the fuzzer sees how far the stream came.
 *
 * Invariants: a child that misuses ends by SIGABRT after a line with a report's id; nothing else is right. At most
 * MISUSES_MAX children an input.
 *
 * Concurrency: one thread.
 */
#include "fuzz/target.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/report.h"
#include "support/calls.h"

enum { MISUSE_FROM = 240, MISUSES_MAX = 4, PAST = 64, STREAM_MAX = 1 << 14, ANSWERED = 42 };

enum misuse {
    MISUSE_FREE_TWICE,
    MISUSE_FREE_INTERIOR,
    MISUSE_REALLOC_INTERIOR,
    MISUSE_REALLOC_FREED,
    MISUSE_SIZE_OF_FREED,
    MISUSE_FREE_PAST, /* a pointer freed some time ago, at which no live block begins now */
    MISUSE_REALLOC_PAST,
    MISUSE_FREE_STATIC,
    MISUSE_FREE_STACK,
    MISUSE_FREE_OUTSIDE, /* at a distance from a live block, where no live block begins */
    MISUSE_COUNT
};

static struct model model;
static void *past[PAST];
static size_t past_count;

static void *hide(void *pointer)
{
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

static bool begins_block(const void *pointer)
{
    for (size_t slot = 0; slot < MODEL_SLOTS; slot++)
        if (model.blocks[slot].bytes == pointer)
            return true;
    return false;
}

/* What a block of the model was before the next record frees or moves it. */
static void remember(const unsigned char *record)
{
    size_t slot = (record[2] | (size_t)record[3] << 8) % MODEL_SLOTS;
    if (model.blocks[slot].bytes != NULL)
        past[past_count++ % PAST] = model.blocks[slot].bytes;
}

/* The pointer that the misuse is done with; NULL if there is none to be had. */
static void *misused_pointer(enum misuse misuse, const struct model_block *block, uint32_t code)
{
    static char own[64];
    char *pointer = NULL;
    switch (misuse) {
    case MISUSE_FREE_STATIC: return own + code % 64;
    case MISUSE_FREE_STACK: return __builtin_frame_address(0);
    case MISUSE_FREE_PAST:
    case MISUSE_REALLOC_PAST: pointer = past[code % PAST]; break;
    case MISUSE_FREE_OUTSIDE: pointer = block->bytes != NULL ? (char *)block->bytes + (int32_t)code : NULL; break;
    case MISUSE_FREE_INTERIOR:
    case MISUSE_REALLOC_INTERIOR:
        pointer = block->bytes != NULL && block->usable_bytes > 1
                      ? (char *)block->bytes + 1 + code % (block->usable_bytes - 1)
                      : NULL;
        break;
    default: return block->bytes;
    }
    return pointer == NULL || begins_block(pointer) ? NULL : pointer;
}

/* Comes back only if the library lets it pass. */
static void do_misuse(enum misuse misuse, void *pointer, uint32_t code)
{
    switch (misuse) {
    case MISUSE_FREE_TWICE: sj_free(hide(pointer)); break;
    case MISUSE_REALLOC_FREED:
        sj_free(hide(pointer));
        hide(sj_realloc(hide(pointer), code % 100000));
        return;
    case MISUSE_SIZE_OF_FREED:
        sj_free(hide(pointer));
        (void)sj_malloc_usable_size(hide(pointer));
        return;
    case MISUSE_REALLOC_INTERIOR:
    case MISUSE_REALLOC_PAST: hide(sj_realloc(hide(pointer), code % 100000)); return;
    default: break;
    }
    sj_free(hide(pointer));
}

static void must_report(enum misuse misuse, void *pointer, uint32_t code)
{
    char text[4096];
    size_t length = 0;
    int ends[2], status = 0;
    FUZZ_CHECK(pipe(ends) == 0);
    pid_t child = fork();
    FUZZ_CHECK(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        alarm(20);
        dup2(ends[1], STDERR_FILENO);
        sj__report_start(); /* else fd 2 would be another file than at the start, and none of its own */
        do_misuse(misuse, pointer, code);
        _exit(ANSWERED);
    }
    close(ends[1]);
    for (ssize_t got; length < sizeof text - 1 && (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
    close(ends[0]);
    FUZZ_CHECK(waitpid(child, &status, 0) == child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(text, "scrubjay: SJ-") == NULL) {
        fprintf(stderr, "misuse %d of %p (code %u): status 0x%x, %s\n", (int)misuse, pointer, code, (unsigned)status,
                text);
        abort();
    }
}

static void misuse_once(const unsigned char *record)
{
    uint32_t code;
    memcpy(&code, record + 4, sizeof code);
    enum misuse misuse = (enum misuse)(record[1] % MISUSE_COUNT);
    size_t slot = (record[2] | (size_t)record[3] << 8) % MODEL_SLOTS;
    void *pointer = misused_pointer(misuse, &model.blocks[slot], code);
    if (pointer != NULL)
        must_report(misuse, pointer, code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model_calls calls;
    calls = calls_under_test();
    model_start(&model, &calls, calls_promise_clean_memory());
    memset(past, 0, sizeof past);
    past_count = 0;
    unsigned misuses = 0;
    if (size > STREAM_MAX)
        size = STREAM_MAX;
    for (size_t at = 0; at + MODEL_RECORD_BYTES <= size; at += MODEL_RECORD_BYTES) {
        if (data[at] >= MISUSE_FROM) {
            if (misuses++ < MISUSES_MAX)
                misuse_once(data + at);
            continue;
        }
        remember(data + at);
        if (!model_run(&model, data + at, MODEL_RECORD_BYTES))
            break;
    }
    bool good = model_finish(&model);
    if (!good)
        fprintf(stderr, "%s\n", model.failure);
    FUZZ_CHECK(good);
    return 0;
}
