/* SPDX-License-Identifier: MIT
 *
 * What: a curve over time of which only so much is kept as can be seen: its means over equal parts.
 *
 * Why this way: samples come at uneven gaps and in any number; means over equal parts are few, keep the area under the curve,
 * and so the mean of the whole, and do not depend on where a sample fell.
 *
 * Invariants: 0 values, or 1 ... LAB_SERIES_MAX; each lies between the least and the greatest value of the curve.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_LAB_SERIES_H
#define SJ_LAB_SERIES_H

#include <stddef.h>

enum { LAB_SERIES_MAX = 64 };

struct lab_point {
    double at;
    double value;
};

struct lab_series {
    double span; /* from the first point to the last */
    size_t count;
    double values[LAB_SERIES_MAX]; /* means over `count` equal parts of the span */
};

/* Of the straight lines through points in rising order; no values if they span nothing. There are not more parts than
 * lines. */
void lab_series_make(struct lab_series *series, const struct lab_point *points, size_t count);

#endif
