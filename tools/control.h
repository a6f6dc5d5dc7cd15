/* SPDX-License-Identifier: MIT
 *
 * What: the control block of another process: read, and written to with a request; see policy/control_block.h.
 *
 * Why this way: by process_vm_readv and writev, which ask the kernel for the permission to trace; nothing else is needed in
 * the target. What is read is not trusted: it is used as numbers only.
 *
 * Invariants: a request is written only while none is unanswered, but for one that asks for counters only; one that asks the same
 * is waited for instead.
 *
 * Concurrency: several askers may meet; the sequence, which is random, tells whose request was answered.
 */
#ifndef SJ_TOOLS_CONTROL_H
#define SJ_TOOLS_CONTROL_H

#include "policy/control_block.h"
#include "scrubjay.h"
#include "target.h"

enum { SJ_CONTROL_REASON_BYTES = 512 };

struct sj_remote {
    struct sj_target target;
    uint64_t address;          /* of the block */
    struct sj_control control; /* as read last */
};

/* Finds the block. Returns 0, or SJ_EXIT_NOT_ON or SJ_EXIT_CANNOT_TELL with the reason. */
int sj__control_open(pid_t process, struct sj_remote *remote, char *reason, size_t bytes);

/* Reads the block again; 0 or errno. */
int sj__control_read(struct sj_remote *remote);

/* Asks, and waits for the answer at most so long. Returns 0: remote->control.answer is the answer; ETIMEDOUT: it is asked,
 * and will be carried out when the target next comes by; EBUSY: it is not asked, another request is still open; or another errno. */
int sj__control_ask(struct sj_remote *remote, enum sj_command command, uint64_t number, unsigned wait_ms);

/* What the process has filled in when it was asked last. */
struct sj_seen {
    struct sj_stats stats;
    struct sj_bill bill;
    struct sj_account_stats accounts[SJ_CONTROL_ACCOUNTS_MAX]; /* most live bytes first */
    size_t accounts_count;
};

/* Reads that. False: it was never filled, or not whole, or it is of another version. */
bool sj__control_counters(struct sj_remote *remote, struct sj_seen *seen);

/* How old they are. */
uint64_t sj__control_age_ms(const struct sj_remote *remote);

#endif
