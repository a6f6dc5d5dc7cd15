/* SPDX-License-Identifier: MIT
 *
 * What: does what was measured fit a budget, and which options to add to what fits.
 *
 * Why this way: something fits if the whole interval of its cost is within the limit, and fails if the whole interval is
 * beyond; between them nobody can tell. Options are taken by protection for the price, cheapest first, one value an option;
 * that prices add up is only assumed here: whoever calls measures the set as a whole.
 *
 * Invariants: the chosen prices sum up to no more than the room; a negative price makes no room for others.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_LAB_BUDGET_H
#define SJ_LAB_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "lab/stats.h"

/* In rising order: the worst of several decides. */
enum lab_fit { LAB_FITS, LAB_UNSURE, LAB_FAILS };

/* `limit` is an effect: 0.03 for 3 %. `logs` is the interval of ln(head / base). */
enum lab_fit lab_fit_of(struct lab_interval logs, double limit);

enum { LAB_LIMITS_MAX = 3 };

/* A value an option can be given. */
struct lab_offer {
    size_t option;                     /* which; of one option only one value is taken */
    unsigned gain;                     /* how much more it protects, at least 1 */
    double log_prices[LAB_LIMITS_MAX]; /* in each limited metric */
    bool taken;                        /* out */
};

/* Takes offers as long as each metric's sum stays within room[]; returns how many. */
size_t lab_take_offers(struct lab_offer *offers, size_t count, const double *log_room, size_t limits);

/* The dearest of those taken, for its gain; `count` if none is taken. */
size_t lab_dearest_offer(const struct lab_offer *offers, size_t count, const double *log_room, size_t limits);

#endif
