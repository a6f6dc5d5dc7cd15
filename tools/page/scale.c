/* SPDX-License-Identifier: MIT
 *
 * What: see scale.h.
 *
 * Why this way: see scale.h.
 */
#include "page/scale.h"

#include <math.h>

static const double SCALE_MARGIN = 0.06;      /* of the range, on each side */
static const double SCALE_LEAST_RANGE = 0.02; /* of logarithms: two percent */
static const double SCALE_WIDE = 1.5;         /* ranges of logarithms above this have ticks at powers of two */

struct page_scale page_scale_make(double low, double high, double first, double last)
{
    if (high - low < SCALE_LEAST_RANGE) {
        double middle = (low + high) / 2;
        low = middle - SCALE_LEAST_RANGE / 2;
        high = middle + SCALE_LEAST_RANGE / 2;
    }
    double margin = SCALE_MARGIN * (high - low);
    return (struct page_scale){ .low = low - margin, .high = high + margin, .first = first, .last = last };
}

double page_scale_place(const struct page_scale *scale, double value)
{
    double share = fmin(fmax((value - scale->low) / (scale->high - scale->low), 0), 1);
    return scale->first + share * (scale->last - scale->first);
}

/* 1, 2, 5, 10, 20 ... times the least. */
static double scale_step(unsigned index)
{
    static const double digits[] = { 1, 2, 5 };
    double step = digits[index % 3];
    for (unsigned decade = index / 3; decade > 0; decade--)
        step *= 10;
    return step;
}

static double scale_apart(const struct page_scale *scale, double left, double right)
{
    return fabs(page_scale_place(scale, right) - page_scale_place(scale, left));
}

static size_t scale_powers(const struct page_scale *scale, double *ticks)
{
    double unit = log(2) * ceil((scale->high - scale->low) / (8 * log(2)));
    size_t count = 0;
    for (double i = ceil(scale->low / unit); i * unit <= scale->high && count < PAGE_TICKS_MAX; i++)
        ticks[count++] = i * unit;
    return count;
}

size_t page_scale_effects(const struct page_scale *scale, double apart, double *ticks)
{
    if (scale->high - scale->low > SCALE_WIDE)
        return scale_powers(scale, ticks);
    double low = expm1(scale->low);
    double high = expm1(scale->high);
    for (unsigned index = 0;; index++) {
        double step = 0.001 * scale_step(index);
        /* Neighbours are closest at the high end. */
        double top = floor(high / step) * step;
        if ((high - low) / step > PAGE_TICKS_MAX ||
            (top - step > -1 && scale_apart(scale, log1p(top - step), log1p(top)) < apart))
            continue;
        size_t count = 0;
        for (double i = ceil(low / step); i * step <= high && count < PAGE_TICKS_MAX; i++)
            ticks[count++] = log1p(i * step);
        return count;
    }
}

size_t page_scale_amounts(const struct page_scale *scale, double apart, double *ticks)
{
    for (unsigned index = 0;; index++) {
        double step = 0.001 * scale_step(index);
        if ((scale->high - scale->low) / step > PAGE_TICKS_MAX ||
            scale_apart(scale, scale->low, scale->low + step) < apart)
            continue;
        size_t count = 0;
        for (double i = ceil(scale->low / step); i * step <= scale->high && count < PAGE_TICKS_MAX; i++)
            ticks[count++] = i * step;
        return count;
    }
}
