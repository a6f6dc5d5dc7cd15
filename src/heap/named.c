/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see named.h.
 */
#include "heap/named.h"

#include "heap/adopt.h"
#include "heap/detain.h"
#include "heap/remote.h"
#include "heap/stats.h"
#include "platform/process.h"
#include "span/run.h"
#include "span/scrub.h"
#include "span/tail.h"

enum {
    LABELLED_HEAPS = 8,
    IN_USE = 1, /* in a state; the rest is the generation, of which a handle has what fits */
    GENERATION_MASK = SJ_RECORD_BYTES - 1
};
#define NAMED_MAGIC 0x6172656e61736a31u /* tells a record from the others in the metadata; see sj__named_find */

static struct sj_lock named_lock = SJ_LOCK_INIT(SJ_RANK_NAMED); /* of the lists of records */
static struct sj_atomic_ptr all_named;                          /* struct sj_named * */
static struct sj_named *ended_first;
static struct sj_atomic_ptr labelled_heaps[LABELLED_HEAPS]; /* struct sj_heap * */
struct sj_book sj__named_no_arena;

/* ---- Records and handles ---------------------------------------------------------------------------------------- */

static struct sj_named *take_ended(void)
{
    sj__lock(&named_lock);
    struct sj_named *named = ended_first;
    if (named != NULL)
        ended_first = named->next_ended;
    sj__unlock(&named_lock);
    return named;
}

static struct sj_named *record_new(void)
{
    struct sj_named *named = sj__run_record(sizeof *named);
    if (named == NULL)
        return NULL;
    named->magic = NAMED_MAGIC;
    named->book.name = named->name;
    named->book.totals = &named->counts;
    named->heap.counted = true;
    named->heap.own_policy = &named->policy;
    sj__adopt_enter(&named->heap);
    sj__lock(&named_lock);
    named->next_of_all = sj_load_relaxed_ptr(&all_named);
    sj_store_release_ptr(&all_named, named); /* pairs with sj__named_all */
    sj__unlock(&named_lock);
    return named;
}

struct sj_named *sj__named_create(const char *name, const struct sj_settings *settings)
{
    struct sj_named *named = take_ended();
    if (named == NULL)
        named = record_new();
    if (named == NULL)
        return NULL;
    sj__lock(&named->heap.lock);
    (void)sj__account_name(named->name, name);
    named->policy = settings->policy;
    named->policy.sample = 0; /* a sampled block would lie outside of the arena */
    named->limit_bytes = settings->hold.limit_bytes;
    named->exhausted = settings->exhausted;
    sj__detain_resize(&named->policy, &named->heap);
    sj__unlock(&named->heap.lock);
    (void)sj_fetch_add_relaxed_u32(&named->state, IN_USE);
    return named;
}

struct sj_named *sj__named_all(void)
{
    return sj_load_acquire_ptr(&all_named); /* pairs with record_new */
}

bool sj__named_is_live(const struct sj_named *named)
{
    return (sj_load_relaxed_u32(&named->state) & IN_USE) != 0;
}

void *sj__named_handle(const struct sj_named *named)
{
    return (void *)((uintptr_t)named | (sj_load_relaxed_u32(&named->state) >> IN_USE & GENERATION_MASK));
}

struct sj_named *sj__named_find(const void *handle)
{
    uintptr_t address = (uintptr_t)handle & ~(uintptr_t)GENERATION_MASK;
    struct sj_named *named = (struct sj_named *)address;
    bool is_one = sj__arena_holds(named, sizeof *named) && named->magic == NAMED_MAGIC && sj__named_is_live(named);
    return is_one && sj__named_handle(named) == handle ? named : NULL;
}

/* ---- Counting --------------------------------------------------------------------------------------------------- */

bool sj__named_reserve(struct sj_named *named, size_t bytes)
{
    struct sj_atomic_u64 *live = &named->counts.live_bytes;
    uint64_t before = sj_load_relaxed_u64(live);
    do {
        if (named->limit_bytes != 0 && (before > named->limit_bytes || bytes > named->limit_bytes - before))
            return false;
    } while (!sj_compare_exchange_acq_rel_u64(live, &before, before + bytes)); /* pairs with itself */
    return true;
}

void sj__named_unreserve(struct sj_named *named, size_t bytes)
{
    (void)sj_fetch_sub_relaxed_u64(&named->counts.live_bytes, bytes);
}

struct sj_named *sj__named_of(uint32_t account)
{
    struct sj_book *book = account != SJ_NO_ACCOUNT ? sj__account_at(account)->book : &sj__named_no_arena;
    return book != &sj__named_no_arena ? (struct sj_named *)(void *)((char *)book - offsetof(struct sj_named, book))
                                       : NULL;
}

const struct sj_policy *sj__named_policy_of(uint32_t account, const struct sj_policy *policy)
{
    const struct sj_named *named = sj__named_of(account);
    return named != NULL ? &named->policy : policy;
}

/* ---- Labels in no arena ----------------------------------------------------------------------------------------- */

static struct sj_heap *labelled_new(struct sj_atomic_ptr *place)
{
    struct sj_heap *fresh = sj__run_record(sizeof *fresh); /* lost if another thread is faster */
    void *standing = NULL;
    if (fresh == NULL)
        return NULL;
    fresh->counted = true;
    sj__adopt_enter(fresh);
    return sj_compare_exchange_acq_rel_ptr(place, &standing, fresh) ? fresh : standing; /* pairs with the load below */
}

struct sj_heap *sj__named_labelled_heap(void)
{
    struct sj_atomic_ptr *place = &labelled_heaps[sj__process_thread_id() % LABELLED_HEAPS];
    struct sj_heap *heap = sj_load_acquire_ptr(place); /* pairs with labelled_new */
    return heap != NULL ? heap : labelled_new(place);
}

/* ---- Large blocks ----------------------------------------------------------------------------------------------- */

size_t sj__named_large_bytes(const struct sj_large *large)
{
    return large->unusable ? 0 : large->usable_bytes + large->shift_bytes;
}

void sj__named_attach_large(uint32_t account, struct sj_large *large, size_t reserved_bytes)
{
    struct sj_named *named = sj__named_of(account);
    sj_store_relaxed_u32(&large->account, account);
    sj__account_add(account, sj__named_large_bytes(large));
    if (named == NULL)
        return;
    sj__named_unreserve(named, reserved_bytes - sj__named_large_bytes(large));
    sj__lock(&named->heap.lock);
    large->previous_of_arena = NULL;
    large->next_of_arena = named->large;
    if (named->large != NULL)
        named->large->previous_of_arena = large;
    named->large = large;
    sj__unlock(&named->heap.lock);
}

uint32_t sj__named_detach_large(struct sj_large *large)
{
    uint32_t account = sj_exchange_acq_rel_u32(&large->account, SJ_NO_ACCOUNT); /* pairs with itself elsewhere */
    struct sj_named *named = sj__named_of(account);
    if (account != SJ_NO_ACCOUNT)
        sj__account_remove(account, sj__named_large_bytes(large));
    if (named == NULL)
        return account;
    sj__lock(&named->heap.lock);
    *(large->previous_of_arena != NULL ? &large->previous_of_arena->next_of_arena : &named->large) =
        large->next_of_arena;
    if (large->next_of_arena != NULL)
        large->next_of_arena->previous_of_arena = large->previous_of_arena;
    sj__unlock(&named->heap.lock);
    return account;
}

bool sj__named_free_large(const struct sj_policy *policy, uint32_t account, struct sj_large *large, const void *block)
{
    struct sj_policy own = *sj__named_policy_of(account, policy);
    if (own.scrub == SJ_SCRUB_OFF && policy->scrub != SJ_SCRUB_OFF)
        own.scrub = SJ_SCRUB_REUSE;
    return sj__large_free(&own, large, block);
}

bool sj__named_expect(uint32_t account, size_t more_bytes)
{
    struct sj_named *named = sj__named_of(account);
    return named == NULL || sj__named_reserve(named, more_bytes);
}

void sj__named_resized_large(uint32_t account, const struct sj_large *large, size_t before_bytes, size_t more_bytes)
{
    struct sj_named *named = sj__named_of(account);
    size_t after_bytes = sj__named_large_bytes(large);
    size_t grown_bytes = after_bytes > before_bytes ? after_bytes - before_bytes : 0;
    if (named != NULL)
        sj__named_unreserve(named, more_bytes - grown_bytes);
    sj__account_resize(account, before_bytes, after_bytes);
}

/* ---- All at once ------------------------------------------------------------------------------------------------ */

static void free_word(const struct sj_named *named, struct sj_slab *slab, unsigned word_index,
                      const struct sj_named_checks *checks)
{
    struct sj_word *word = &slab->planes[word_index];
    uint64_t live = word->live;
    bool scrubs = slab->class_index != SJ_CLASS_ZERO && sj_scrubs_at_free(&named->policy, slab->slot_bytes);
    for (uint64_t left = live; left != 0; left &= left - 1) {
        unsigned slot_index = word_index * SJ_WORD_BITS + sj_lowest_bit(left);
        checks->slot(slab, slot_index, checks->caller);
        if (scrubs)
            sj_scrub_slot(slab->base + (size_t)slot_index * slab->slot_bytes, slab->slot_bytes);
        sj__account_remove(slab->accounts[slot_index], sj__size_classes[slab->class_index].usable_bytes);
    }
    if (!scrubs && slab->class_index != SJ_CLASS_ZERO)
        sj_word_set(&word->dirty, live);
    sj_word_set(&word->freed, live);
    sj_word_clear(&word->live, live);
    sj_word_set(&word->available, live);
    slab->until_slow -= (int32_t)sj_count_bits(live);
}

static void free_slabs(struct sj_named *named, const struct sj_named_checks *checks)
{
    struct sj_heap *heap = &named->heap;
    struct sj_slab *next;
    sj__lock(&heap->lock);
    sj__remote_fold(&named->policy, heap);
    for (struct sj_slab *slab = heap->slabs; slab != NULL; slab = next) {
        next = slab->next_of_heap; /* of all it can only be this one that is closed */
        for (unsigned w = 0; w < slab->words; w++)
            free_word(named, slab, w, checks);
        if (slab->until_slow <= 0)
            sj__heap_settle_slab(&named->policy, heap, slab);
    }
    sj__heap_release_idle(&named->policy, heap);
    sj__unlock(&heap->lock);
}

static struct sj_large *first_large(struct sj_named *named)
{
    sj__lock(&named->heap.lock);
    struct sj_large *large = named->large;
    sj__unlock(&named->heap.lock);
    return large;
}

void sj__named_reset(struct sj_named *named, const struct sj_named_checks *checks)
{
    struct sj_large *large;
    while ((large = first_large(named)) != NULL) {
        checks->large(large, checks->caller);
        uint32_t account = sj__named_detach_large(large);
        (void)sj__named_free_large(sj__adopt_policy(), account, large, large->start);
    }
    free_slabs(named, checks);
}

void sj__named_end(struct sj_named *named, const struct sj_named_checks *checks)
{
    sj__named_reset(named, checks);
    (void)sj_fetch_add_relaxed_u32(&named->state, IN_USE); /* the next generation, and not in use */
    sj__lock(&named->heap.lock);
    sj__heap_retire_sums(&named->heap);
    sj__account_forget(&named->book);
    named->counts = (struct sj_counts){ 0 };
    sj__unlock(&named->heap.lock);
    sj__lock(&named_lock);
    named->next_ended = ended_first;
    ended_first = named;
    sj__unlock(&named_lock);
}

/* ---- Fork ------------------------------------------------------------------------------------------------------- */

void sj__named_lock_for_fork(void)
{
    sj__lock(&named_lock);
}

void sj__named_unlock_after_fork(bool in_child)
{
    if (in_child)
        sj__lock_reset(&named_lock);
    else
        sj__unlock(&named_lock);
}
