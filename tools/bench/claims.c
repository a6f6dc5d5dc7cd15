/* SPDX-License-Identifier: MIT
 *
 * What: see claims.h.
 *
 * Why this way: see claims.h.
 */
#include "bench/claims.h"

#include <stdlib.h>

enum { CLAIMS_RESAMPLES = 2000 };

static void claims_judge_one(const struct bench_options *options, struct bench_claim *claim)
{
    const struct bench_result *result = claim->result;
    claim->fault = result->refused != NULL ? result->refused : result->faults[claim->head];
    if (claim->fault == NULL)
        claim->fault = result->faults[claim->base];
    if (claim->fault != NULL)
        return;
    struct lab_settings settings = { .confidence = options->confidence,
                                     .delta = bench_metric_is_memory(claim->metric) ? options->delta_memory
                                                                                    : options->delta_time,
                                     .resamples = CLAIMS_RESAMPLES,
                                     .seed = options->seed };
    struct lab_block *head = lab_allocate(result->blocks, sizeof *head);
    struct lab_block *null = lab_allocate(result->blocks, sizeof *null);
    size_t count = bench_view_blocks(result, claim->base, claim->head, claim->metric, head);
    size_t null_count = bench_view_blocks(result, options->bases[0], options->arms.null, claim->metric, null);
    if (claim->metric == BENCH_MEAN_RSS && count == 0)
        claim->fault = "the runs are too short for their memory to be sampled";
    else
        claim->claim = lab_claim_judge(head, null, count < null_count ? count : null_count, &settings);
    free(null);
    free(head);
}

static void claims_correct(struct bench_claims *claims, size_t base, size_t head)
{
    struct lab_claim **family = lab_allocate(claims->count, sizeof *family); /* NOLINT(bugprone-sizeof-expression) */
    size_t count = 0;
    for (size_t i = 0; i < claims->count; i++) {
        struct bench_claim *claim = &claims->items[i];
        if (claim->base == base && claim->head == head && claim->metric == BENCH_CPU && claim->fault == NULL)
            family[count++] = &claim->claim;
    }
    lab_correct_claims(family, count, claims->options->confidence);
    free(family);
}

void bench_claims_judge(struct bench_claims *claims, const struct bench_options *options,
                        const struct bench_result *results, size_t result_count)
{
    size_t arms = options->arms.null;
    *claims = (struct bench_claims){ .options = options, .results = results, .result_count = result_count };
    claims->items =
        lab_allocate(options->base_count * result_count * arms * BENCH_JUDGED_METRICS, sizeof *claims->items);
    for (size_t b = 0; b < options->base_count; b++) {
        size_t base = options->bases[b];
        for (size_t i = 0; i < result_count; i++) {
            for (size_t head = 0; head < arms; head++) {
                for (unsigned metric = 0; head != base && metric < BENCH_JUDGED_METRICS; metric++) {
                    struct bench_claim *claim = &claims->items[claims->count++];
                    *claim =
                        (struct bench_claim){ .result = &results[i], .base = base, .head = head, .metric = metric };
                    claims_judge_one(options, claim);
                }
            }
        }
        for (size_t head = 0; head < arms; head++)
            claims_correct(claims, base, head);
    }
}

struct bench_summary bench_claims_summarise(const struct bench_claims *claims, size_t base, size_t head,
                                            enum bench_metric metric)
{
    struct bench_summary summary = { 0 };
    double *logs = lab_allocate(2 * claims->result_count, sizeof *logs);
    const char **names = lab_allocate(2 * claims->result_count, sizeof *names);
    double *real_logs = logs + claims->result_count;
    const char **real_names = names + claims->result_count;
    size_t all = 0;
    size_t real = 0;
    for (size_t i = 0; i < claims->count; i++) {
        const struct bench_claim *claim = &claims->items[i];
        if (claim->base != base || claim->head != head || claim->metric != metric || claim->fault != NULL)
            continue;
        logs[all] = claim->claim.head.log_median;
        names[all++] = claim->result->workload->name;
        if (!claim->result->workload->real)
            continue;
        real_logs[real] = claim->claim.head.log_median;
        real_names[real++] = claim->result->workload->name;
    }
    if (all > 0) {
        summary.all = lab_summarise(logs, all, claims->options->confidence);
        summary.worst_name = names[summary.all.worst];
    }
    if (real > 0) {
        summary.real = lab_summarise(real_logs, real, claims->options->confidence);
        summary.worst_real_name = real_names[summary.real.worst];
    }
    free(names);
    free(logs);
    return summary;
}

int bench_claims_status(const struct bench_claims *claims)
{
    int status = 0;
    for (size_t i = 0; i < claims->count; i++) {
        const struct bench_claim *claim = &claims->items[i];
        if (claim->base != claims->options->bases[0] || claim->metric != BENCH_CPU)
            continue;
        enum lab_verdict verdict = claim->fault != NULL ? LAB_INVALID : claim->claim.verdict;
        status = lab_worse_status(status, lab_verdict_status(verdict));
    }
    return status;
}

const char *bench_verdict_word(enum lab_verdict verdict, enum bench_metric metric)
{
    if (bench_metric_is_memory(metric) && verdict == LAB_SLOWER)
        return "LARGER";
    if (bench_metric_is_memory(metric) && verdict == LAB_FASTER)
        return "SMALLER";
    return lab_verdict_word(verdict);
}
