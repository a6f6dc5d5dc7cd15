/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see guard_fault.h.
 */
#include "front/guard_fault.h"

#include "front/entry.h"
#include "front/judge.h"
#include "platform/fault.h"
#include "platform/pages.h"
#include "report/report.h"

#include <stddef.h>

_Noreturn static void report(enum sj_report_id id, const struct sj_judgement *judgement, const struct sj_fault *fault)
{
    struct sj_asker asker = { .function = fault->access, .caller = fault->code };
    struct sj_report_facts facts = sj__judge_facts(judgement, fault->address, asker);
    sj__report_misuse(id, &facts);
}

static void look_at_sampled(const struct sj_judgement *judgement, const struct sj_fault *fault)
{
    const struct sj_sampled *sampled = judgement->sampled;
    const char *address = fault->address;
    if (sampled == NULL)
        report(SJ_NEVER_ALLOCATED, judgement, fault);
    if (sj_load_acquire_u32(&sampled->state) != SJ_SAMPLED_LIVE) /* pairs with the store at allocation */
        report(SJ_USE_AFTER_FREE, judgement, fault);
    if (address < sampled->start)
        report(SJ_BLOCK_UNDERFLOW, judgement, fault);
    if ((size_t)(address - sampled->start) >= sampled->usable_bytes)
        report(SJ_BLOCK_OVERFLOW, judgement, fault);
    /* The program has protected the page of a block it has. */
}

/* The large block whose guard the address lies in, or NULL; the one before it first. */
static struct sj_large *beside(const char *address)
{
    size_t page_bytes = sj__page_bytes();
    struct sj_large *large = sj__large_containing(address - page_bytes);
    return large != NULL ? large : sj__large_containing(address + page_bytes);
}

/* The slab whose guard the address lies in, or NULL. */
static struct sj_slab *guarded_before(const char *address)
{
    struct sj_span *span = sj__window_find(address - SJ_GRANULE_BYTES);
    struct sj_slab *slab = (struct sj_slab *)(void *)span;
    return sj_load_relaxed_u32(&span->kind) == SJ_SPAN_SLAB && slab->guarded ? slab : NULL;
}

/* Of a freed block that is kept only the first granule names its record; the others name nothing. */
static bool lies_in_freed(const char *address)
{
    size_t granule = sj_window_granule(address);
    uint32_t kind = sj_load_relaxed_u32(&sj_window_lookup(granule)->kind);
    while (kind == SJ_SPAN_UNUSED && granule > 0)
        kind = sj_load_relaxed_u32(&sj_window_lookup(--granule)->kind);
    return kind == SJ_SPAN_FREED || kind == SJ_SPAN_RUN;
}

static void look_at_large(struct sj_judgement *judgement, const struct sj_fault *fault)
{
    if (judgement->large != NULL) {
        if (judgement->large->unusable)
            report(SJ_BLOCK_OVERFLOW, judgement, fault);
        return; /* a live block's own page: the program's affair */
    }
    struct sj_slab *slab = guarded_before(fault->address);
    if (slab != NULL) { /* it ran over the last slot */
        judgement->block = slab->base + (size_t)(slab->slots - 1) * slab->slot_bytes;
        judgement->usable_bytes = sj__size_classes[slab->class_index].usable_bytes;
        report(SJ_BLOCK_OVERFLOW, judgement, fault);
    }
    struct sj_large *large = beside(fault->address);
    if (large != NULL) {
        judgement->large = large;
        judgement->block = large->start;
        judgement->usable_bytes = sj__large_usable(large);
        bool is_behind = (const char *)fault->address >= large->start;
        report(is_behind ? SJ_BLOCK_OVERFLOW : SJ_BLOCK_UNDERFLOW, judgement, fault);
    }
    bool was_freed = judgement->verdict == SJ_IS_FREED || lies_in_freed(fault->address);
    report(was_freed ? SJ_USE_AFTER_FREE : SJ_NEVER_ALLOCATED, judgement, fault);
}

static void look(const struct sj_fault *fault)
{
    struct sj_judgement judgement = sj__judge(fault->address);
    if (judgement.verdict == SJ_IS_FOREIGN)
        return;
    if (sj_load_relaxed_u32(&sj__window_find(fault->address)->kind) == SJ_SPAN_SAMPLED)
        look_at_sampled(&judgement, fault);
    else if (judgement.slab == NULL)
        look_at_large(&judgement, fault);
    else if (judgement.slab->class_index == SJ_CLASS_ZERO)
        report(SJ_BLOCK_OVERFLOW, &judgement, fault);
}

void sj__guard_fault_start(void)
{
    const struct sj_settings *settings = sj__sealed.in_force;
    if (!settings->disable && (settings->policy.sample != 0 || settings->policy.guard != SJ_GUARD_OFF))
        (void)sj__fault_watch(look);
}
