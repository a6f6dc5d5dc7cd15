/* SPDX-License-Identifier: MIT
 *
 * What: see verdict.h.
 *
 * Why this way: the two warnings (drift, order) are given at 1 % each, since a session prints dozens of lines; both
 * together then come by chance once in ten thousand.
 */
#include "lab/verdict.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "lab/family.h"

static const double VERDICT_WARNING_P = 0.01;

enum { VERDICT_FURTHER_MAX = 5000 };

const char *lab_verdict_word(enum lab_verdict verdict)
{
    static const char *const words[] = { "SAME", "FASTER", "SLOWER", "LEANS", "INCONCLUSIVE", "INVALID" };
    return words[verdict];
}

int lab_verdict_status(enum lab_verdict verdict)
{
    static const int statuses[] = { 0, 0, 1, 2, 2, 3 };
    return statuses[verdict];
}

int lab_worse_status(int left, int right)
{
    static const int weight[] = { 0, 2, 1, 3 };
    return weight[left] >= weight[right] ? left : right;
}

enum lab_verdict lab_verdict_of(double log_median, struct lab_interval logs, double delta)
{
    struct lab_interval effect = lab_effect_interval(logs);
    double estimate = lab_effect(log_median);
    if (effect.low >= -delta && effect.high <= delta)
        return LAB_SAME;
    if (effect.low > 0)
        return estimate >= delta ? LAB_SLOWER : LAB_LEANS;
    if (effect.high < 0)
        return estimate <= -delta ? LAB_FASTER : LAB_LEANS;
    return LAB_INCONCLUSIVE;
}

/* How far the null control's interval is from containing 0, in log units. */
static double verdict_null_distance(const struct lab_estimate *null)
{
    if (null->log_interval.low > 0)
        return null->log_interval.low;
    return null->log_interval.high < 0 ? -null->log_interval.high : 0;
}

static bool verdict_null_off(const struct lab_estimate *null, double delta)
{
    struct lab_interval effect = lab_effect_interval(null->log_interval);
    return effect.low > 2 * delta || effect.high < -2 * delta;
}

static unsigned verdict_warnings(const struct lab_claim *claim, double delta)
{
    unsigned notes = 0;
    if (verdict_null_distance(&claim->null) > 0)
        notes |= LAB_NOTE_NULL_WIDENED;
    if (verdict_null_off(&claim->null, delta))
        notes |= LAB_NOTE_NULL_OFF;
    if (claim->head.drift.p < VERDICT_WARNING_P)
        notes |= LAB_NOTE_DRIFT;
    if (claim->head.order_p < VERDICT_WARNING_P)
        notes |= LAB_NOTE_ORDER;
    if (!isfinite(claim->head.log_interval.low))
        notes |= LAB_NOTE_TOO_FEW;
    return notes;
}

/* Blocks missing until the interval would be narrow enough, with 80 % power, to say SAME, or to exclude 0. */
static size_t verdict_further_blocks(const struct lab_claim *claim, double delta)
{
    double half = 0.5 * (claim->log_interval.high - claim->log_interval.low);
    if (!isfinite(half))
        return 0;
    double size = fabs(claim->head.log_median);
    double limit = log1p(delta);
    double wanted = size >= limit ? size : limit - size;
    const double power = 1.43; /* (1.96 + 0.84) / 1.96 */
    double ratio = wanted > 0 ? power * half / wanted : INFINITY;
    double missing = (double)claim->head.blocks * (ratio * ratio - 1);
    if (!(missing < VERDICT_FURTHER_MAX))
        return SIZE_MAX;
    return missing > 1 ? (size_t)ceil(missing) : 1;
}

static struct lab_claim verdict_judge_once(const struct lab_block *head, const struct lab_block *null, size_t count,
                                           const struct lab_settings *settings)
{
    struct lab_claim claim = { .holm_p = 1 };
    claim.head = lab_estimate_blocks(head, count, settings);
    claim.null = lab_estimate_blocks(null, count, settings);
    claim.notes = verdict_warnings(&claim, settings->delta);
    double widening = verdict_null_distance(&claim.null);
    claim.log_interval = claim.head.log_interval;
    claim.log_interval.low -= widening;
    claim.log_interval.high += widening;
    claim.verdict = lab_verdict_of(claim.head.log_median, claim.log_interval, settings->delta);
    bool crooked = (claim.notes & LAB_NOTE_DRIFT) != 0 && (claim.notes & LAB_NOTE_ORDER) != 0;
    if (crooked || (claim.notes & LAB_NOTE_NULL_OFF) != 0)
        claim.verdict = LAB_INVALID;
    if (claim.verdict == LAB_SAME && (claim.log_interval.low > 0 || claim.log_interval.high < 0))
        claim.notes |= LAB_NOTE_REAL_BUT_SMALL;
    if (claim.verdict == LAB_INCONCLUSIVE || claim.verdict == LAB_LEANS)
        claim.further_blocks = verdict_further_blocks(&claim, settings->delta);
    claim.unflagged_verdict = claim.verdict;
    return claim;
}

struct lab_claim lab_claim_judge(const struct lab_block *head, const struct lab_block *null, size_t count,
                                 const struct lab_settings *settings)
{
    struct lab_claim claim = verdict_judge_once(head, null, count, settings);
    struct lab_block *quiet_head = lab_allocate(count, sizeof *quiet_head);
    struct lab_block *quiet_null = lab_allocate(count, sizeof *quiet_null);
    size_t quiet = 0;
    for (size_t i = 0; i < count; i++) {
        if (!head[i].flagged) {
            quiet_head[quiet] = head[i];
            quiet_null[quiet] = null[i];
            quiet++;
        }
    }
    claim.flagged_blocks = count - quiet;
    if (quiet < count) {
        claim.unflagged_verdict = verdict_judge_once(quiet_head, quiet_null, quiet, settings).verdict;
        if (claim.unflagged_verdict != claim.verdict && claim.verdict != LAB_INVALID) {
            claim.verdict = LAB_INCONCLUSIVE;
            claim.notes |= LAB_NOTE_FLIPPED;
            claim.further_blocks = 0; /* not more of these pairs: quieter ones */
        }
    }
    free(quiet_null);
    free(quiet_head);
    return claim;
}

void lab_correct_claims(struct lab_claim *const *claims, size_t count, double confidence)
{
    double *p = lab_allocate(count, sizeof *p);
    for (size_t i = 0; i < count; i++)
        p[i] = claims[i]->head.sign.p;
    lab_holm_adjust(p, count);
    for (size_t i = 0; i < count; i++) {
        struct lab_claim *claim = claims[i];
        claim->holm_p = p[i];
        if ((claim->verdict == LAB_SLOWER || claim->verdict == LAB_FASTER) && p[i] > 1 - confidence) {
            claim->verdict = LAB_LEANS;
            claim->notes |= LAB_NOTE_HOLM;
        }
    }
    free(p);
}
