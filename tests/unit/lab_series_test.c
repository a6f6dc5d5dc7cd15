/* SPDX-License-Identifier: MIT
 *
 * What: what is kept of a curve: few values, the area under it, nothing that was not there.
 *
 * Why this way: straight lines have means that are known; of any others the area is.
 *
 * Concurrency: one thread.
 */
#include "unit.h"

#include <math.h>

#include "lab/random.h"
#include "lab/series.h"
#include "lab/stats.h"

enum { POINTS_MAX = 1000 };

static struct lab_point points[POINTS_MAX];

/* Uneven gaps from some time on; the values are those of a line, or any. */
static void make_points(struct lab_random *random, size_t count, bool line)
{
    double at = (double)lab_random_below(random, 1000000);
    double began = at;
    for (size_t i = 0; i < count; i++) {
        points[i].at = at;
        points[i].value = line ? 100 + 3 * (at - began) : (double)lab_random_below(random, 1000000);
        at += 1e-3 * (double)(1 + lab_random_below(random, 1000));
    }
}

static void lab_series__means_of_a_line_lie_on_it(void)
{
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    for (size_t count = 2; count <= POINTS_MAX; count += count / 2) {
        struct lab_series series;
        make_points(&random, count, true);
        lab_series_make(&series, points, count);
        REQUIRE(series.count == (count - 1 < LAB_SERIES_MAX ? count - 1 : LAB_SERIES_MAX));
        double part = series.span / (double)series.count;
        for (size_t i = 0; i < series.count; i++)
            CHECK(fabs(series.values[i] - (100 + 3 * part * ((double)i + 0.5))) < 1e-6);
    }
}

static void lab_series__keeps_the_area_and_invents_nothing(void)
{
    struct lab_random random;
    lab_random_seed(&random, unit_state.seed);
    for (size_t count = 2; count <= POINTS_MAX; count += 1 + count / 3) {
        struct lab_series series;
        make_points(&random, count, false);
        double area = 0;
        double least = points[0].value;
        double most = points[0].value;
        for (size_t i = 1; i < count; i++) {
            area += (points[i].at - points[i - 1].at) * (points[i].value + points[i - 1].value) / 2;
            least = fmin(least, points[i].value);
            most = fmax(most, points[i].value);
        }
        lab_series_make(&series, points, count);
        CHECK(fabs(lab_mean(series.values, series.count) * series.span / area - 1) < 1e-6);
        for (size_t i = 0; i < series.count; i++)
            CHECK(series.values[i] >= least - 1e-3 && series.values[i] <= most + 1e-3);
    }
}

static void lab_series__is_empty_when_nothing_is_spanned(void)
{
    struct lab_series series;
    points[0] = points[1] = (struct lab_point){ 5, 7 };
    for (size_t count = 0; count <= 2; count++) {
        lab_series_make(&series, points, count);
        CHECK(series.count == 0 && series.span == 0);
    }
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(lab_series__means_of_a_line_lie_on_it);
    RUN(lab_series__keeps_the_area_and_invents_nothing);
    RUN(lab_series__is_empty_when_nothing_is_spanned);
    return unit_end();
}
