/* SPDX-License-Identifier: MIT
 *
 * What: see exact.h.
 *
 * Why this way: see exact.h.
 */
#include "bench/exact.h"

#include <stdlib.h>
#include <string.h>

#include "bench/text.h"
#include "lab/stats.h"

/* Those of the counters that tell what a policy does; all are in the rows. The first must be equal in all arms. */
static const char *const EXACT_SHOWN[] = {
    "allocations",        "frees",      "freed_bytes",  "scrubbed_at_free", "scrubbed_at_reuse",
    "scrubbed_by_kernel", "owed_bytes", "window_bytes", "metadata_bytes",
};

enum { EXACT_SHOWN_COUNT = sizeof EXACT_SHOWN / sizeof EXACT_SHOWN[0] };

const char *bench_call_name(size_t kind)
{
    static const char *const names[BENCH_CALL_KINDS] = { "mmap",     "munmap", "mremap", "madvise",
                                                         "mprotect", "brk",    "futex" };
    return names[kind];
}

bool bench_exact_counter(const struct bench_result *result, size_t arm, size_t counter, double *median, bool *exact)
{
    double *values = lab_allocate(result->row_count + 1, sizeof *values);
    size_t count = 0;
    *exact = true;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct bench_row *row = &result->rows[i];
        if (row->arm != arm || row->warm_up || row->run.proof.ended == 0)
            continue;
        values[count] = (double)bench_counter_value(&row->run.proof, counter);
        *exact = *exact && values[count] == values[0];
        count++;
    }
    *median = count > 0 ? lab_median(values, count) : 0;
    free(values);
    return count > 0;
}

static size_t exact_index(const char *name)
{
    size_t index = 0;
    while (bench_counter_name(index) != NULL && strcmp(bench_counter_name(index), name) != 0)
        index++;
    return index;
}

/* A workload's arms that are exact and had another number of blocks than the first such. */
static void exact_compare(FILE *out, const struct bench_session *session, const struct bench_result *result)
{
    const struct bench_arms *arms = &session->options->arms;
    size_t allocations = exact_index(EXACT_SHOWN[0]);
    size_t first = SIZE_MAX;
    double wanted = 0;
    for (size_t arm = 0; arm < arms->count; arm++) {
        double value;
        bool exact;
        if (!bench_exact_counter(result, arm, allocations, &value, &exact) || !exact)
            continue;
        if (first == SIZE_MAX) {
            first = arm;
            wanted = value;
        } else if (value != wanted) {
            fprintf(out, "%s: %s made %.0f blocks and %s %.0f, in every run: they did not do the same work\n",
                    result->workload->name, arms->items[first].name, wanted, arms->items[arm].name, value);
        }
    }
}

static void exact_counters(FILE *out, const struct bench_session *session, const struct bench_claims *claims)
{
    const struct bench_arms *arms = &session->options->arms;
    bool any = false;
    for (size_t i = 0; i < claims->result_count; i++) {
        const struct bench_result *result = &claims->results[i];
        for (size_t arm = 0; arm < arms->count; arm++) {
            double value;
            bool exact;
            if (result->faults[arm] != NULL || !bench_exact_counter(result, arm, 0, &value, &exact))
                continue;
            if (!any) {
                fputs("\n# workload | alloc | the library's counters, = the same in every run, ~ median\n", out);
                any = true;
            }
            fprintf(out, "%s | %s |", result->workload->name, arms->items[arm].name);
            for (size_t k = 0; k < EXACT_SHOWN_COUNT; k++) {
                (void)bench_exact_counter(result, arm, exact_index(EXACT_SHOWN[k]), &value, &exact);
                fprintf(out, " %s%s%.0f", EXACT_SHOWN[k], exact ? "=" : "~", value);
            }
            fputc('\n', out);
        }
        exact_compare(out, session, result);
    }
}

static void exact_counts(FILE *out, const struct bench_session *session, const struct bench_claims *claims)
{
    const struct bench_arms *arms = &session->options->arms;
    bool any = false;
    for (size_t i = 0; i < claims->result_count; i++) {
        for (size_t arm = 0; arm < arms->count; arm++) {
            const struct bench_counts *counts = &claims->results[i].counts[arm];
            if (!counts->traced && counts->instructions == 0)
                continue;
            if (!any)
                fputs("\n# workload | alloc | instructions by callgrind; system calls, = the same in two runs; most "
                      "mappings\n",
                      out);
            any = true;
            fprintf(out, "%s | %s |", claims->results[i].workload->name, arms->items[arm].name);
            if (counts->instructions > 0)
                fprintf(out, " instructions~%llu", (unsigned long long)counts->instructions);
            const char *sign = counts->exact ? "=" : "~";
            if (counts->traced)
                fprintf(out, " calls%s%llu", sign, (unsigned long long)counts->calls);
            for (size_t kind = 0; counts->traced && kind < BENCH_CALL_KINDS; kind++)
                fprintf(out, " %s%s%llu", bench_call_name(kind), sign, (unsigned long long)counts->calls_of[kind]);
            if (counts->traced)
                fprintf(out, " mappings%s%llu", sign, (unsigned long long)counts->mappings);
            fputc('\n', out);
        }
    }
}

void bench_exact_report(FILE *out, const struct bench_session *session, const struct bench_claims *claims)
{
    exact_counts(out, session, claims);
    exact_counters(out, session, claims);
}
