/* SPDX-License-Identifier: MIT
 *
 * What: see views.h.
 *
 * Why this way: see views.h.
 */
#include "bench/views.h"

#include <math.h>
#include <stdlib.h>

#include "lab/stats.h"

const char *bench_metric_name(enum bench_metric metric)
{
    static const char *const names[] = {
        "cpu", "rss", "wall", "mean-rss", "user", "sys", "page-faults", "page-reclaims"
    };
    return names[metric];
}

bool bench_metric_is_memory(enum bench_metric metric)
{
    return metric == BENCH_RSS || metric == BENCH_MEAN_RSS;
}

double bench_row_value(const struct bench_row *row, enum bench_metric metric)
{
    const struct bench_run *run = &row->run;
    switch (metric) {
    case BENCH_CPU: return run->cpu_seconds;
    case BENCH_RSS: return run->peak_rss_kib;
    case BENCH_MEAN_RSS: return run->mean_rss_kib;
    case BENCH_WALL: return run->wall_seconds;
    case BENCH_USER: return run->user_seconds;
    case BENCH_SYSTEM: return run->system_seconds;
    case BENCH_MAJOR_FAULTS: return (double)run->major_faults;
    case BENCH_MINOR_FAULTS: return (double)run->minor_faults;
    default: return 0;
    }
}

/* Logarithms are taken of it: a time too short for the clock counts as its tick. Memory that was not seen is missing. */
static double view_positive(const struct bench_row *row, enum bench_metric metric)
{
    double value = bench_row_value(row, metric);
    return bench_metric_is_memory(metric) ? value : fmax(value, 1e-6);
}

struct view_block {
    struct lab_block block; /* a value of 0 is missing */
    size_t base_position;   /* in the first half */
    size_t head_position;
};

static void view_take(struct view_block *view, const struct bench_row *row, bool is_base, enum bench_metric metric)
{
    double value = view_positive(row, metric);
    view->block.flagged = view->block.flagged || row->flagged;
    if (is_base)
        view->block.base[row->half] = value;
    else
        view->block.head[row->half] = value;
    if (row->half == 0 && is_base)
        view->base_position = row->position;
    else if (row->half == 0)
        view->head_position = row->position;
}

size_t bench_view_blocks(const struct bench_result *result, size_t base, size_t head, enum bench_metric metric,
                         struct lab_block *blocks)
{
    struct view_block *views = lab_allocate(result->blocks, sizeof *views);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct bench_row *row = &result->rows[i];
        if (!row->warm_up && row->block < result->blocks && (row->arm == base || row->arm == head))
            view_take(&views[row->block], row, row->arm == base, metric);
    }
    size_t count = 0;
    for (size_t i = 0; i < result->blocks; i++) {
        struct lab_block *block = &views[i].block;
        block->base_came_first = views[i].base_position < views[i].head_position;
        if (block->base[0] > 0 && block->base[1] > 0 && block->head[0] > 0 && block->head[1] > 0)
            blocks[count++] = *block;
    }
    free(views);
    return count;
}

double bench_view_median(const struct bench_result *result, size_t arm, enum bench_metric metric, bool warm_up)
{
    double *values = lab_allocate(result->row_count, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct bench_row *row = &result->rows[i];
        if (row->arm == arm && row->warm_up == warm_up)
            values[count++] = bench_row_value(row, metric);
    }
    double median = count > 0 ? lab_median(values, count) : 0;
    free(values);
    return median;
}
