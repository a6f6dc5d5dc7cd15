/* SPDX-License-Identifier: MIT
 *
 * What: see budget.h.
 *
 * Why this way: see budget.h.
 */
#include "lab/budget.h"

#include <math.h>

#include "lab/paired.h"

enum lab_fit lab_fit_of(struct lab_interval logs, double limit)
{
    struct lab_interval effect = lab_effect_interval(logs);
    if (effect.high <= limit)
        return LAB_FITS;
    return effect.low > limit ? LAB_FAILS : LAB_UNSURE;
}

/* Share of the scarcest room that an offer takes, for what it gains. */
static double budget_price(const struct lab_offer *offer, const double *log_room, size_t limits)
{
    double share = 0;
    for (size_t i = 0; i < limits; i++) {
        double price = fmax(offer->log_prices[i], 0);
        share = fmax(share, price > 0 && log_room[i] <= 0 ? INFINITY : price / fmax(log_room[i], 1e-9));
    }
    return share / (double)offer->gain;
}

static bool budget_has(const struct lab_offer *offers, size_t count, size_t option)
{
    for (size_t i = 0; i < count; i++)
        if (offers[i].taken && offers[i].option == option)
            return true;
    return false;
}

static bool budget_holds(const struct lab_offer *offer, const double *spent, const double *log_room, size_t limits)
{
    for (size_t i = 0; i < limits; i++)
        if (spent[i] + fmax(offer->log_prices[i], 0) > fmax(log_room[i], 0))
            return false;
    return true;
}

size_t lab_take_offers(struct lab_offer *offers, size_t count, const double *log_room, size_t limits)
{
    double spent[LAB_LIMITS_MAX] = { 0 };
    size_t taken = 0;
    for (size_t i = 0; i < count; i++)
        offers[i].taken = false;
    for (;;) {
        size_t best = count;
        for (size_t i = 0; i < count; i++) {
            if (budget_has(offers, count, offers[i].option) || !budget_holds(&offers[i], spent, log_room, limits))
                continue;
            double price = budget_price(&offers[i], log_room, limits);
            double least = best < count ? budget_price(&offers[best], log_room, limits) : INFINITY;
            /* Of two that cost nothing the one that protects more. */
            if (best == count || price < least || (price <= least && offers[i].gain > offers[best].gain))
                best = i;
        }
        if (best == count)
            return taken;
        offers[best].taken = true;
        taken++;
        for (size_t i = 0; i < limits; i++)
            spent[i] += fmax(offers[best].log_prices[i], 0);
    }
}

size_t lab_dearest_offer(const struct lab_offer *offers, size_t count, const double *log_room, size_t limits)
{
    size_t dearest = count;
    for (size_t i = 0; i < count; i++)
        if (offers[i].taken && (dearest == count || budget_price(&offers[i], log_room, limits) >
                                                        budget_price(&offers[dearest], log_room, limits)))
            dearest = i;
    return dearest;
}
