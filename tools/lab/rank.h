/* SPDX-License-Identifier: MIT
 *
 * What: the tests by sign and rank: sign test, Wilcoxon signed rank, Hodges-Lehmann, Spearman, and the sign test's
 * e-value for sessions that may stop early.
 *
 * Why this way: they hold for any noise, and the sign test says the same as the order-statistic interval of the median,
 * so that a line never contradicts itself. Wilcoxon and Hodges-Lehmann see more but assume symmetry: second opinions.
 *
 * Invariants: p values are two-sided; ties (zeros) are dropped and counted; no value is ever called an outlier.
 *
 * Concurrency: pure functions.
 */
#ifndef SJ_LAB_RANK_H
#define SJ_LAB_RANK_H

#include <stddef.h>

struct lab_sign {
    size_t below; /* values < 0 */
    size_t above; /* values > 0 */
    size_t ties;  /* values == 0, dropped */
    double p;     /* exact; 1 if nothing is left */
};

struct lab_sign lab_sign_test(const double *values, size_t count);

struct lab_wilcoxon {
    double rank_sum_above; /* W+: the sum of the ranks of the values > 0 */
    size_t ties;           /* zeros, dropped */
    double p;              /* exact up to 100 values, equal magnitudes included; the normal limit beyond */
};

struct lab_wilcoxon lab_wilcoxon_test(const double *values, size_t count);

/* The median of the means of all pairs, each value with itself included. */
double lab_hodges_lehmann(const double *values, size_t count);

struct lab_spearman {
    double rho;
    double p; /* by Student's t; good from 10 values on */
};

/* Rank correlation of the values with their order in time. */
struct lab_spearman lab_spearman_drift(const double *values, size_t count);

/* How much better "one side wins with an unknown constant probability" (uniform prior) explains the signs than "both
 * equally". May be looked at after every block: under equality it reaches 20 in at most 5 % of sessions, ever. */
double lab_sign_evalue(size_t below, size_t above);

#endif
