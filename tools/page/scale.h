/* SPDX-License-Identifier: MIT
 *
 * What: from values to places along an axis, and where its ticks go.
 *
 * Why this way: effects are laid out by their logarithm, so that half and twice are equally far from the baseline and one
 * slow arm does not flatten the others; the ticks are still round percentages.
 *
 * Invariants: a place is always within [first, last]; a range is never empty. A scale has at most PAGE_TICKS_MAX ticks,
 * in rising order, at least `apart` from each other.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_PAGE_SCALE_H
#define SJ_PAGE_SCALE_H

#include <stddef.h>

enum { PAGE_TICKS_MAX = 24 };

struct page_scale {
    double low; /* value at `first` */
    double high;
    double first; /* place */
    double last;
};

/* Widens an empty range, and leaves a margin on both sides. */
struct page_scale page_scale_make(double low, double high, double first, double last);

double page_scale_place(const struct page_scale *scale, double value);

/* Ticks of a scale of logarithms, as logarithms of round effects; 0 is always one if it is in range. */
size_t page_scale_effects(const struct page_scale *scale, double apart, double *ticks);

/* Ticks of a scale of amounts. */
size_t page_scale_amounts(const struct page_scale *scale, double apart, double *ticks);

#endif
