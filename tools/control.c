/* SPDX-License-Identifier: MIT
 *
 * What: reads the control block of another process and writes requests into it; see control.h.
 *
 * Why this way: what is asked is found to be answered by reading again every few milliseconds: the target does nothing for
 * whoever waits.
 *
 * Invariants, concurrency: see control.h.
 */
#include "control.h"

#include "bench/text.h"
#include "command.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>

enum { POLL_MS = 2, READS = 100 };

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void nap(void)
{
    const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
    nanosleep(&pause, NULL);
}

/* Copies between this process and the target; 0 or errno. */
static int copy(ssize_t (*call)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                                unsigned long),
                const struct sj_remote *remote, uint64_t address, void *buffer, size_t bytes)
{
    const struct iovec local = { buffer, bytes };
    const struct iovec there = { (void *)(uintptr_t)address, bytes };
    const ssize_t moved = call(remote->target.process, &local, 1, &there, 1, 0);
    return moved == (ssize_t)bytes ? 0 : moved < 0 ? errno : EFAULT;
}

int sj__control_read(struct sj_remote *remote)
{
    return copy(process_vm_readv, remote, remote->address, &remote->control, sizeof remote->control);
}

static const char *what_is_off(const struct sj_target *target)
{
    if (!target->found)
        return "Scrubjay is not in it";
    switch ((enum sj_status_state)target->status.state) {
    case SJ_STATE_DISABLED: return "SCRUBJAY_DISABLE switched it off";
    case SJ_STATE_SHADOWED: return "another malloc comes before the library's";
    case SJ_STATE_ASIDE: return "it stepped aside for another tool";
    case SJ_STATE_LOADED: return "the library is there, but has not been started yet";
    case SJ_STATE_ON: break;
    }
    return NULL;
}

int sj__control_open(pid_t process, struct sj_remote *remote, char *reason, size_t bytes)
{
    const int error = sj__target_read(process, &remote->target);
    if (error == EACCES || error == EPERM) {
        snprintf(
            reason, bytes,
            "not allowed to look at process %d: it needs the permission to trace it; ask as root, or as its own user "
            "with kernel.yama.ptrace_scope at 0 (a program that has changed its user needs root)",
            (int)process);
        return SJ_EXIT_CANNOT_TELL;
    }
    if (error != 0) {
        snprintf(reason, bytes, "process %d: %s", (int)process, error == ESRCH ? "there is none" : strerror(error));
        return SJ_EXIT_CANNOT_TELL;
    }
    if (remote->target.found && remote->target.status.version != SJ_STATUS_VERSION) {
        snprintf(reason, bytes, "process %d: it runs another version of the library than this command reads",
                 (int)process);
        return SJ_EXIT_CANNOT_TELL;
    }
    const char *off = what_is_off(&remote->target);
    if (off != NULL) {
        snprintf(reason, bytes, "process %d: %s; `scrubjay verify %d` says more", (int)process, off, (int)process);
        return SJ_EXIT_NOT_ON;
    }
    remote->address = remote->target.status.control;
    if (sj__control_read(remote) != 0 || memcmp(remote->control.magic, SJ_CONTROL_MAGIC, SJ_CONTROL_MAGIC_BYTES) != 0 ||
        remote->control.version != SJ_CONTROL_VERSION || remote->control.self != remote->address) {
        snprintf(reason, bytes,
                 "process %d: no control block of version %d; it runs another version of the library (%s)",
                 (int)process, SJ_CONTROL_VERSION, remote->target.status.release);
        return SJ_EXIT_CANNOT_TELL;
    }
    return 0;
}

static uint64_t sequence_of_request(const struct sj_remote *remote)
{
    return remote->control.request.sequence.value;
}

/* Nothing is open, or only a request for counters: who asked for them asks again. */
static bool may_write(const struct sj_remote *remote, enum sj_command command)
{
    return sequence_of_request(remote) == remote->control.answer.sequence.value ||
           (command != SJ_COMMAND_COUNTERS && remote->control.request.command == SJ_COMMAND_COUNTERS);
}

/* True if a request of ours is in there no more, or was read while somebody else wrote: it has to be made again. */
static bool is_written_over(const struct sj_remote *remote, uint64_t sequence)
{
    const struct sj_answer *answer = &remote->control.answer;
    return answer->sequence.value == sequence ? answer->error == EBADMSG : sequence_of_request(remote) != sequence;
}

/* Sequence last, then the bell. 0 or errno. */
static int write_request(struct sj_remote *remote, enum sj_command command, uint64_t number, uint64_t *sequence)
{
    struct sj_request request = { .command = command, .number = number };
    const uint64_t at = remote->address + offsetof(struct sj_control, request);
    const size_t head = sizeof request.sequence;
    uint64_t silence = 0;
    do
        if (getrandom(sequence, sizeof *sequence, 0) != (ssize_t)sizeof *sequence)
            return errno;
    while (*sequence == 0 || *sequence == sequence_of_request(remote));
    request.sequence.value = *sequence;
    request.checksum = sj_control_checksum(*sequence, command, number);
    int error = copy(process_vm_writev, remote, at + head, (char *)&request + head, sizeof request - head);
    if (error == 0)
        error = copy(process_vm_writev, remote, at, &request, head);
    return error != 0 ? error : copy(process_vm_writev, remote, remote->control.doorbell, &silence, sizeof silence);
}

/* An answer's error and number are written before its sequence: while our request is still the last one they can only be ours,
 * else they may be those of the next answer. EAGAIN: the request has to be made again. */
static int confirm_answer(struct sj_remote *remote, uint64_t sequence)
{
    const struct sj_answer answer = remote->control.answer;
    const int error = sj__control_read(remote);
    if (error != 0)
        return error;
    remote->control.answer = answer;
    return sequence_of_request(remote) == sequence ? 0 : EAGAIN;
}

int sj__control_ask(struct sj_remote *remote, enum sj_command command, uint64_t number, unsigned wait_ms)
{
    const uint64_t until_ms = now_ms() + wait_ms;
    uint64_t sequence = 0; /* of our request; 0: none is open */
    for (;;) {
        int error = sj__control_read(remote);
        if (error != 0)
            return error;
        const struct sj_request *request = &remote->control.request;
        const bool is_late = now_ms() >= until_ms;
        if (sequence != 0 && is_written_over(remote, sequence) && !is_late)
            sequence = 0;
        if (sequence != 0 && remote->control.answer.sequence.value == sequence) {
            error = confirm_answer(remote, sequence);
            if (error != EAGAIN)
                return error;
            if (is_late) /* a process that changes the block all the time would be asked for ever */
                return EBUSY;
            sequence = 0;
            continue;
        }
        if (sequence == 0 && may_write(remote, command)) {
            error = write_request(remote, command, number, &sequence);
            if (error != 0)
                return error;
        } else if (sequence == 0 && request->command == command && request->number == number) {
            sequence = sequence_of_request(remote); /* somebody has asked just this */
        } else if (is_late) {
            return sequence != 0 && sequence_of_request(remote) == sequence ? ETIMEDOUT : EBUSY;
        } else {
            nap();
        }
    }
}

static int compare_live(const void *a, const void *b)
{
    const uint64_t of_a = ((const struct sj_account_stats *)a)->live_bytes;
    const uint64_t of_b = ((const struct sj_account_stats *)b)->live_bytes;
    return (of_a < of_b) - (of_a > of_b);
}

static bool read_accounts(const struct sj_remote *remote, struct sj_seen *seen)
{
    seen->accounts_count = remote->control.accounts_count;
    if (seen->accounts_count > SJ_CONTROL_ACCOUNTS_MAX)
        return false;
    return seen->accounts_count == 0 || copy(process_vm_readv, remote, remote->control.accounts, seen->accounts,
                                             seen->accounts_count * sizeof seen->accounts[0]) == 0;
}

/* What another process calls its arenas may have no end, and be meant for a terminal. */
static void tame_names(struct sj_seen *seen)
{
    for (size_t i = 0; i < seen->accounts_count; i++) {
        struct sj_account_stats *account = &seen->accounts[i];
        account->arena[sizeof account->arena - 1] = '\0';
        account->label[sizeof account->label - 1] = '\0';
        (void)bench_tame(account->arena);
        (void)bench_tame(account->label);
    }
}

static bool is_of_our_version(const struct sj_seen *seen)
{
    return seen->stats.version == SJ_STATS_VERSION && seen->bill.version == SJ_BILL_VERSION;
}

bool sj__control_counters(struct sj_remote *remote, struct sj_seen *seen)
{
    for (unsigned reads = 0; reads < READS; reads++) {
        const uint32_t before = remote->control.filling.value;
        const size_t bytes = remote->control.counters_bytes;
        if (bytes == 0 || bytes > sizeof remote->control.counters)
            return false;
        memset(seen, 0, sizeof *seen);
        memcpy(&seen->stats, remote->control.counters, bytes < sizeof seen->stats ? bytes : sizeof seen->stats);
        memcpy(&seen->bill, remote->control.bill, sizeof seen->bill);
        const bool has_accounts = read_accounts(remote, seen);
        if (sj__control_read(remote) != 0)
            return false;
        if (before % 2 != 0 || remote->control.filling.value != before)
            continue;
        if (has_accounts) {
            tame_names(seen);
            qsort(seen->accounts, seen->accounts_count, sizeof seen->accounts[0], compare_live);
        }
        return has_accounts && is_of_our_version(seen);
    }
    return false;
}

uint64_t sj__control_age_ms(const struct sj_remote *remote)
{
    const uint64_t now = now_ms(), filled = remote->control.filled_ms;
    return now > filled ? now - filled : 0;
}
