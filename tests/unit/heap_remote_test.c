/* SPDX-License-Identifier: MIT
 *
 * What: frees by other threads and their fold: what is claimed, what is queued, who scrubs, and what is reported.
 *
 * Why this way: the main thread owns the blocks and can be looked at between any two steps of another thread, so the
 * order of events is fixed. States that only a race brings about are set by hand in the planes. Reports are expected
 * in a forked child.
 *
 * Invariants: runs at level 2 with scrub=free, whatever the environment says.
 *
 * Concurrency: one helper thread at a time, waited for.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/inside.h"

#include "front/entry.h"
#include "heap/adopt.h"
#include "heap/remote.h"
#include "scrubjay.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define OPTIONS "level=2,scrub=free"

static bool is_live(const void *block)
{
    return (word_of(block)->live & bit_of(block)) != 0;
}

static bool is_remote(const void *block)
{
    return (sj_load_acquire_u64(&slab_of(block)->remote->bits[slot_of(block) / SJ_WORD_BITS]) & bit_of(block)) != 0;
}

static unsigned queue_length(const struct sj_heap *heap)
{
    unsigned length = 0;
    for (struct sj_slab *slab = sj_load_acquire_ptr(&heap->queue); slab != NULL;
         slab = sj_load_relaxed_ptr(&slab->remote->next))
        length++;
    return length;
}

static void fold(struct sj_heap *heap)
{
    sj__lock(&heap->lock);
    sj__remote_fold(&sj__sealed.settings.policy, heap);
    sj__unlock(&heap->lock);
}

/* --- Another thread. --- */

struct errand {
    void **blocks;
    size_t count;
};

static void *free_blocks(void *argument)
{
    const struct errand *errand = argument;
    for (size_t i = 0; i < errand->count; i++)
        sj_free(errand->blocks[i]);
    return NULL;
}

static void free_elsewhere(void **blocks, size_t count)
{
    pthread_t thread;
    struct errand errand = { blocks, count };
    if (CHECK(pthread_create(&thread, NULL, free_blocks, &errand) == 0))
        (void)pthread_join(thread, NULL);
}

static void make_blocks(void **blocks, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        blocks[i] = sj_malloc(size);
        if (!CHECK(blocks[i] != NULL))
            _exit(1);
        memset(blocks[i], 0x5a, size);
    }
}

/* --- Claims and folds. --- */

static void heap_remote__claim_is_seen_and_folded_by_the_owner(void)
{
    void *block;
    make_blocks(&block, 1, 96);
    struct sj_slab *slab = slab_of(block);
    REQUIRE(slab != NULL && sj_load_relaxed_ptr(&slab->span.owner) == sj__heap_current);
    fold(sj__heap_current);
    uint32_t used = sj_slab_used(slab);
    free_elsewhere(&block, 1);
    CHECK(is_live(block) && is_remote(block));
    CHECK_EQ(sj_slab_used(slab), used);
    CHECK_EQ(queue_length(sj__heap_current), 1);
    CHECK_EQ(sj_load_relaxed_u32(&slab->remote->queued), 1);
    fold(sj__heap_current);
    CHECK(!is_live(block) && !is_remote(block));
    CHECK((word_of(block)->available & bit_of(block)) != 0);
    CHECK((word_of(block)->freed & bit_of(block)) != 0);
    CHECK_EQ(sj_slab_used(slab), used - 1);
    CHECK_EQ(queue_length(sj__heap_current), 0);
    CHECK_EQ(sj_load_relaxed_u32(&slab->remote->queued), 0);
}

static void heap_remote__slab_is_queued_once_for_any_number_of_frees(void)
{
    enum { BLOCKS = 200 };
    void *blocks[BLOCKS];
    make_blocks(blocks, BLOCKS, 112);
    struct sj_slab *slab = slab_of(blocks[0]);
    unsigned slabs = 1;
    for (unsigned i = 1; i < BLOCKS; i++)
        slabs += slab_of(blocks[i]) != slab_of(blocks[i - 1]);
    fold(sj__heap_current);
    free_elsewhere(blocks, BLOCKS);
    CHECK(queue_length(sj__heap_current) <= slabs);
    CHECK_EQ(sj_load_relaxed_u32(&slab->remote->queued), 1);
    fold(sj__heap_current);
    for (unsigned i = 0; i < BLOCKS; i++)
        CHECK(!is_live(blocks[i]) && !is_remote(blocks[i]));
}

static void heap_remote__outcome_tells_live_from_freed(void)
{
    const struct sj_policy *policy = &sj__sealed.settings.policy;
    void *block;
    make_blocks(&block, 1, 80);
    struct sj_slab *slab = slab_of(block);
    unsigned slot = slot_of(block);
    CHECK_EQ(sj__remote_free(policy, slab, slot), SJ_REMOTE_FREED);
    CHECK_EQ(sj__remote_free(policy, slab, slot), SJ_REMOTE_ALREADY_FREED);
    fold(sj__heap_current);
    CHECK_EQ(sj__remote_free(policy, slab, slot), SJ_REMOTE_NOT_LIVE);
    CHECK_EQ(queue_length(sj__heap_current), 0);
}

static void heap_remote__freeing_thread_scrubs_before_it_returns(void)
{
    const size_t sizes[] = { 16, 128, 144, 1024, 32768 };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        unsigned char *block;
        make_blocks((void **)&block, 1, sizes[s]);
        void *freed = block;
        free_elsewhere(&freed, 1);
        CHECK(is_remote(block)); /* not folded yet */
        CHECK(block[0] == 0 && memcmp(block, block + 1, sizes[s] - 1) == 0);
        fold(sj__heap_current);
        CHECK((word_of(block)->dirty & bit_of(block)) == 0);
    }
}

static void heap_remote__freed_slots_are_counted_before_they_are_folded(void)
{
    enum { BLOCKS = 50 };
    void *blocks[BLOCKS];
    struct sj_stats before, made, freed, folded;
    CHECK_EQ(sj_stats_read(&before), 0);
    make_blocks(blocks, BLOCKS, 100);
    CHECK_EQ(sj_stats_read(&made), 0);
    free_elsewhere(blocks, BLOCKS);
    CHECK_EQ(sj_stats_read(&freed), 0);
    fold(sj__heap_current);
    CHECK_EQ(sj_stats_read(&folded), 0);
    CHECK_EQ(made.live_bytes - before.live_bytes, BLOCKS * 112);
    CHECK_EQ(made.allocations - before.allocations, BLOCKS);
    CHECK_EQ(freed.live_bytes, before.live_bytes);
    CHECK_EQ(freed.frees - made.frees, BLOCKS);
    CHECK_EQ(folded.live_bytes, freed.live_bytes);
    CHECK_EQ(folded.frees, freed.frees);
    CHECK_EQ(folded.freed_bytes - made.freed_bytes, BLOCKS * 112);
}

static void heap_remote__freed_slots_are_handed_out_again(void)
{
    enum { BLOCKS = 3000, TURNS = 40 };
    static void *blocks[BLOCKS];
    struct sj_stats first, last;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        make_blocks(blocks, BLOCKS, 208);
        free_elsewhere(blocks, BLOCKS);
        CHECK_EQ(sj_stats_read(turn == 4 ? &first : &last), 0);
    }
    CHECK(last.slab_bytes <= first.slab_bytes);
    CHECK(last.window_bytes <= first.window_bytes);
}

/* --- Slabs that have moved on. --- */

/* As a thread that has claimed a slot and been slow to queue its slab, which meanwhile has gone to another heap. */
static void queue_by_hand(struct sj_heap *heap, struct sj_slab *slab)
{
    CHECK_EQ(sj_exchange_acq_rel_u32(&slab->remote->queued, 1), 0);
    sj_store_relaxed_ptr(&slab->remote->next, sj_load_relaxed_ptr(&heap->queue));
    sj_store_release_ptr(&heap->queue, slab);
}

static void heap_remote__slab_of_another_owner_is_passed_on(void)
{
    void *block;
    make_blocks(&block, 1, 320);
    struct sj_slab *slab = slab_of(block);
    struct sj_heap *shared = sj__adopt_shared_heap();
    fold(sj__heap_current);
    (void)sj_fetch_or_acq_rel_u64(&slab->remote->bits[slot_of(block) / SJ_WORD_BITS], bit_of(block));
    queue_by_hand(shared, slab);
    fold(shared);
    CHECK(is_live(block) && is_remote(block)); /* not the shared heap's to fold */
    CHECK_EQ(queue_length(shared), 0);
    CHECK_EQ(queue_length(sj__heap_current), 1);
    CHECK_EQ(sj_load_relaxed_u32(&slab->remote->queued), 1);
    fold(sj__heap_current);
    CHECK(!is_live(block) && !is_remote(block));
}

static void heap_remote__closed_slab_is_dropped_from_the_queue(void)
{
    struct sj_heap *shared = sj__adopt_shared_heap();
    struct sj_slab *slab = sj__slab_open(&sj__policy_levels[2], sj_class_of(320), shared, 0);
    REQUIRE(slab != NULL);
    sj__slab_close(slab);
    queue_by_hand(shared, slab);
    fold(shared);
    CHECK_EQ(queue_length(shared), 0);
    CHECK_EQ(sj_load_relaxed_u32(&slab->remote->queued), 0);
    /* The record opens again and works. */
    slab = sj__slab_open(&sj__policy_levels[2], sj_class_of(320), shared, 0);
    REQUIRE(slab != NULL);
    queue_by_hand(shared, slab);
    sj__slab_close(slab);
    struct sj_slab *again = sj__slab_open(&sj__policy_levels[2], sj_class_of(320), shared, 0);
    CHECK(again == slab);
    CHECK_EQ(sj_load_relaxed_u32(&again->remote->queued), 1); /* outlives the slab */
    sj__lock(&shared->lock);
    again->place = SJ_SLAB_CURRENT; /* of nobody: so that it is not closed below */
    sj__unlock(&shared->lock);
    fold(shared);
    CHECK_EQ(sj_load_relaxed_u32(&again->remote->queued), 0);
    sj__slab_close(again);
}

/* --- Races, set by hand. --- */

/* (Of the report nothing is to be seen where fd 2 is no longer what it was at start; the death tests read it.) */
static bool is_reported(void (*misuse)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)close(STDERR_FILENO);
        misuse();
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/* The owner's free and another thread's have both returned: the slot is not live, and its remote bit is set. */
static void *raced_block(void)
{
    void *block;
    make_blocks(&block, 1, 1000);
    struct sj_slab *slab = slab_of(block);
    unsigned word_index = slot_of(block) / SJ_WORD_BITS;
    uint64_t bit = bit_of(block);
    sj_free(block);
    (void)sj_fetch_or_acq_rel_u64(&slab->remote->bits[word_index], bit);
    return block;
}

static void fold_raced(void)
{
    struct sj_slab *slab = slab_of(raced_block());
    queue_by_hand(sj__heap_current, slab);
    fold(sj__heap_current);
}

static void hand_out_raced(void)
{
    (void)raced_block(); /* never queued: the other thread has not got that far */
    for (unsigned i = 0; i < 10000; i++)
        (void)sj_malloc(1000);
}

static void free_twice_elsewhere(void)
{
    void *block;
    make_blocks(&block, 1, 1000);
    void *twice[2] = { block, block };
    free_elsewhere(twice, 2);
}

static void free_here_and_then_elsewhere(void)
{
    void *block;
    make_blocks(&block, 1, 1000);
    sj_free(block);
    free_elsewhere(&block, 1);
}

static void free_elsewhere_and_then_here(void)
{
    void *block;
    make_blocks(&block, 1, 1000);
    free_elsewhere(&block, 1);
    sj_free(block);
}

static void trim_raced(void)
{
    struct sj_slab *slab = slab_of(raced_block());
    queue_by_hand(sj__heap_current, slab);
    (void)sj_malloc_trim(0);
}

static pthread_barrier_t both_there;

/* A thread that lives on and does nothing more. `in_order`: what was freed elsewhere was not freed here. */
static void *own_and_stay(void *in_order)
{
    if (in_order != NULL) {
        void *block;
        make_blocks(&block, 1, 1000);
        free_elsewhere(&block, 1);
    } else {
        struct sj_slab *slab = slab_of(raced_block()); /* makes the heap */
        queue_by_hand(sj__heap_current, slab);
    }
    (void)pthread_barrier_wait(&both_there);
    for (;;)
        (void)pause();
    return NULL;
}

static void exit_beside(void *in_order)
{
    pthread_t thread;
    (void)pthread_barrier_init(&both_there, NULL, 2);
    if (pthread_create(&thread, NULL, own_and_stay, in_order) != 0)
        _exit(1);
    (void)pthread_barrier_wait(&both_there);
    sj__adopt_check_at_exit();
}

static void exit_beside_raced(void)
{
    exit_beside(NULL);
}

static void exit_beside_freed_once(void)
{
    exit_beside(&both_there);
}

static void heap_remote__raced_double_free_is_reported_at_exit_though_its_owner_lives_on(void)
{
    CHECK(is_reported(exit_beside_raced));
    CHECK(!is_reported(exit_beside_freed_once));
}

static void heap_remote__raced_double_free_is_reported_by_the_fold(void)
{
    CHECK(is_reported(fold_raced));
    CHECK(is_reported(trim_raced));
}

static void heap_remote__raced_double_free_is_reported_before_the_slot_is_handed_out(void)
{
    CHECK(is_reported(hand_out_raced));
}

static void heap_remote__second_free_is_reported_whoever_frees(void)
{
    CHECK(is_reported(free_twice_elsewhere));
    CHECK(is_reported(free_here_and_then_elsewhere));
    CHECK(is_reported(free_elsewhere_and_then_here));
}

/* --- All at once. --- */

enum { STRESS_THREADS = 3, STRESS_BLOCKS = 512, STRESS_STEPS = 30000 };

static struct sj_atomic_ptr exchange[STRESS_BLOCKS];

static void *swap_blocks(void *argument)
{
    uint64_t state = *(uint64_t *)argument;
    for (unsigned i = 0; i < STRESS_STEPS; i++) {
        size_t size = 16 + unit_random_below(&state, 200);
        uint64_t *block = sj_malloc(size);
        if (!CHECK(block != NULL && block[0] == 0))
            return NULL;
        block[0] = (uint64_t)(uintptr_t)block;
        uint64_t *other = sj_exchange_acq_rel_ptr(&exchange[unit_random_below(&state, STRESS_BLOCKS)], block);
        if (other != NULL) {
            CHECK_EQ(other[0], (uint64_t)(uintptr_t)other);
            sj_free(other);
        }
    }
    return NULL;
}

static void heap_remote__threads_that_free_each_others_blocks_lose_none(void)
{
    pthread_t threads[STRESS_THREADS];
    uint64_t seeds[STRESS_THREADS];
    struct sj_stats before, after;
    CHECK_EQ(sj_stats_read(&before), 0);
    for (unsigned i = 0; i < STRESS_THREADS; i++) {
        seeds[i] = unit_state.seed + i;
        REQUIRE(pthread_create(&threads[i], NULL, swap_blocks, &seeds[i]) == 0);
    }
    for (unsigned i = 0; i < STRESS_THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < STRESS_BLOCKS; i++)
        sj_free(sj_exchange_acq_rel_ptr(&exchange[i], NULL));
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.live_bytes, before.live_bytes);
    CHECK_EQ(after.allocations - before.allocations, STRESS_THREADS * STRESS_STEPS);
    CHECK_EQ(after.frees - before.frees, STRESS_THREADS * STRESS_STEPS);
}

int main(int argc, char **argv)
{
    run_under(OPTIONS, argv);
    unit_begin(argc, argv);
    RUN(heap_remote__claim_is_seen_and_folded_by_the_owner);
    RUN(heap_remote__slab_is_queued_once_for_any_number_of_frees);
    RUN(heap_remote__outcome_tells_live_from_freed);
    RUN(heap_remote__freeing_thread_scrubs_before_it_returns);
    RUN(heap_remote__freed_slots_are_counted_before_they_are_folded);
    RUN(heap_remote__freed_slots_are_handed_out_again);
    RUN(heap_remote__slab_of_another_owner_is_passed_on);
    RUN(heap_remote__closed_slab_is_dropped_from_the_queue);
    RUN(heap_remote__raced_double_free_is_reported_by_the_fold);
    RUN(heap_remote__raced_double_free_is_reported_before_the_slot_is_handed_out);
    RUN(heap_remote__raced_double_free_is_reported_at_exit_though_its_owner_lives_on);
    RUN(heap_remote__second_free_is_reported_whoever_frees);
    RUN(heap_remote__threads_that_free_each_others_blocks_lose_none);
    return unit_end();
}
