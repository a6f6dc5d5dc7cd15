/* SPDX-License-Identifier: MIT
 *
 * What: the control block: what another process can read about the heap of this one, and how it asks for something.
 *
 * Why this way: a live process is reached through the kernel's own permission check (process_vm_readv and writev), so it
 * needs no thread, no socket and no signal. A request is a record of numbers, never a path and never a pointer: whoever
 * can write into the process could do worse. No option is ever lowered; giving memory back lets out what waits in
 * quarantine, as malloc_trim in the process does. It is carried out on the
 * target's next slow path, which looks because the asker has rung the doorbell: a word that every slow path reads
 * anyway, so that being reachable costs nothing. doc/control-block.md is for those who write another reader.
 *
 * Invariants: the layout of a version never changes. A request's sequence is random and not 0; it is written last, and
 * the doorbell after it. The answer's sequence is written last. While `filling` is odd the counters are being written.
 *
 * Concurrency: `request` is written by other processes, through the kernel; the rest by the thread that serves, under a
 * lock. An asker waits until the request before its own has been answered, unless that asks for counters only: its asker asks
 * again.
 */
#ifndef SJ_POLICY_CONTROL_BLOCK_H
#define SJ_POLICY_CONTROL_BLOCK_H

#include "base/atomic.h"

#define SJ_CONTROL_MAGIC "scrubjay control" /* 16 bytes, without its NUL */

enum {
    SJ_CONTROL_VERSION = 3,
    SJ_CONTROL_MAGIC_BYTES = 16,
    SJ_CONTROL_COUNTERS_MAX = 2048,
    SJ_CONTROL_BILL_MAX = 1024,
    SJ_CONTROL_ACCOUNTS_MAX = 64
};

enum sj_command {
    SJ_COMMAND_COUNTERS = 1, /* fills the counters and the bill */
    SJ_COMMAND_PURGE, /* gives free memory back: number 0 as sj_purge(0), else as sj_purge(1). Answer: 1 if any was */
    SJ_COMMAND_LEVEL, /* raises to level `number`. Answer: the level in force */
    SJ_COMMAND_RELEASE_MS, /* sets release_ms to `number`; all ones: never */
    SJ_COMMAND_CHECK,      /* checks the whole heap, as sj_check(0). Answer: the bytes of address space that this was */
};

struct sj_request {
    struct sj_atomic_u64 sequence; /* 0: none was ever made */
    uint64_t command;              /* enum sj_command */
    uint64_t number;
    uint64_t checksum; /* sj_control_checksum */
};

struct sj_answer {
    struct sj_atomic_u64 sequence; /* of the request that was answered last */
    uint64_t error;                /* 0, or an errno: see doc/control-block.md */
    uint64_t number;
};

struct sj_control {
    char magic[SJ_CONTROL_MAGIC_BYTES];
    uint32_t version;  /* SJ_CONTROL_VERSION */
    uint32_t bytes;    /* sizeof(struct sj_control) */
    uint64_t self;     /* the address of this block in its process */
    uint64_t doorbell; /* the address of a 64-bit word; writing 0 to it rings */
    struct sj_request request;
    struct sj_answer answer;
    struct sj_atomic_u32 level; /* in force */
    uint32_t first_level;       /* the program was started with */
    struct sj_atomic_u32 filling;
    uint32_t counters_bytes;       /* of struct sj_stats, which says its own version; 0: never filled */
    uint64_t filled_ms;            /* CLOCK_MONOTONIC, when the counters were filled */
    struct sj_atomic_u32 waiting;  /* 1: after a raise some threads have not come by yet */
    struct sj_atomic_u32 unsealed; /* 1: the page that leads to the allocator's functions could not be made read-only */
    uint64_t counters[SJ_CONTROL_COUNTERS_MAX / 8];
    uint64_t bill[SJ_CONTROL_BILL_MAX / 8]; /* struct sj_bill, which says its own version, filled with the counters */
    uint64_t accounts;       /* the address of struct sj_account_stats[], filled with the counters; 0: never filled */
    uint64_t accounts_count; /* of them, at most SJ_CONTROL_ACCOUNTS_MAX */
    uint64_t profile;        /* the address of struct sj_profile, see profile.h; 0: there is none */
    uint64_t layout;         /* the address of struct sj_layout, see layout.h; the last word: gdb/scrubjay-gdb.py */
};

static inline uint64_t sj_control_checksum(uint64_t sequence, uint64_t command, uint64_t number)
{
    uint64_t sum = 0x9e3779b97f4a7c15u;
    const uint64_t words[] = { sequence, command, number };
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        sum = (sum ^ words[i]) * 0xff51afd7ed558ccdu;
        sum ^= sum >> 32;
    }
    return sum;
}

#endif
