/* SPDX-License-Identifier: MIT
 *
 * What: heaps of threads that have ended: adopted whole by the next thread, or slab by slab by those that run.
 *
 * Why this way: threads are started and joined one by one, so which heap is whose is known at every step and the main
 * thread looks into them. The program's own blocks are written and compared, since adoption must not touch them.
 *
 * Invariants: runs at level 2, whatever the environment says.
 *
 * Concurrency: threads run one at a time but in the last test.
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

#define OPTIONS "level=2"

enum { BLOCKS = 2000 };

static void *blocks[BLOCKS];

static struct sj_heap *owner_of(const void *block)
{
    return sj_load_relaxed_ptr(&slab_of(block)->span.owner);
}

/* --- A thread that makes or frees blocks. --- */

struct errand {
    size_t count;
    size_t size_bytes;
    bool frees_first;
    bool makes;
    struct sj_heap *heap; /* out: the one it had */
};

static void free_all(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sj_free(blocks[i]);
        blocks[i] = NULL;
    }
}

static void make_all(size_t count, size_t size_bytes)
{
    for (size_t i = 0; i < count; i++) {
        blocks[i] = sj_malloc(size_bytes);
        if (!CHECK(blocks[i] != NULL))
            _exit(1);
        memset(blocks[i], (int)(i % 251) + 1, size_bytes);
    }
}

static bool hold_what_was_written(size_t count, size_t size_bytes)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char *bytes = blocks[i];
        if (bytes[0] != i % 251 + 1 || memcmp(bytes, bytes + 1, size_bytes - 1) != 0)
            return false;
    }
    return true;
}

static void *run_errand(void *argument)
{
    struct errand *errand = argument;
    sj_free(sj_malloc(1)); /* now it has a heap */
    errand->heap = sj__heap_current;
    if (errand->frees_first)
        free_all(errand->count);
    if (errand->makes)
        make_all(errand->count, errand->size_bytes);
    return NULL;
}

static struct sj_heap *run_thread(struct errand errand)
{
    pthread_t thread;
    if (!CHECK(pthread_create(&thread, NULL, run_errand, &errand) == 0))
        _exit(1);
    (void)pthread_join(thread, NULL);
    return errand.heap;
}

static uint64_t heaps_made(void)
{
    struct sj_stats stats;
    CHECK_EQ(sj_stats_read(&stats), 0);
    return stats.heaps;
}

/* --- Whole heaps. --- */

static void heap_adopt__heap_of_an_ended_thread_goes_to_the_next_one(void)
{
    struct sj_heap *first = run_thread((struct errand){ .count = 100, .size_bytes = 100, .makes = true });
    CHECK(first != sj__heap_current && first != &sj__heap_none && first != &sj__heap_dead);
    CHECK(owner_of(blocks[0]) == first);
    CHECK_EQ(first->thread_id, 0);
    struct sj_heap *second = run_thread((struct errand){ .count = 100, .frees_first = true });
    CHECK(second == first);
    CHECK(hold_what_was_written(0, 1));
}

static void heap_adopt__adopting_thread_frees_as_an_owner_does(void)
{
    struct sj_stats before, after;
    (void)run_thread((struct errand){ .count = BLOCKS, .size_bytes = 64, .makes = true });
    CHECK_EQ(sj_stats_read(&before), 0);
    (void)run_thread((struct errand){ .count = BLOCKS, .frees_first = true });
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.remote_frees, before.remote_frees);
    CHECK_EQ(after.frees - before.frees, BLOCKS + 1);
}

static void heap_adopt__as_many_heaps_as_threads_at_a_time(void)
{
    (void)run_thread((struct errand){ .count = 0 });
    uint64_t before = heaps_made();
    for (unsigned i = 0; i < 100; i++)
        (void)run_thread((struct errand){ .count = 50, .size_bytes = 48, .makes = true, .frees_first = i > 0 });
    CHECK_EQ(heaps_made(), before);
    free_all(50);
}

static void heap_adopt__what_was_freed_for_a_thread_is_folded_when_it_ends(void)
{
    struct sj_stats stats;
    (void)run_thread((struct errand){ .count = BLOCKS, .size_bytes = 96, .makes = true });
    struct sj_heap *heap = owner_of(blocks[0]);
    CHECK(hold_what_was_written(BLOCKS, 96));
    free_all(BLOCKS); /* by the main thread: queued with the ended one's heap */
    CHECK(sj_load_acquire_ptr(&heap->queue) != NULL);
    CHECK(run_thread((struct errand){ .count = 0 }) == heap); /* takes it, and folds at its own end at the latest */
    CHECK(sj_load_acquire_ptr(&heap->queue) == NULL);
    (void)sj_malloc_trim(0);
    CHECK_EQ(sj_stats_read(&stats), 0);
    for (unsigned c = 0; c < SJ_CLASS_COUNT; c++)
        CHECK_EQ(heap->lists[c].slabs, 0);
}

/* --- Slab by slab. --- */

/* Main allocates from the ended thread's slabs before it opens any, and what lies in them is left alone. */
static void heap_adopt__running_thread_takes_partial_slabs_of_an_ended_one(void)
{
    enum { SIZE = 400, KEPT = BLOCKS / 2 };
    struct sj_heap *heap = run_thread((struct errand){ .count = BLOCKS, .size_bytes = SIZE, .makes = true });
    static void *freed[BLOCKS], *mine[BLOCKS];
    size_t freed_count = 0, kept = 0;
    for (size_t i = 0; i < BLOCKS; i++) /* every other one, so that no slab becomes empty */
        if (i % 2 == 0)
            freed[freed_count++] = blocks[i];
        else
            blocks[kept++] = blocks[i];
    for (size_t i = 0; i < freed_count; i++)
        sj_free(freed[i]);
    struct sj_stats before, after;
    CHECK_EQ(sj_stats_read(&before), 0);
    unsigned c = sj_class_of(SIZE);
    unsigned slabs_before = heap->lists[c].slabs;
    size_t from_adopted = 0;
    for (size_t i = 0; i < freed_count; i++) {
        mine[i] = sj_malloc(SIZE);
        REQUIRE(mine[i] != NULL);
        CHECK(owner_of(mine[i]) == sj__heap_current);
        memset(mine[i], 0xee, SIZE);
    }
    for (size_t i = 0; i < kept; i++)
        from_adopted += owner_of(blocks[i]) == sj__heap_current;
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK(heap->lists[c].slabs < slabs_before);
    CHECK(from_adopted > 0);
    CHECK(after.slabs - before.slabs <= 2);
    bool whole = true;
    for (size_t i = 0; i < kept; i++) {
        const unsigned char *bytes = blocks[i];
        whole &= bytes[0] == (2 * i + 1) % 251 + 1 && memcmp(bytes, bytes + 1, SIZE - 1) == 0;
    }
    CHECK(whole);
    for (size_t i = 0; i < freed_count; i++)
        sj_free(mine[i]);
    free_all(kept);
}

/* A thread that has read the old owner queues the slab there: the fold passes it on to the new one. */
static void heap_adopt__free_queued_with_the_old_owner_reaches_the_new_one(void)
{
    enum { SIZE = 600, COUNT = 200 };
    struct sj_heap *old = run_thread((struct errand){ .count = COUNT, .size_bytes = SIZE, .makes = true });
    void *moved = NULL; /* one of them, whose slab has come to this thread */
    for (unsigned i = 0; i < 1000 && moved == NULL; i++) {
        (void)sj_malloc(SIZE);
        for (unsigned j = 0; j < COUNT && moved == NULL; j++)
            if (owner_of(blocks[j]) == sj__heap_current) {
                moved = blocks[j];
                blocks[j] = NULL;
            }
    }
    REQUIRE(moved != NULL);
    struct sj_slab *slab = slab_of(moved);
    unsigned slot = sj_slot_of(slab->reciprocal, (size_t)((char *)moved - slab->base));
    uint64_t bit = (uint64_t)1 << (slot % SJ_WORD_BITS);
    (void)sj_fetch_or_acq_rel_u64(&slab->remote->bits[slot / SJ_WORD_BITS], bit);
    CHECK_EQ(sj_exchange_acq_rel_u32(&slab->remote->queued, 1), 0);
    sj_store_relaxed_ptr(&slab->remote->next, sj_load_relaxed_ptr(&old->queue));
    sj_store_release_ptr(&old->queue, slab);
    (void)sj_malloc_trim(0); /* folds the ended thread's heap, then this one's */
    CHECK((slab->planes[slot / SJ_WORD_BITS].live & bit) == 0);
    CHECK_EQ(sj_load_acquire_u64(&slab->remote->bits[slot / SJ_WORD_BITS]) & bit, 0);
    CHECK_EQ(sj_load_relaxed_u32(&slab->remote->queued), 0);
    free_all(COUNT);
}

/* Threads that only make and end, and a main thread that frees and allocates: nothing piles up. */
static void heap_adopt__consumer_of_ended_producers_piles_nothing_up(void)
{
    struct sj_stats early, late;
    for (unsigned i = 0; i < 60; i++) {
        (void)run_thread((struct errand){ .count = BLOCKS, .size_bytes = 300, .makes = true });
        free_all(BLOCKS);
        for (unsigned j = 0; j < 200; j++)
            sj_free(sj_malloc(300));
        CHECK_EQ(sj_stats_read(i == 5 ? &early : &late), 0);
    }
    CHECK(late.slab_bytes <= early.slab_bytes + (1 << 20));
    CHECK_EQ(late.window_bytes, early.window_bytes);
}

/* --- The end of a thread. --- */

static pthread_key_t late_key;
static unsigned late_calls; /* atomic */
static void *late_blocks[8];

/* A destructor of the program's that allocates and frees in every round, also after the heap is gone. */
static void use_late(void *argument)
{
    unsigned call = __atomic_fetch_add(&late_calls, 1, __ATOMIC_RELAXED);
    unsigned char *block = argument;
    CHECK_EQ(block[0], 7);
    sj_free(block);
    block = sj_malloc(70);
    if (!CHECK(block != NULL))
        return;
    block[0] = 7;
    late_blocks[call % 8] = block;
    void *calloced = sj_calloc(1, 3000);
    CHECK(calloced != NULL && *(char *)calloced == 0);
    sj_free(sj_realloc(calloced, 5000));
    (void)pthread_setspecific(late_key, block);
}

static void *run_late(void *argument)
{
    unsigned char *block = sj_malloc(70);
    (void)argument;
    if (CHECK(block != NULL))
        block[0] = 7;
    (void)pthread_setspecific(late_key, block);
    return NULL;
}

static void heap_adopt__destructors_allocate_and_free_in_every_round(void)
{
    pthread_t thread;
    struct sj_stats before, after;
    if (SJ_UNDER_TSAN)
        SKIP("ThreadSanitizer's own thread state is gone in the last round");
    REQUIRE(pthread_key_create(&late_key, use_late) == 0);
    CHECK_EQ(sj_stats_read(&before), 0);
    for (unsigned i = 0; i < 20; i++) {
        __atomic_store_n(&late_calls, 0, __ATOMIC_RELAXED);
        REQUIRE(pthread_create(&thread, NULL, run_late, NULL) == 0);
        (void)pthread_join(thread, NULL);
        unsigned calls = __atomic_load_n(&late_calls, __ATOMIC_RELAXED);
        CHECK(calls >= 4); /* PTHREAD_DESTRUCTOR_ITERATIONS */
        sj_free(late_blocks[(calls - 1) % 8]);
    }
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.live_bytes, before.live_bytes);
    CHECK(after.heaps <= before.heaps + 1);
    (void)pthread_key_delete(late_key);
}

/* --- Many at once. --- */

enum { STORM_THREADS = 4, STORM_LIVES = 25, STORM_BLOCKS = 256 };

static struct sj_atomic_ptr storm[STORM_BLOCKS];

static void *live_shortly(void *argument)
{
    uint64_t state = *(uint64_t *)argument;
    for (unsigned i = 0; i < 400; i++) {
        size_t size = 1 + unit_random_below(&state, (size_t)1 << (4 + unit_random_below(&state, 9)));
        unsigned char *block = sj_malloc(size);
        if (!CHECK(block != NULL && block[0] == 0 && block[size - 1] == 0))
            return NULL;
        memset(block, 0x77, size);
        sj_free(sj_exchange_acq_rel_ptr(&storm[unit_random_below(&state, STORM_BLOCKS)], block));
    }
    return NULL;
}

static void *start_lives(void *argument)
{
    uint64_t state = *(uint64_t *)argument;
    for (unsigned i = 0; i < STORM_LIVES; i++) {
        pthread_t thread;
        uint64_t seed = unit_random(&state);
        if (CHECK(pthread_create(&thread, NULL, live_shortly, &seed) == 0))
            (void)pthread_join(thread, NULL);
        if (i % 8 == 0)
            (void)sj_malloc_trim(0);
    }
    return NULL;
}

static void heap_adopt__storm_of_short_threads_loses_nothing(void)
{
    pthread_t threads[STORM_THREADS];
    uint64_t seeds[STORM_THREADS];
    struct sj_stats before, after;
    CHECK_EQ(sj_stats_read(&before), 0);
    for (unsigned i = 0; i < STORM_THREADS; i++) {
        seeds[i] = unit_state.seed + i;
        REQUIRE(pthread_create(&threads[i], NULL, start_lives, &seeds[i]) == 0);
    }
    for (unsigned i = 0; i < STORM_THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < STORM_BLOCKS; i++)
        sj_free(sj_exchange_acq_rel_ptr(&storm[i], NULL));
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.live_bytes, before.live_bytes);
    CHECK_EQ(after.allocations - before.allocations, STORM_THREADS * STORM_LIVES * 400);
    CHECK_EQ(after.frees - before.frees, STORM_THREADS * STORM_LIVES * 400);
    CHECK(after.heaps - before.heaps <= 2 * STORM_THREADS);
}

int main(int argc, char **argv)
{
    run_under(OPTIONS, argv);
    unit_begin(argc, argv);
    sj_free(sj_malloc(1)); /* the main thread has a heap */
    RUN(heap_adopt__heap_of_an_ended_thread_goes_to_the_next_one);
    RUN(heap_adopt__adopting_thread_frees_as_an_owner_does);
    RUN(heap_adopt__as_many_heaps_as_threads_at_a_time);
    RUN(heap_adopt__what_was_freed_for_a_thread_is_folded_when_it_ends);
    RUN(heap_adopt__running_thread_takes_partial_slabs_of_an_ended_one);
    RUN(heap_adopt__free_queued_with_the_old_owner_reaches_the_new_one);
    RUN(heap_adopt__consumer_of_ended_producers_piles_nothing_up);
    RUN(heap_adopt__destructors_allocate_and_free_in_every_round);
    RUN(heap_adopt__storm_of_short_threads_loses_nothing);
    return unit_end();
}
