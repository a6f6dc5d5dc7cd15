/* SPDX-License-Identifier: MIT
 *
 * What: see plan.h.
 *
 * Why this way: see plan.h.
 */
#include "bench/plan.h"

#include <math.h>
#include <stdlib.h>

#include "bench/text.h"
#include "bench/views.h"
#include "lab/power.h"
#include "lab/rank.h"
#include "lab/stats.h"

enum { PLAN_BLOCKS_LEAST = 6 };

static const double PLAN_EVALUE_ENOUGH = 20;

/* The spread of one block's log ratio, from how far the two runs of each arm in a block lie apart. */
static double plan_spread(const struct bench_result *result, double *freedom)
{
    double squares = 0;
    size_t found = 0;
    size_t last_block = result->rows[result->row_count - 1].block;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct bench_row *first = &result->rows[i];
        for (size_t k = i + 1; k < result->row_count; k++) {
            const struct bench_row *second = &result->rows[k];
            if (second->arm != first->arm || second->block != first->block || first->block != last_block)
                continue;
            double log_ratio = log(fmax(second->run.cpu_seconds, 1e-6) / fmax(first->run.cpu_seconds, 1e-6));
            squares += log_ratio * log_ratio;
            found++;
        }
    }
    *freedom = (double)found;
    return found > 0 ? sqrt(squares / (double)found / 2) : 0.1;
}

/* The least number of blocks does not fit: as many as do, but not fewer than give an interval. */
static void plan_squeeze(struct bench_result *result, const struct lab_plan_facts *facts)
{
    double fit = floor(facts->budget_seconds / facts->block_seconds);
    result->plan.over_budget = fit < PLAN_BLOCKS_LEAST;
    result->plan.blocks = fit > PLAN_BLOCKS_LEAST ? (size_t)fit : PLAN_BLOCKS_LEAST;
    result->plan.visible_effect = lab_visible_from_spread(facts->spread * lab_spread_caution(facts->freedom),
                                                          result->plan.blocks, facts->confidence);
}

void bench_plan(struct bench_session *session, struct bench_result *result, double block_seconds, double budget_seconds)
{
    const struct bench_options *options = session->options;
    struct lab_plan_facts facts = { .wanted_effect = options->delta_time,
                                    .block_seconds = block_seconds,
                                    .budget_seconds = budget_seconds,
                                    .asked_blocks = (options->pairs + 1) / 2,
                                    .least_blocks = session->least_blocks,
                                    .confidence = options->confidence };
    facts.spread = plan_spread(result, &facts.freedom);
    result->plan = lab_plan_session(&facts);
    if (result->plan.over_budget && options->pairs == 0 && options->which != BENCH_BENCH)
        plan_squeeze(result, &facts);
    double minutes = block_seconds * (double)result->plan.blocks / 60;
    char *visible = isfinite(result->plan.visible_effect)
                        ? bench_format("about %.1f %% of cpu", 100 * lab_effect(result->plan.visible_effect))
                        : bench_format("none, too few pairs");
    bench_say("%s: takes about %.1f min: %zu blocks (%zu pairs) of %.1f s; smallest visible effect %s%s",
              result->workload->name, minutes, result->plan.blocks, 2 * result->plan.blocks, block_seconds, visible,
              result->plan.over_budget ? "; this is over the budget, fewer pairs would show nothing" : "");
    free(visible);
}

bool bench_decided(const struct bench_session *session, const struct bench_result *result)
{
    const struct bench_options *options = session->options;
    size_t base = options->bases[0];
    bool any = false;
    for (size_t arm = 0; arm < options->arms.null; arm++) {
        if (arm == base || result->faults[arm] != NULL)
            continue;
        struct lab_block *blocks = lab_allocate(result->blocks, sizeof *blocks);
        double *logs = lab_allocate(result->blocks, sizeof *logs);
        size_t count = bench_view_blocks(result, base, arm, BENCH_CPU, blocks);
        lab_block_logs(blocks, count, logs);
        struct lab_sign sign = lab_sign_test(logs, count);
        free(logs);
        free(blocks);
        if (lab_sign_evalue(sign.below, sign.above) < PLAN_EVALUE_ENOUGH)
            return false;
        any = true;
    }
    return any;
}
