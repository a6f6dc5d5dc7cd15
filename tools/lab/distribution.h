/* SPDX-License-Identifier: MIT
 *
 * What: the distributions the lab's tests and intervals rest on: binomial, normal, Student's t, chi-square.
 *
 * Why this way: libm has erfc and lgamma and no quantiles. Quantiles are found by bisection of the distribution
 * function: slow (a few microseconds) and impossible to get wrong; none is on a hot path.
 *
 * Invariants: results agree with published tables to 6 digits (chi-square, by Wilson and Hilferty's cube: to 3).
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_LAB_DISTRIBUTION_H
#define SJ_LAB_DISTRIBUTION_H

#include <stddef.h>

/* P(X <= successes), X the number of successes in `trials` with probability p each. */
double lab_binomial_cdf(size_t trials, size_t successes, double p);

double lab_normal_cdf(double z);

/* The z with lab_normal_cdf(z) == p; p in (0, 1). */
double lab_normal_quantile(double p);

double lab_student_cdf(double t, double freedom);

/* The t with lab_student_cdf(t, freedom) == p; p in (0, 1), freedom at least 1. */
double lab_student_quantile(double p, double freedom);

double lab_chi_square_quantile(double p, double freedom);

#endif
