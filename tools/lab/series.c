/* SPDX-License-Identifier: MIT
 *
 * What: see series.h.
 *
 * Why this way: see series.h.
 */
#include "lab/series.h"

#include <math.h>

/* Shares the area under one line among the parts it crosses. Times are since the first point. */
static void series_add(struct lab_series *series, struct lab_point from, struct lab_point to)
{
    double part = series->span / (double)series->count;
    double slope = (to.value - from.value) / (to.at - from.at);
    for (size_t i = 0; i < series->count; i++) {
        double left = fmax(from.at, part * (double)i);
        double right = i + 1 < series->count ? fmin(to.at, part * (double)(i + 1)) : to.at;
        if (right > left)
            series->values[i] += (right - left) / part * (from.value + slope * ((left + right) / 2 - from.at));
    }
}

void lab_series_make(struct lab_series *series, const struct lab_point *points, size_t count)
{
    *series = (struct lab_series){ 0 };
    if (count < 2 || points[count - 1].at <= points[0].at)
        return;
    series->span = points[count - 1].at - points[0].at;
    series->count = count - 1 < LAB_SERIES_MAX ? count - 1 : LAB_SERIES_MAX;
    for (size_t i = 1; i < count; i++)
        series_add(series, (struct lab_point){ points[i - 1].at - points[0].at, points[i - 1].value },
                   (struct lab_point){ points[i].at - points[0].at, points[i].value });
}
