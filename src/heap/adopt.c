/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see adopt.h.
 */
#include "heap/adopt.h"

#include "heap/detain.h"
#include "heap/profile.h"
#include "heap/remote.h"
#include "platform/entropy.h"
#include "platform/process.h"
#include "platform/tags.h"
#include "platform/thread.h"
#include "report/control_block.h"
#include "span/release.h"
#include "span/run.h"

#include <string.h>

enum {
    ADOPT_HEAPS_LOOKED_AT = 8, /* abandoned heaps a slow path looks into, or a pass folds */
    FOLD_REST_MS = 10,         /* until a pass folds more of them: frees may queue anew what it has folded */
    EXIT_ROUNDS = 3            /* the round of thread-exit destructors in which the heap is given up; POSIX has 4 */
};

static struct sj_lock birth_lock = SJ_LOCK_INIT(SJ_RANK_HEAPS); /* held while a heap is made: fork sees all or none */
static struct sj_lock abandoned_lock = SJ_LOCK_INIT(SJ_RANK_ABANDONED);
static struct sj_heap *abandoned_first; /* a queue: looked at in turn */
static struct sj_heap *abandoned_last;
static struct sj_atomic_u32 abandoned_count;
static struct sj_atomic_u32 thread_count;
static struct sj_atomic_ptr all_heaps; /* struct sj_heap * */
static struct sj_heap *shared_heap;
static struct sj_atomic_ptr settings_now; /* const struct sj_settings *: a raise puts others in its place */
static struct sj_atomic_u64 heap_serial;
static struct sj_atomic_u32 has_news; /* 1: what sj__adopt_all_are_settled says may have changed */

static const struct sj_settings *settings_in_force(void)
{
    return sj_load_acquire_ptr(&settings_now); /* pairs with the stores at the start and at a raise */
}

/* A heap has been settled, or its thread has ended. If a raise waits for that, the next slow path looks whether it was the last. */
static void tell_raise(void)
{
    if (sj_load_relaxed_u32(&sj__control_page.control.waiting) == 0)
        return;
    sj_store_release_u32(&has_news, 1); /* pairs with sj__adopt_all_are_settled */
    sj__release_lower_due(SJ_DUE_BY_LIMITS);
}

/* ---- The queue of abandoned heaps ------------------------------------------------------------------------------- */

static void abandoned_push(struct sj_heap *heap)
{
    sj__lock(&abandoned_lock);
    heap->next_abandoned = NULL;
    *(abandoned_last != NULL ? &abandoned_last->next_abandoned : &abandoned_first) = heap;
    abandoned_last = heap;
    (void)sj_fetch_add_relaxed_u32(&abandoned_count, 1);
    sj__unlock(&abandoned_lock);
}

static struct sj_heap *abandoned_pop(void)
{
    if (sj_load_relaxed_u32(&abandoned_count) == 0)
        return NULL;
    sj__lock(&abandoned_lock);
    struct sj_heap *heap = abandoned_first;
    if (heap != NULL) {
        abandoned_first = heap->next_abandoned;
        if (abandoned_first == NULL)
            abandoned_last = NULL;
        (void)sj_fetch_sub_relaxed_u32(&abandoned_count, 1);
    }
    sj__unlock(&abandoned_lock);
    return heap;
}

/* ---- Birth and death -------------------------------------------------------------------------------------------- */

static void seed_heap(struct sj_heap *heap)
{
    if (settings_in_force()->policy.fixed_seed) {
        uint64_t serial = sj_fetch_add_relaxed_u64(&heap_serial, 1);
        memset(heap->chacha_key, 0, sizeof heap->chacha_key);
        memcpy(heap->chacha_key, &settings_in_force()->seed, sizeof settings_in_force()->seed);
        memcpy(&heap->chacha_key[2], &serial, sizeof serial);
    } else {
        (void)sj__entropy_fill(heap->chacha_key, sizeof heap->chacha_key);
    }
    heap->chacha_counter = 0;
    for (unsigned at = 0; at < SJ_POOL_BYTES; at += SJ_CHACHA_BLOCK_WORDS * sizeof(uint32_t)) {
        uint32_t block[SJ_CHACHA_BLOCK_WORDS];
        sj__chacha_block(heap->chacha_key, heap->chacha_counter++, block);
        memcpy(heap->pool + at, block, sizeof block);
    }
    heap->pool_next = heap->pool_fresh = 0;
    sj__heap_draw_sample(&settings_in_force()->policy, heap);
    heap->until_profile = sj__profile_draw();
}

static void enter_heap(struct sj_heap *heap)
{
    heap->lock.rank = SJ_RANK_HEAP;
    sj__heap_start_bins(heap);
    sj_store_relaxed_u32(&heap->level, SJ_LEVEL_UNSETTLED);
    seed_heap(heap);
    sj__lock(&birth_lock);
    heap->next_of_all = sj_load_relaxed_ptr(&all_heaps);
    sj_store_release_ptr(&all_heaps, heap); /* pairs with sj__adopt_all_heaps */
    sj__unlock(&birth_lock);
}

static struct sj_heap *heap_new(void)
{
    struct sj_heap *heap = sj__run_record(sizeof *heap);
    if (heap != NULL)
        enter_heap(heap);
    return heap;
}

void sj__adopt_enter(struct sj_heap *heap)
{
    enter_heap(heap);
    sj_store_relaxed_u32(&heap->level, sj__adopt_level());
}

/* Runs at a thread's end, once in each round of destructors, so that other destructors still find the heap. */
static void on_thread_exit(void *argument)
{
    sigset_t signals;
    (void)argument; /* a program that mixes up its keys may have put anything there */
    struct sj_heap *heap = sj_heap_own();
    if (heap == &sj__heap_none || heap == &sj__heap_dead)
        return;
    if (++heap->exit_rounds < EXIT_ROUNDS) {
        sj__thread_arm_exit(heap);
        return;
    }
    sj__heap_aside = NULL; /* what is labelled from now on is not */
    sj__heap_current = &sj__heap_dead;
    (void)sj_fetch_sub_relaxed_u32(&thread_count, 1);
    sj__thread_block_signals(&signals); /* a handler that allocates would wait for locks held here */
    uint64_t tags = sj_tags_ignore();
    sj__lock(&heap->lock);
    sj__heap_release_idle(&settings_in_force()->policy, heap);
    heap->thread_id = 0;
    sj__unlock(&heap->lock);
    abandoned_push(heap);
    tell_raise();
    sj_tags_heed(tags);
    sj__thread_let_signals_in(&signals);
}

bool sj__heaps_start(const struct sj_settings *settings)
{
    sj_store_release_ptr(&settings_now, (void *)(uintptr_t)settings);
    sj__remote_claims_first = settings->onerror == SJ_ONERROR_REPORT;
    sj__profile_start(settings);
    shared_heap = heap_new();
    if (shared_heap != NULL)
        sj_store_relaxed_u32(&shared_heap->level, settings->level);
    (void)sj__thread_on_exit(on_thread_exit);
    return shared_heap != NULL;
}

struct sj_heap *sj__heap_attach(void)
{
    struct sj_heap *heap = abandoned_pop();
    if (heap == NULL)
        heap = heap_new();
    if (heap == NULL)
        return NULL;
    /* A fork may have left its bins full before a raise. The level is read after UNSETTLED was to be seen, so that a raise either
     * sees that or is seen here. */
    (void)sj_exchange_acq_rel_u32(&heap->level, SJ_LEVEL_UNSETTLED);
    heap->thread_id = sj__process_thread_id();
    heap->exit_rounds = 0;
    sj__heap_settle(heap);
    sj__heap_current = heap;
    (void)sj_fetch_add_relaxed_u32(&thread_count, 1);
    return heap;
}

uint32_t sj__adopt_threads(void)
{
    return sj_load_relaxed_u32(&thread_count);
}

void sj__heap_arm_exit(struct sj_heap *heap)
{
    sj__thread_arm_exit(heap);
}

struct sj_heap *sj__adopt_shared_heap(void)
{
    return shared_heap;
}

const struct sj_policy *sj__adopt_policy(void)
{
    return &settings_in_force()->policy;
}

const struct sj_policy *sj__adopt_policy_of(const struct sj_heap *heap)
{
    return heap->own_policy != NULL ? heap->own_policy : &settings_in_force()->policy;
}

uint8_t sj__adopt_level(void)
{
    return settings_in_force()->level;
}

struct sj_heap *sj__adopt_all_heaps(void)
{
    return sj_load_acquire_ptr(&all_heaps); /* pairs with heap_new */
}

void sj__adopt_raise(const struct sj_settings *settings)
{
    (void)sj_exchange_acq_rel_ptr(&settings_now, (void *)(uintptr_t)settings);
}

const struct sj_policy *sj__heap_settle_locked(struct sj_heap *heap)
{
    const struct sj_settings *settings = settings_in_force();
    if (heap->own_policy != NULL)
        return heap->own_policy;
    if (sj_unlikely(sj_load_relaxed_u32(&heap->level) != settings->level)) {
        sj__heap_put_back(&settings->policy, heap);
        sj__detain_resize(&settings->policy, heap);
        sj_store_release_u32(&heap->level, settings->level); /* pairs with sj__adopt_all_are_settled */
        tell_raise();
    }
    return &settings->policy;
}

void sj__heap_settle(struct sj_heap *heap)
{
    sj__lock(&heap->lock);
    (void)sj__heap_settle_locked(heap);
    sj__unlock(&heap->lock);
}

bool sj__adopt_has_news(void)
{
    return sj_load_relaxed_u32(&has_news) != 0;
}

bool sj__adopt_all_are_settled(void)
{
    uint32_t level = sj__adopt_level();
    (void)sj_exchange_acq_rel_u32(&has_news,
                                  0); /* first: pairs with tell_raise, which sets it again for what is missed below */
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all) {
        uint32_t of_heap = sj_load_acquire_u32(&heap->level); /* pairs with sj__heap_settle and sj__heap_attach */
        if (of_heap == level)
            continue;
        if (of_heap == SJ_LEVEL_UNSETTLED ||
            heap->thread_id != 0) /* of a thread that has ended: who adopts it settles it */
            return false;
    }
    return true;
}

/* ---- Adoption --------------------------------------------------------------------------------------------------- */

static struct sj_slab *take_slab_from(const struct sj_policy *policy, struct sj_heap *from, struct sj_heap *to,
                                      unsigned class_index)
{
    sj__remote_fold(policy, from);
    sj__detain_end(policy, from, class_index); /* which may still name the slab */
    struct sj_slab *slab = from->lists[class_index].first;
    if (slab == NULL)
        return NULL;
    sj__heap_unlink(from, slab);
    from->lists[class_index].slabs--;
    to->lists[class_index].slabs++;
    sj__slab_forget_turns(slab);
    /* Release: whoever sees the new owner sees a slab that is in no list of the old one. A remote free that still
     * queues it with the old owner is passed on when that queue is folded. */
    sj_store_release_ptr(&slab->span.owner, to);
    return slab;
}

struct sj_slab *sj__adopt_slab(const struct sj_policy *policy, struct sj_heap *heap, unsigned class_index)
{
    struct sj_slab *slab = NULL;
    for (unsigned looked = 0; looked < ADOPT_HEAPS_LOOKED_AT && slab == NULL; looked++) {
        struct sj_heap *from = abandoned_pop();
        if (from == NULL)
            break;
        /* Only tried: a fork may hold it and be waiting for ours. */
        if (sj__try_lock(&from->lock)) {
            slab = take_slab_from(policy, from, heap, class_index);
            sj__unlock(&from->lock);
        }
        abandoned_push(from);
    }
    return slab;
}

/* ---- Over all idle heaps ---------------------------------------------------------------------------------------- */

static size_t visit_idle_heaps(size_t (*visit)(const struct sj_policy *, struct sj_heap *))
{
    size_t sum = 0;
    const struct sj_policy *policy = &settings_in_force()->policy;
    uint32_t count = sj_load_relaxed_u32(&abandoned_count);
    for (; count > 0; count--) {
        struct sj_heap *heap = abandoned_pop();
        if (heap == NULL)
            break;
        sj__lock(&heap->lock);
        sum += visit(policy, heap);
        sj__unlock(&heap->lock);
        abandoned_push(heap);
    }
    struct sj_heap *standing[2] = { shared_heap, sj_heap_own() };
    for (unsigned i = 0; i < 2; i++) {
        if (standing[i] == NULL || standing[i] == &sj__heap_none || standing[i] == &sj__heap_dead)
            continue;
        sj__lock(&standing[i]->lock);
        sum += visit(policy, standing[i]);
        sj__unlock(&standing[i]->lock);
    }
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all) {
        /* Only tried: a thread that is stopped in there must not keep the process from ending. */
        if (!heap->counted || !sj__try_lock(&heap->lock))
            continue;
        sum += visit(sj__heap_settle_locked(heap), heap);
        sj__unlock(&heap->lock);
    }
    return sum;
}

static size_t fold(const struct sj_policy *policy, struct sj_heap *heap)
{
    sj__remote_fold(policy, heap);
    return 0;
}

void sj__adopt_check_at_exit(void)
{
    sigset_t signals;
    sj__thread_block_signals(&signals);
    (void)visit_idle_heaps(fold);
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all) {
        if (sj__try_lock(&heap->lock)) { /* a thread that is stopped must not keep the process from ending */
            sj__remote_check(heap);
            sj__unlock(&heap->lock);
        }
    }
    sj__thread_let_signals_in(&signals);
}

size_t sj__adopt_release_idle(void)
{
    return visit_idle_heaps(sj__heap_purge_idle);
}

void sj__adopt_fold_ended(struct sj_aging *aging)
{
    uint32_t count = sj_load_relaxed_u32(&abandoned_count);
    for (unsigned folded = 0; count > 0 && folded < ADOPT_HEAPS_LOOKED_AT; count--) {
        struct sj_heap *heap = abandoned_pop();
        if (heap == NULL)
            return;
        if (sj_load_relaxed_ptr(&heap->queue) != NULL) {
            folded++;
            if (sj__try_lock(&heap->lock)) {
                sj__remote_fold(&settings_in_force()->policy, heap);
                sj__unlock(&heap->lock);
            } else {
                sj_aging_note_left(aging, sj__clock_ms());
            }
        }
        abandoned_push(heap);
    }
    if (count > 0)
        sj_aging_note_left(aging, aging->before_ms + FOLD_REST_MS);
}

/* A counted heap is folded by whoever allocates from it next, who may never come. */
static void fold_counted(struct sj_heap *heap, struct sj_aging *aging)
{
    if (!heap->counted || sj_load_relaxed_ptr(&heap->queue) == NULL)
        return;
    if (sj__try_lock(&heap->lock)) {
        sj__remote_fold(sj__heap_settle_locked(heap), heap);
        sj__unlock(&heap->lock);
    } else {
        sj_aging_note_left(aging, sj__clock_ms());
    }
}

void sj__adopt_release_aged(struct sj_aging *aging)
{
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all) {
        fold_counted(heap, aging);
        if (sj_load_relaxed_u32(&heap->idle_slabs) == 0)
            continue;
        if (sj_aging_is_spent(aging)) {
            sj_aging_note_left(aging, aging->before_ms);
            return;
        }
        if (sj__try_lock(&heap->lock)) {
            sj__heap_release_aged(sj__adopt_policy_of(heap), heap, aging);
            sj__unlock(&heap->lock);
        } else {
            sj_aging_note_left(aging, sj__clock_ms());
        }
    }
}

/* ---- Fork ------------------------------------------------------------------------------------------------------- */

void sj__adopt_lock_for_fork(void)
{
    sj__lock(&birth_lock);
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all)
        sj__lock(&heap->lock);
    sj__lock(&abandoned_lock);
}

static void unlock_all(bool in_child)
{
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all) {
        if (in_child)
            sj__lock_reset(&heap->lock);
        else
            sj__unlock(&heap->lock);
    }
}

void sj__adopt_unlock_after_fork(bool in_child)
{
    if (!in_child) {
        sj__unlock(&abandoned_lock);
        unlock_all(false);
        sj__unlock(&birth_lock);
        return;
    }
    sj__lock_reset(&abandoned_lock);
    unlock_all(true);
    sj__lock_reset(&birth_lock);
    /* The other threads are gone: their heaps wait for adoption, together with those that already did. */
    abandoned_first = abandoned_last = NULL;
    sj_store_relaxed_u32(&abandoned_count, 0);
    const struct sj_heap *own = sj_heap_own();
    bool has_heap = own != &sj__heap_none && own != &sj__heap_dead;
    sj_store_relaxed_u32(&thread_count, has_heap ? 1 : 0);
    for (struct sj_heap *heap = sj__adopt_all_heaps(); heap != NULL; heap = heap->next_of_all) {
        seed_heap(heap);
        heap->thread_id = heap == own ? sj__process_thread_id() : 0;
        if (sj_load_relaxed_u32(&heap->level) == SJ_LEVEL_UNSETTLED)
            sj_store_relaxed_u32(&heap->level, 0); /* who was attaching it is gone; who adopts it settles it */
        if (heap != own && heap != shared_heap && !heap->counted)
            abandoned_push(heap);
    }
    tell_raise();
}
