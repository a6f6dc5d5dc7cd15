/* SPDX-License-Identifier: MIT
 *
 * What: see distribution.h.
 *
 * Why this way: the t distribution is the regularised incomplete beta function, evaluated by its continued fraction
 * from the front (modified Lentz), which converges in under 100 steps on the side of the mean it is used on.
 */
#include "lab/distribution.h"

#include <math.h>

static double distribution_log_gamma(double x)
{
    int sign; /* lgamma() writes a global; lgamma_r() does not */
    return lgamma_r(x, &sign);
}

static double distribution_log_choose(double n, double k)
{
    return distribution_log_gamma(n + 1) - distribution_log_gamma(k + 1) - distribution_log_gamma(n - k + 1);
}

double lab_binomial_cdf(size_t trials, size_t successes, double p)
{
    if (successes >= trials || p <= 0)
        return 1;
    if (p >= 1)
        return 0;
    double sum = 0;
    double n = (double)trials;
    for (size_t i = 0; i <= successes; i++) {
        double k = (double)i;
        sum += exp(distribution_log_choose(n, k) + k * log(p) + (n - k) * log1p(-p));
    }
    return sum < 1 ? sum : 1;
}

double lab_normal_cdf(double z)
{
    return 0.5 * erfc(-z / 1.41421356237309504880);
}

/* The x in [low, high] with function(x, parameter) == p; the function never falls. */
static double distribution_invert(double (*function)(double, double), double parameter, double p, double low,
                                  double high)
{
    for (int step = 0; step < 200 && high - low > 1e-13 * (1 + fabs(low)); step++) {
        double middle = 0.5 * (low + high);
        if (function(middle, parameter) < p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static double distribution_normal(double z, double unused)
{
    (void)unused;
    return lab_normal_cdf(z);
}

double lab_normal_quantile(double p)
{
    return distribution_invert(distribution_normal, 0, p, -40, 40);
}

/* The continued fraction of the incomplete beta function, for x < (a + 1) / (a + b + 2). */
static double distribution_beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= 500; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double change = 1;
        for (int half = 0; half < 2; half++) {
            double term = half == 0 ? even : odd;
            d = 1 + term * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            value *= change;
        }
        if (fabs(change - 1) < 1e-15)
            break;
    }
    return value;
}

static double distribution_beta(double a, double b, double x)
{
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(distribution_log_gamma(a + b) - distribution_log_gamma(a) - distribution_log_gamma(b) +
                       a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * distribution_beta_fraction(a, b, x) / a;
    return 1 - front * distribution_beta_fraction(b, a, 1 - x) / b;
}

double lab_student_cdf(double t, double freedom)
{
    double tail = 0.5 * distribution_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
    return t > 0 ? 1 - tail : tail;
}

double lab_student_quantile(double p, double freedom)
{
    return distribution_invert(lab_student_cdf, freedom, p, -1e4, 1e4);
}

double lab_chi_square_quantile(double p, double freedom)
{
    double share = 2 / (9 * freedom);
    double root = 1 - share + lab_normal_quantile(p) * sqrt(share);
    return root > 0 ? freedom * root * root * root : 0;
}
