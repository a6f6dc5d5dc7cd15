/* SPDX-License-Identifier: MIT */
/*
 * What: the memory of another process, as `scrubjay stat`, `ctl` and `ctl profile` read it through its control block, while
 * that process may do with it what it likes.
 *
 * Why this way: the two calls that reach another process are wrapped by the linker, so the input is its memory: from BASE on,
 * with the block at its begin. The eight bytes before it say what is asked, how it answers, and what it changes between two
 * reads: a block that is torn, or that lies. What tells a block from other bytes is put right, so that mutations get past it.
 *
 * Invariants: each subcommand comes to an end, with one of its exit statuses; nothing that is printed has control characters;
 * what stat --json prints is JSON; nothing is written but requests and the doorbell.
 *
 * Concurrency: one input at a time.
 */
#include "fuzz/said.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <string.h>
#include <sys/uio.h>

#include "command.h"
#include "control.h"

enum { HEAD_BYTES = 8, BASE = 0x100000, MEMORY_BYTES = 1 << 16, CALLS_MOST = 2000, ASKS = 6 };

/* What the input says of the process. */
struct script {
    uint8_t ask;     /* which of the subcommands */
    uint8_t answers; /* 0: never; 1: at once; 2: at once, and to another request; else it ends */
    uint8_t error;   /* of its answers */
    uint8_t flips;   /* xor-ed into a byte after each read */
    uint16_t flip_at;
    uint8_t state;
    uint8_t spoiled; /* 255: the block is as the input has it */
};
_Static_assert(sizeof(struct script) == HEAD_BYTES, "it is the head of the input");

static struct script script;
static unsigned char memory[MEMORY_BYTES];
static unsigned reach_calls;

ssize_t __wrap_process_vm_readv(pid_t process, const struct iovec *local, unsigned long locals,
                                const struct iovec *there, unsigned long theres, unsigned long flags);
ssize_t __wrap_process_vm_writev(pid_t process, const struct iovec *local, unsigned long locals,
                                 const struct iovec *there, unsigned long theres, unsigned long flags);
int __wrap_sj__target_read(pid_t process, struct sj_target *target);

/* Where that lies in the memory; NULL if it does not. */
static unsigned char *reach(const struct iovec *there)
{
    const uint64_t at = (uint64_t)(uintptr_t)there->iov_base - BASE;
    return at <= MEMORY_BYTES && there->iov_len <= MEMORY_BYTES - at ? memory + at : NULL;
}

static struct sj_control *block(void)
{
    return (struct sj_control *)(void *)memory;
}

ssize_t __wrap_process_vm_readv(pid_t process, const struct iovec *local, unsigned long locals,
                                const struct iovec *there, unsigned long theres, unsigned long flags)
{
    (void)process, (void)locals, (void)theres, (void)flags;
    const unsigned char *from = reach(there);
    if (reach_calls++ > CALLS_MOST)
        abort(); /* it would go on for ever */
    errno = from == NULL ? EFAULT : ESRCH;
    if (from == NULL || script.answers > 3)
        return -1;
    memcpy(local->iov_base, from, there->iov_len);
    memory[script.flip_at % MEMORY_BYTES] ^= script.flips;
    return (ssize_t)there->iov_len;
}

static void answer_request(void)
{
    struct sj_control *control = block();
    const uint64_t sequence = control->request.sequence.value;
    if (script.answers == 0)
        return;
    control->answer.sequence.value = script.answers == 2 ? sequence + 1 : sequence;
    control->answer.error = script.error;
}

ssize_t __wrap_process_vm_writev(pid_t process, const struct iovec *local, unsigned long locals,
                                 const struct iovec *there, unsigned long theres, unsigned long flags)
{
    (void)process, (void)locals, (void)theres, (void)flags;
    unsigned char *to = reach(there);
    const unsigned char *request = (unsigned char *)&block()->request;
    const bool is_request = to >= request && to + there->iov_len <= request + sizeof block()->request;
    if (!is_request && there->iov_len != sizeof(uint64_t))
        abort(); /* what else would it write? */
    errno = EFAULT;
    if (to == NULL)
        return -1;
    memcpy(to, local->iov_base, there->iov_len);
    if (to == request)
        answer_request();
    return (ssize_t)there->iov_len;
}

/* What /proc and the status block have told: that is another target's matter. */
int __wrap_sj__target_read(pid_t process, struct sj_target *target)
{
    *target = (struct sj_target){ .process = process, .found = true };
    target->status.version = SJ_STATUS_VERSION;
    target->status.state = script.state;
    target->status.control = BASE;
    snprintf(target->program, sizeof target->program, "/bin/program");
    return 0;
}

static int ask(unsigned which)
{
    static const char *const words[ASKS][8] = {
        { "stat", "--wait", "0", "2000000000" },
        { "stat", "--json", "--wait", "0", "2000000000" },
        { "ctl", "--wait", "0", "2000000000", "level=3", "purge" },
        { "ctl", "--wait", "0", "2000000000", "check", "release_ms=5" },
        { "ctl", "2000000000", "profile", "--format", "gperftools", "-" },
        { "ctl", "2000000000", "profile", "--format", "folded", "-" },
    };
    char room[8][16], *argv[9];
    int argc = 0;
    for (; argc < 8 && words[which][argc] != NULL; argc++) {
        snprintf(room[argc], sizeof room[argc], "%s", words[which][argc]);
        argv[argc] = room[argc];
    }
    argv[argc] = NULL;
    optind = 0;
    return (words[which][0][0] == 's' ? sj__command_stat : sj__command_ctl)(argc, argv);
}

static void prepare(const uint8_t *data, size_t size)
{
    memcpy(&script, data, HEAD_BYTES);
    size = size - HEAD_BYTES < MEMORY_BYTES ? size - HEAD_BYTES : MEMORY_BYTES;
    memset(memory, 0, sizeof memory);
    memcpy(memory, data + HEAD_BYTES, size);
    if (script.spoiled == 255)
        return;
    memcpy(block()->magic, SJ_CONTROL_MAGIC, SJ_CONTROL_MAGIC_BYTES);
    block()->version = SJ_CONTROL_VERSION;
    block()->self = BASE;
}

static void must_be_json(const struct said *said)
{
    json_t *answer = json_loadb(said->text[0], said->bytes[0], JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
    FUZZ_CHECK(answer != NULL);
    json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct said said;
    if (size < HEAD_BYTES)
        return 0;
    prepare(data, size);
    reach_calls = 0;
    const unsigned which = script.ask % ASKS;
    said_begin(&said);
    const int status = ask(which);
    said_end(&said);
    FUZZ_CHECK(status >= SJ_EXIT_GOOD && status <= SJ_EXIT_PENDING);
    FUZZ_CHECK(said_is_tame(said.text[1], said.bytes[1]));
    FUZZ_CHECK(said_is_tame(said.text[0], said.bytes[0]));
    if (which == 1 && said.bytes[0] != 0)
        must_be_json(&said);
    said_free(&said);
    return 0;
}
