/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see guard_fault.h.
 */
#include "front/guard_fault.h"

#include "front/entry.h"
#include "front/judge.h"
#include "platform/fault.h"
#include "platform/pages.h"
#include "platform/tags.h"
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

/* ---- Tags -------------------------------------------------------------------------------------------------------- */

/* The live block that the byte lies in or, in a slab, the one whose slot it lies in; NULL if none does. Has its tag. */
static const char *block_with(const char *address, unsigned tag, struct sj_judgement *judgement)
{
    *judgement = sj__judge(address);
    if (judgement->verdict == SJ_IS_INTERIOR)
        *judgement = sj__judge(judgement->block);
    bool is_tagged = judgement->slab != NULL || judgement->large != NULL;
    bool is_live = judgement->verdict == SJ_IS_LIVE && is_tagged && judgement->usable_bytes != 0;
    return is_live && sj__tags_get(judgement->block) == tag ? judgement->block : NULL;
}

/* The pointer's tag tells: it is that of the block at hand, of the slot before or of the one behind; else of none that is left. */
static void look_at_tags(const struct sj_fault *fault)
{
    const char *address = sj_tags_strip(fault->address);
    struct sj_fault untagged = { .address = address, .code = fault->code, .access = fault->access };
    unsigned tag = sj_tags_of(fault->address);
    struct sj_judgement hit = sj__judge(address), near;
    if (fault->reason == SJ_TAGS_FAULT_ASYNC || hit.verdict == SJ_IS_FOREIGN) {
        struct sj_report_facts facts = { .function = fault->access, .caller = fault->code };
        if (fault->reason == SJ_TAGS_FAULT_ASYNC)
            facts.note = "tag=async: found where the kernel was next entered; tag=sync tells where it was";
        else
            facts.pointer = address;
        sj__report_misuse(SJ_TAG_MISMATCH, &facts);
    }
    if (block_with(address, tag, &near) != NULL) /* behind its last byte */
        report(SJ_BLOCK_OVERFLOW, &near, &untagged);
    if (hit.slab != NULL) {
        const char *slot = hit.slab->base + (size_t)hit.slot_index * hit.slab->slot_bytes;
        if (block_with(slot - hit.slab->slot_bytes, tag, &near) != NULL && near.slab == hit.slab)
            report(SJ_BLOCK_OVERFLOW, &near, &untagged);
        if (block_with(slot + hit.slab->slot_bytes, tag, &near) != NULL && near.slab == hit.slab)
            report(SJ_BLOCK_UNDERFLOW, &near, &untagged);
    } else {
        if (block_with(address - sj__page_bytes(), tag, &near) != NULL && near.large != NULL)
            report(SJ_BLOCK_OVERFLOW, &near, &untagged);
        if (block_with(address + sj__page_bytes(), tag, &near) != NULL && near.large != NULL)
            report(SJ_BLOCK_UNDERFLOW, &near, &untagged);
    }
    report(SJ_USE_AFTER_FREE, &hit, &untagged);
}

static void look(const struct sj_fault *tagged)
{
    struct sj_fault stripped = *tagged;
    const struct sj_fault *fault = &stripped;
    if (sj_tags_are_on() && (tagged->reason == SJ_TAGS_FAULT_SYNC || tagged->reason == SJ_TAGS_FAULT_ASYNC))
        look_at_tags(tagged);
    stripped.address = sj_tags_strip(tagged->address);
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
    if (!settings->disable &&
        (sj_tags_are_on() || settings->policy.sample != 0 || settings->policy.guard != SJ_GUARD_OFF))
        (void)sj__fault_watch(look);
}
