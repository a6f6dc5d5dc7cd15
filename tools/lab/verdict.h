/* SPDX-License-Identifier: MIT
 *
 * What: the verdict on a claim: one word from the interval of the effect, the null control and the warnings.
 *
 * Why this way: a table of numbers makes every reader invent his own rule. Here the rule is fixed before the session,
 * with a word for "no difference that matters" (SAME, by equivalence) apart from "cannot tell" (INCONCLUSIVE), which
 * says how many pairs more it would take.
 *
 * Invariants: SLOWER and FASTER need an interval without 0 and an estimate of at least delta; SAME needs the whole
 * interval within delta. A null control that is off never makes a claim stronger.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_LAB_VERDICT_H
#define SJ_LAB_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/paired.h"

enum lab_verdict { LAB_SAME, LAB_FASTER, LAB_SLOWER, LAB_LEANS, LAB_INCONCLUSIVE, LAB_INVALID };

/* Why a verdict is what it is, and what to warn of; bits. */
enum lab_note {
    LAB_NOTE_REAL_BUT_SMALL = 1 << 0, /* SAME, but 0 is outside the interval */
    LAB_NOTE_NULL_WIDENED = 1 << 1,   /* the null control excludes 0: the interval was widened */
    LAB_NOTE_NULL_OFF = 1 << 2,       /* the null control lies outside twice delta: INVALID */
    LAB_NOTE_DRIFT = 1 << 3,          /* the effect moved during the session */
    LAB_NOTE_ORDER = 1 << 4,          /* the effect depends on which arm came first */
    LAB_NOTE_FLIPPED = 1 << 5,        /* without the flagged blocks the verdict is another: INCONCLUSIVE */
    LAB_NOTE_HOLM = 1 << 6,           /* does not survive the correction for several workloads: LEANS */
    LAB_NOTE_TOO_FEW = 1 << 7,        /* too few blocks for any interval */
};

struct lab_claim {
    struct lab_estimate head;
    struct lab_estimate null;
    struct lab_interval log_interval; /* head's, widened if the null control is off */
    enum lab_verdict verdict;
    enum lab_verdict unflagged_verdict; /* by the blocks that were not flagged */
    size_t flagged_blocks;
    unsigned notes;        /* enum lab_note */
    size_t further_blocks; /* about how many more would settle it; 0 if settled, SIZE_MAX if out of reach */
    double holm_p;         /* 1 until lab_correct_claims() */
};

/* Judges one arm against its baseline. `null` holds the baseline's copy in head[], in the same blocks. */
struct lab_claim lab_claim_judge(const struct lab_block *head, const struct lab_block *null, size_t count,
                                 const struct lab_settings *settings);

/* Holm over claims on the primary metric, one a workload: SLOWER and FASTER that do not survive become LEANS. */
void lab_correct_claims(struct lab_claim *const *claims, size_t count, double confidence);

/* The verdict from an interval alone. */
enum lab_verdict lab_verdict_of(double log_median, struct lab_interval logs, double delta);

/* "SAME", "FASTER" ... */
const char *lab_verdict_word(enum lab_verdict verdict);

/* 0 SAME and FASTER, 1 SLOWER, 2 LEANS and INCONCLUSIVE, 3 INVALID. */
int lab_verdict_status(enum lab_verdict verdict);

/* Which of two statuses a session of several claims ends with: 3, then 1, then 2, then 0. */
int lab_worse_status(int left, int right);

#endif
