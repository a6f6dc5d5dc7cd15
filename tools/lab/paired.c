/* SPDX-License-Identifier: MIT
 *
 * What: see paired.h.
 *
 * Why this way: see paired.h.
 */
#include "lab/paired.h"

#include <math.h>
#include <stdlib.h>

#include "lab/power.h"

static double paired_log(const struct lab_block *block, size_t pair)
{
    return log(block->head[pair] / block->base[pair]);
}

void lab_block_logs(const struct lab_block *blocks, size_t count, double *logs)
{
    for (size_t i = 0; i < count; i++)
        logs[i] = 0.5 * (paired_log(&blocks[i], 0) + paired_log(&blocks[i], 1));
}

/* Each block's AB log ratio less its BA log ratio: what standing second costs, twice. */
static double paired_order_p(const struct lab_block *blocks, size_t count)
{
    double *differences = lab_allocate(count, sizeof *differences);
    for (size_t i = 0; i < count; i++) {
        size_t base_first = blocks[i].base_came_first ? 0 : 1;
        differences[i] = paired_log(&blocks[i], base_first) - paired_log(&blocks[i], 1 - base_first);
    }
    double p = lab_wilcoxon_test(differences, count).p;
    free(differences);
    return p;
}

struct lab_estimate lab_estimate_blocks(const struct lab_block *blocks, size_t count,
                                        const struct lab_settings *settings)
{
    struct lab_estimate estimate = { .blocks = count,
                                     .log_interval = { -INFINITY, INFINITY },
                                     .log_visible = INFINITY };
    estimate.sign.p = estimate.wilcoxon_p = estimate.order_p = estimate.drift.p = 1;
    if (count == 0)
        return estimate;
    double *logs = lab_allocate(count, sizeof *logs);
    lab_block_logs(blocks, count, logs);

    struct lab_random random;
    lab_random_seed(&random, settings->seed);
    struct lab_interval ranks = lab_median_interval(logs, count, settings->confidence);
    struct lab_interval drawn = lab_bootstrap_interval(logs, count, settings->confidence, settings->resamples, &random);
    estimate.bootstrap_wider = isfinite(drawn.low) && drawn.high - drawn.low > ranks.high - ranks.low;
    estimate.log_interval = estimate.bootstrap_wider ? drawn : ranks;
    estimate.log_median = lab_median(logs, count);
    estimate.sign = lab_sign_test(logs, count);
    estimate.wilcoxon_p = lab_wilcoxon_test(logs, count).p;
    estimate.log_hodges_lehmann = lab_hodges_lehmann(logs, count);
    estimate.log_visible = lab_visible_from_values(logs, count, settings->confidence);
    estimate.drift = lab_spearman_drift(logs, count);
    estimate.order_p = paired_order_p(blocks, count);
    free(logs);
    return estimate;
}

double lab_effect(double log_ratio)
{
    return expm1(log_ratio);
}

struct lab_interval lab_effect_interval(struct lab_interval logs)
{
    return (struct lab_interval){ expm1(logs.low), expm1(logs.high) };
}
