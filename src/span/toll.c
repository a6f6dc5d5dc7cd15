/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see toll.h.
 */
#include "span/toll.h"

#include "base/atomic.h"
#include "platform/clock.h"

#define NS_A_MS 1000000u

static struct sj_atomic_u32 admitted;  /* of the first ones */
static struct sj_atomic_u64 spent_ns;  /* less what has been earned; all credit is used up at SJ_TOLL_CREDIT_NS */
static struct sj_atomic_u64 earned_ms; /* the moment up to which time has been turned into credit */

static uint64_t balance(uint64_t spent, uint64_t more_ns, uint64_t less_ns)
{
    uint64_t sum = spent + more_ns;
    sum = sum > less_ns ? sum - less_ns : 0;
    return sum < SJ_TOLL_CREDIT_NS + SJ_TOLL_DEBT_NS ? sum : SJ_TOLL_CREDIT_NS + SJ_TOLL_DEBT_NS;
}

static void book(uint64_t more_ns, uint64_t less_ns)
{
    uint64_t spent = sj_load_relaxed_u64(&spent_ns);
    while (
        !sj_compare_exchange_acq_rel_u64(&spent_ns, &spent, balance(spent, more_ns, less_ns))) /* pairs with itself */
        ;
}

static void earn(void)
{
    uint64_t now_ms = sj__clock_ms(), before_ms = sj_load_relaxed_u64(&earned_ms);
    if (now_ms > before_ms && sj_compare_exchange_acq_rel_u64(&earned_ms, &before_ms, now_ms)) /* pairs with itself */
        book(0, (now_ms - before_ms) * (NS_A_MS / SJ_TOLL_SHARE));
}

bool sj__toll_admits(void)
{
    if (sj_load_relaxed_u32(&admitted) < SJ_TOLL_FREE && sj_fetch_add_relaxed_u32(&admitted, 1) < SJ_TOLL_FREE)
        return true;
    earn();
    return sj_load_relaxed_u64(&spent_ns) < SJ_TOLL_CREDIT_NS;
}

void sj__toll_charge(uint64_t took_ns)
{
    book(took_ns, 0);
}
