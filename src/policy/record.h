/* SPDX-License-Identifier: MIT
 *
 * What: the record that a process appends to the file named by SCRUBJAY_RECORD: one when the library has started, one at
 * exit with the counters. `scrubjay cost`, `ab` and `bench` read them.
 *
 * Why this way: a measurement must show that its arm really ran: which build, under which options, in how many processes.
 * A line of text on fd 2 would change the output that is compared. A fixed block in one write to a file opened for
 * appending needs no parsing, and processes do not cut into each other's. A process that ends by _exit or a signal has
 * left its first record.
 *
 * Invariants: the layout of a version never changes: this header, then `counters_bytes` bytes of struct sj_stats, which
 * has a version of its own (0 bytes in the first record). Nothing is written in set-user-id programs; the file is never
 * made, only appended to.
 *
 * Concurrency: one write a record.
 */
#ifndef SJ_POLICY_RECORD_H
#define SJ_POLICY_RECORD_H

#include "policy/status.h"

#define SJ_RECORD_MAGIC    "scrubjay record" /* 16 bytes with its NUL */
#define SJ_RECORD_VARIABLE "SCRUBJAY_RECORD"

enum { SJ_RECORD_VERSION = 3, SJ_RECORD_MAGIC_BYTES = 16 };

enum sj_record_moment { SJ_RECORD_STARTED = 1, SJ_RECORD_ENDED };

struct sj_record {
    char magic[SJ_RECORD_MAGIC_BYTES];
    uint32_t version; /* SJ_RECORD_VERSION */
    uint32_t bytes;   /* of this header */
    uint32_t counters_bytes;
    uint32_t moment;         /* enum sj_record_moment */
    uint32_t process;        /* a forked child's last record has a number that no first one has */
    uint32_t state;          /* enum sj_status_state */
    uint64_t peak_rss_bytes; /* VmHWM; 0 in the first record */
    char build_id[SJ_STATUS_BUILD_BYTES];
    char options[SJ_OPTIONS_TEXT_BYTES];
};

#endif
