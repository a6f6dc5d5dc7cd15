/* SPDX-License-Identifier: MIT
 *
 * What: what a session can see: the smallest effect its interval would tell from none in 80 % of sessions, and the
 * number of blocks a wanted effect takes.
 *
 * Why this way: computed for the interval that is really printed. The order-statistic interval excludes 0 when fewer
 * than its rank of values lie on the wrong side, a binomial event; so the share p of values on the wrong side that
 * gives 80 % power is found once for n, and the effect is that quantile of the noise. No normal limit, and with noise
 * at hand not even a normal shape.
 *
 * Invariants: effects and spreads are in log units (0.01 is 1 %), never negative; infinity if n is too small for any
 * interval.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_LAB_POWER_H
#define SJ_LAB_POWER_H

#include <stddef.h>

/* The largest share of values on the wrong side of 0 at which the interval of n values still excludes 0 in 80 % of
 * sessions; 0 if n is too small. */
double lab_power_share(size_t count, double confidence);

/* Smallest visible effect if the values are normal with this spread. */
double lab_visible_from_spread(double spread, size_t count, double confidence);

/* Smallest visible effect by the values' own distances from their median, both sides taken together. */
double lab_visible_from_values(const double *values, size_t count, double confidence);

/* The fewest blocks, at most `most`, at which an effect of this size is visible; `most` if none is enough. */
size_t lab_blocks_for_effect(double spread, double effect, double confidence, size_t most);

/* What to multiply a spread known from `freedom` values with, so that the truth is above it in one case of five only. */
double lab_spread_caution(double freedom);

#endif
