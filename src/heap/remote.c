/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see remote.h.
 */
#include "heap/remote.h"

#include "heap/account.h"
#include "heap/adopt.h"
#include "heap/detain.h"
#include "heap/pass.h"
#include "report/report.h"
#include "span/scrub.h"
#include "span/tail.h"

bool sj__remote_claims_first;

/* Puts a slab whose `queued` flag we have just set into its owner's queue. */
static void push_to_owner(struct sj_slab *slab)
{
    for (;;) {
        struct sj_heap *owner = sj_load_acquire_ptr(&slab->span.owner); /* pairs with the store in sj__slab_open */
        if (owner != NULL) {
            void *head = sj_load_acquire_ptr(&owner->queue);
            do
                sj_store_relaxed_ptr(&slab->remote->next, head);
            while (!sj_compare_exchange_acq_rel_ptr(&owner->queue, &head, slab)); /* pairs with the fold's exchange */
            return;
        }
        /* The owner has folded our claim already and closed the slab. Take the flag back, unless it has been opened
         * again in between: then somebody may have relied on our flag. */
        (void)sj_exchange_acq_rel_u32(&slab->remote->queued, 0); /* pairs with the exchange in queue_once */
        if (sj_load_acquire_ptr(&slab->span.owner) == NULL)
            return;
        if (sj_exchange_acq_rel_u32(&slab->remote->queued, 1) != 0)
            return;
    }
}

/* True if it was not queued yet; then its owner may have ended, and a pass will have to look. After a claim, or in a fold.
 * The test first saves slabs that are queued already, which is most of them, a locked instruction: a tenth of what a remote
 * free costs. */
static bool queue_once(struct sj_slab *slab)
{
    if (sj_flag_is_set_after_claim(&slab->remote->queued.value))
        return false;
    if (sj_exchange_acq_rel_u32(&slab->remote->queued, 1) != 0) /* pairs with the fold's exchange to 0 */
        return false;
    push_to_owner(slab);
    sj_release_note_held(sj__clock_ms());
    return true;
}

/* A canary does not hold: the object was overrun, unless somebody else has just freed it, and scrubbed it. */
static enum sj_remote_outcome judge_overrun(const struct sj_slab *slab, unsigned word_index, uint64_t bit)
{
    if ((sj_load_acquire_u64(&slab->remote->bits[word_index]) & bit) != 0) /* pairs with the claim */
        return SJ_REMOTE_ALREADY_FREED;
    return (sj_word_read_acquire(&slab->planes[word_index].live) & bit) != 0 ? SJ_REMOTE_OVERRUN : SJ_REMOTE_NOT_LIVE;
}

static enum sj_remote_outcome free_slot(const struct sj_policy *policy, struct sj_slab *slab, unsigned slot_index)
{
    unsigned word_index = slot_index / SJ_WORD_BITS;
    uint64_t bit = (uint64_t)1 << (slot_index % SJ_WORD_BITS);
    struct sj_word *word = &slab->planes[word_index];

    if ((sj_word_read_acquire(&word->live) & bit) == 0) /* pairs with the publication of the pointer by the program */
        return SJ_REMOTE_NOT_LIVE;
    if (slab->canary != SJ_CANARY_OFF && sj_unlikely(sj__tail_changed(slab, slot_index) != NULL))
        return judge_overrun(slab, word_index, bit);
    if (sj_scrubs_at_free(policy, slab->slot_bytes) && slab->class_index != SJ_CLASS_ZERO && !sj__remote_claims_first)
        sj_scrub_slot(slab->base + (size_t)slot_index * slab->slot_bytes, slab->slot_bytes);
    /* Release: the scrub above is done when the owner sees the bit. Acquire: pairs with the fold's clearing. */
    if ((sj_fetch_or_acq_rel_u64(&slab->remote->bits[word_index], bit) & bit) != 0)
        return SJ_REMOTE_ALREADY_FREED;
    if (queue_once(slab))
        sj_pass_if_due(); /* a thread that only frees may be the only one left */
    return SJ_REMOTE_FREED;
}

/* After the claim the slot may be somebody else's: the account is read before. */
static enum sj_remote_outcome free_counted(const struct sj_policy *policy, struct sj_slab *slab, unsigned slot_index)
{
    const struct sj_heap *owner = sj_load_acquire_ptr(&slab->span.owner); /* pairs with the store in sj__slab_open */
    uint32_t account = __atomic_load_n(&slab->accounts[slot_index], __ATOMIC_RELAXED);
    if (owner == NULL)
        return SJ_REMOTE_NOT_LIVE;
    enum sj_remote_outcome outcome =
        free_slot(owner->own_policy != NULL ? owner->own_policy : policy, slab, slot_index);
    if (outcome == SJ_REMOTE_FREED)
        sj__account_remove(account, sj__size_classes[slab->class_index].usable_bytes);
    return outcome;
}

enum sj_remote_outcome sj__remote_free(const struct sj_policy *policy, struct sj_slab *slab, unsigned slot_index)
{
    return sj_unlikely(sj_slab_is_counted(slab)) ? free_counted(policy, slab, slot_index)
                                                 : free_slot(policy, slab, slot_index);
}

_Noreturn static void report_raced(const struct sj_slab *slab, unsigned word_index, uint64_t stray)
{
    size_t slot_index = (size_t)word_index * SJ_WORD_BITS + sj_lowest_bit(stray);
    const char *slot = slab->base + slot_index * slab->slot_bytes;
    sj__report_misuse(SJ_DOUBLE_FREE, &(struct sj_report_facts){
                                          .pointer = slot,
                                          .block = slot,
                                          .function = "free",
                                          .size_bytes = slab->slot_bytes,
                                          .note = "two threads freed it at the same time",
                                      });
}

/* What was claimed without being scrubbed. */
static void scrub_claimed(const struct sj_slab *slab, unsigned word_index, uint64_t claimed)
{
    for (; claimed != 0; claimed &= claimed - 1) {
        size_t slot_index = (size_t)word_index * SJ_WORD_BITS + sj_lowest_bit(claimed);
        sj_scrub_slot(slab->base + slot_index * slab->slot_bytes, slab->slot_bytes);
    }
}

/* True if what is folded waits in quarantine. Not in the heap of a thread that has ended: no further free would let it out. */
static bool is_detained(const struct sj_policy *policy, const struct sj_heap *heap, const struct sj_slab *slab)
{
    return policy->delay == SJ_DELAY_QUARANTINE && slab->class_index != SJ_CLASS_ZERO &&
           (heap->thread_id != 0 || heap->counted || heap == sj__adopt_shared_heap());
}

/* Makes slots available, at once or by way of the quarantine. What that lets out may be another slab's; the caller looks after
 * this one. */
static void put_by(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab, unsigned word_index,
                   uint64_t freed)
{
    if (!is_detained(policy, heap, slab)) {
        sj_word_set(&slab->planes[word_index].available, freed);
        slab->until_slow -= (int32_t)sj_count_bits(freed);
        return;
    }
    sj__detain_prepare(policy, heap, slab->class_index);
    for (; freed != 0; freed &= freed - 1) {
        struct sj_slab *other = sj__detain(policy, heap, slab, word_index * SJ_WORD_BITS + sj_lowest_bit(freed));
        if (other != NULL && other != slab && other->until_slow <= 0)
            sj__heap_settle_slab(policy, heap, other);
    }
}

static void fold_word(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab, unsigned word_index)
{
    uint64_t freed = sj_load_acquire_u64(&slab->remote->bits[word_index]); /* pairs with the claim */
    if (freed == 0)
        return;
    struct sj_word *word = &slab->planes[word_index];
    uint64_t stray = freed & ~word->live;
    if (sj_unlikely(stray != 0))
        report_raced(slab, word_index, stray);
    sj_word_set(&word->freed, freed);
    bool scrubs_at_free = sj_heap_remote_is_scrubbed(policy, slab, sj__adopt_level());
    if (!scrubs_at_free && slab->class_index != SJ_CLASS_ZERO)
        sj_word_set(&word->dirty, freed);
    if (sj_unlikely(sj__remote_claims_first) && scrubs_at_free && slab->class_index != SJ_CLASS_ZERO)
        scrub_claimed(slab, word_index, freed);
    sj_word_clear(&word->live, freed);
    put_by(policy, heap, slab, word_index, freed);
    (void)sj_fetch_and_acq_rel_u64(&slab->remote->bits[word_index], ~freed); /* last: pairs with the claim */
    heap->remote_freed_slots += sj_count_bits(freed);
}

void sj__remote_fold_slab(const struct sj_policy *policy, struct sj_heap *heap, struct sj_slab *slab)
{
    for (unsigned w = 0; w < slab->words; w++)
        fold_word(policy, heap, slab, w);
    if (slab->until_slow <= 0)
        sj__heap_settle_slab(policy, heap, slab);
}

static void check_word(const struct sj_slab *slab, unsigned word_index)
{
    /* Before live, and acquire: a slot whose claim is seen was live before it, and pairs with the claim. The owner's free
     * clears live without the lock, but not of a slot that has been claimed, unless it is freed twice. */
    uint64_t freed = sj_load_acquire_u64(&slab->remote->bits[word_index]);
    uint64_t stray = freed & ~sj_word_peek(&slab->planes[word_index].live);
    if (stray != 0)
        report_raced(slab, word_index, stray);
}

void sj__remote_check_slab(const struct sj_slab *slab)
{
    for (unsigned w = 0; w < slab->words; w++)
        check_word(slab, w);
}

/* Slabs are only pushed meanwhile, at the head; what has another owner, whose lock is not held, is left to that one. */
void sj__remote_check(const struct sj_heap *heap)
{
    const struct sj_slab *slab = sj_load_acquire_ptr(&heap->queue); /* pairs with the push */
    for (; slab != NULL; slab = sj_load_relaxed_ptr(&slab->remote->next))
        if (sj_load_acquire_ptr(&slab->span.owner) == heap)
            sj__remote_check_slab(slab);
}

void sj__remote_fold(const struct sj_policy *policy, struct sj_heap *heap)
{
    if (sj_load_relaxed_ptr(&heap->queue) == NULL)
        return;
    struct sj_slab *slab = sj_exchange_acq_rel_ptr(&heap->queue, NULL); /* pairs with the push */
    while (slab != NULL) {
        struct sj_slab *next = sj_load_relaxed_ptr(&slab->remote->next); /* before the flag lets others write it */
        (void)sj_exchange_acq_rel_u32(&slab->remote->queued, 0); /* before the bits are read: pairs with queue_once */
        struct sj_heap *owner = sj_load_acquire_ptr(&slab->span.owner);
        if (sj_likely(owner == heap))
            sj__remote_fold_slab(policy, heap, slab);
        else if (owner != NULL)
            (void)queue_once(slab); /* it has moved on; its new owner folds */
        slab = next;
    }
}
