/* SPDX-License-Identifier: MIT
 *
 * What: see latency.h.
 *
 * Why this way: see latency.h.
 */
#include "bench/latency.h"

#include <stdlib.h>

#include "bench/claims.h"
#include "lab/stats.h"

const char *bench_timed_name(enum bench_timed call)
{
    static const char *const names[BENCH_TIMED_CALLS] = { "malloc", "free" };
    return names[call];
}

struct bench_latency *bench_latency_allocate(size_t arms)
{
    return lab_allocate(arms, sizeof(struct bench_latency));
}

void bench_latency_add(struct bench_latency *latency, const struct bench_latency *more)
{
    latency->runs += more->runs;
    latency->clock_ns = more->clock_ns > latency->clock_ns ? more->clock_ns : latency->clock_ns;
    for (unsigned call = 0; call < BENCH_TIMED_CALLS; call++)
        lab_histogram_add(&latency->took[call], &more->took[call]);
}

void bench_latency_read(const char *path, struct bench_latency *latency)
{
    static struct bench_latency_record record;
    static struct bench_latency run;
    FILE *file = fopen(path, "re");
    run = (struct bench_latency){ 0 };
    while (file != NULL && fread(&record, sizeof record, 1, file) == 1 && record.magic == BENCH_LATENCY_MAGIC) {
        run.runs = 1;
        run.clock_ns = record.clock_ns > run.clock_ns ? record.clock_ns : run.clock_ns;
        for (unsigned call = 0; call < BENCH_TIMED_CALLS; call++)
            lab_histogram_add(&run.took[call], &record.took[call]);
    }
    if (file != NULL)
        fclose(file);
    bench_latency_add(latency, &run);
}

static void latency_call(FILE *out, const struct bench_latency *latency, enum bench_timed call)
{
    const struct lab_histogram *took = &latency->took[call];
    fprintf(out, " | %s p50=%llu p99=%llu p99.9=%llu max=%llu of %llu", bench_timed_name(call),
            (unsigned long long)lab_histogram_quantile(took, 0.5),
            (unsigned long long)lab_histogram_quantile(took, 0.99),
            (unsigned long long)lab_histogram_quantile(took, 0.999), (unsigned long long)took->most,
            (unsigned long long)lab_histogram_total(took));
}

void bench_latency_report(FILE *out, const struct bench_session *session, const struct bench_claims *claims)
{
    const struct bench_arms *arms = &session->options->arms;
    bool any = false;
    for (size_t i = 0; i < claims->result_count; i++) {
        const struct bench_result *result = &claims->results[i];
        for (size_t arm = 0; result->latency != NULL && arm < arms->null; arm++) {
            const struct bench_latency *latency = &result->latency[arm];
            if (result->faults[arm] != NULL)
                continue;
            if (!any)
                fprintf(
                    out,
                    "\n# workload | alloc | ns that malloc and free take, in runs of their own: every %dth call, the "
                    "clock's own time in each\n",
                    BENCH_LATENCY_EVERY);
            any = true;
            fprintf(out, "%s | %s", result->workload->name, arms->items[arm].name);
            if (latency->runs == 0) {
                fputs(" | no process left its times: static, or ended by a signal or _exit?\n", out);
                continue;
            }
            for (unsigned call = 0; call < BENCH_TIMED_CALLS; call++)
                latency_call(out, latency, call);
            fprintf(out, " | clock %llu\n", (unsigned long long)latency->clock_ns);
        }
    }
}
