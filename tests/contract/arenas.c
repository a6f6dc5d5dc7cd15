/* SPDX-License-Identifier: MIT */
/*
 * What: arenas and labels: the contract of each function, and that the books are exact.
 * Why this way: the books are compared with an oracle that counts every block by what malloc_usable_size allows, at levels without
 * canaries, or by what the books themselves said of a block when it was made.
 */
#include "scrubjay.h"
#include "unit/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

enum { BLOCKS = 400, STEPS = 20000, LABELS = 5, THREADS = 4, ROUNDS = 3000 };

static uint64_t draw(void)
{
    return unit_random(&unit_state.seed);
}

static const char *const label_names[LABELS] = { NULL, "parse", "cache", "net/in", "net/out" };

#define CHECK_TEXT(got, want) CHECK(strcmp((got), (want)) == 0)

static struct sj_account_stats account_of(const void *block)
{
    struct sj_account_stats stats;
    (void)sj_account_of(block, &stats);
    return stats;
}

/* The account of an arena and a label; all zero if there is none yet. */
static struct sj_account_stats account(const char *arena, const char *label)
{
    struct sj_account_stats stats;
    for (size_t i = 0; sj_account_read(i, &stats) == 0; i++)
        if (strcmp(stats.arena, arena) == 0 && strcmp(stats.label, label != NULL ? label : "") == 0)
            return stats;
    return (struct sj_account_stats){ 0 };
}

static struct sj_account_stats total(const struct sj_arena *arena)
{
    struct sj_account_stats stats = { 0 };
    CHECK_EQ(sj_arena_read(arena, &stats), 0);
    return stats;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static void arenas_create__says_what_is_wrong(void)
{
    static const char *const bad[] = { "level=7", "colour=red", "scrub=perhaps", "stats=on",
                                       "seed=1",  "live=off",   "limit_bytes=x" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        errno = 0;
        CHECK(sj_arena_create("bad", bad[i]) == NULL);
        CHECK_EQ(errno, EINVAL);
    }
    CHECK(sj_arena_create(NULL, NULL) == NULL && errno == EINVAL);
    CHECK(sj_arena_create("", NULL) == NULL && errno == EINVAL);
    struct sj_arena *arena = sj_arena_create("made of \"anything\", and much longer than a name that is kept", "");
    REQUIRE(arena != NULL);
    CHECK_TEXT(total(arena).arena, "made_of__anything___and_much_longer_than_a_name");
    sj_arena_destroy(arena);
    sj_arena_destroy(NULL);
}

static void arenas_malloc__gives_blocks_as_malloc_does(void)
{
    struct sj_arena *arena = sj_arena_create("contract", NULL);
    REQUIRE(arena != NULL);
    for (size_t size = 0; size < 200000; size += size / 3 + 1)
        for (size_t alignment = 1; alignment <= 65536; alignment *= 16) {
            char *block = sj_arena_aligned_alloc(arena, "aligned", alignment, size);
            REQUIRE(block != NULL);
            CHECK_EQ((uintptr_t)block % alignment, 0);
            CHECK(malloc_usable_size(block) >= size);
            memset(block, 1, malloc_usable_size(block));
            sj_arena_free(arena, block);
        }
    char *zeroes = sj_arena_calloc(arena, "zero", 50, 10);
    for (int i = 0; i < 500; i++)
        CHECK_EQ(zeroes[i], 0);
    void *nothing = sj_arena_malloc(arena, NULL, 0), *none = sj_arena_malloc(arena, NULL, 0);
    CHECK(nothing != NULL && nothing != none);
    free(nothing);
    free(none);
    errno = 0;
    CHECK(sj_arena_calloc(arena, NULL, SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
    CHECK(sj_arena_malloc(arena, NULL, SIZE_MAX) == NULL && errno == ENOMEM);
    CHECK(sj_arena_aligned_alloc(arena, NULL, 24, 8) == NULL && errno == EINVAL);
    errno = 5;
    sj_arena_free(arena, NULL);
    sj_arena_free(arena, zeroes);
    sj_arena_reset(arena);
    CHECK_EQ(errno, 5);
    CHECK_EQ(total(arena).live_blocks, 0);
    CHECK_EQ(total(arena).live_bytes, 0);
    sj_arena_destroy(arena);
}

/* ---- Policies ---------------------------------------------------------------------------------------------------- */

/* True if a byte of a freed block is still what was written. It may be read: small blocks never fault. */
static bool keeps_old_bytes(struct sj_arena *arena, bool by_plain_free)
{
    char *block = sj_arena_malloc(arena, NULL, 64);
    volatile const char *byte = block + 20;
    block[20] = 77;
    if (by_plain_free)
        free(block);
    else
        sj_arena_free(arena, block);
    return *byte == 77;
}

static void arenas_policy__is_the_arenas_own(void)
{
    struct sj_arena *internal = sj_arena_create("internal", "level=0");
    struct sj_arena *client = sj_arena_create("client", "level=3");
    REQUIRE(internal != NULL && client != NULL);
    for (int plain = 0; plain < 2; plain++) {
        CHECK(keeps_old_bytes(internal, plain != 0));
        CHECK(!keeps_old_bytes(client, plain != 0));
    }
    char *exact = sj_arena_malloc(client, NULL, 100);
    char *loose = sj_arena_malloc(internal, NULL, 100);
    CHECK(malloc_usable_size(exact) < malloc_usable_size(loose) + 8 && malloc_usable_size(exact) % 16 == 8);
    CHECK_EQ(malloc_usable_size(loose) % 16, 0);
    exact = realloc(exact, 104); /* the same slot, whose canary moves or stays */
    free(exact);
    sj_arena_destroy(client);
    sj_arena_destroy(internal);
}

/* ---- Books ------------------------------------------------------------------------------------------------------- */

struct oracle {
    uint64_t live_bytes, live_blocks, peak_bytes, allocated_blocks;
};

struct held {
    void *block;
    unsigned label;
    size_t bytes;
};

static void gain(struct oracle *oracle, size_t bytes)
{
    oracle->live_bytes += bytes;
    if (oracle->live_bytes > oracle->peak_bytes)
        oracle->peak_bytes = oracle->live_bytes;
}

static void make(struct sj_arena *arena, struct held *held, struct oracle *oracle, size_t size)
{
    uint64_t before = total(arena).live_bytes;
    held->label = (unsigned)(draw() % LABELS);
    held->block = sj_arena_malloc(arena, label_names[held->label], size);
    REQUIRE(held->block != NULL);
    held->bytes = (size_t)(total(arena).live_bytes - before);
    CHECK(held->bytes >= malloc_usable_size(held->block) && held->bytes < size + size / 4 + 8192);
    gain(&oracle[held->label], held->bytes);
    oracle[held->label].live_blocks++;
    oracle[held->label].allocated_blocks++;
}

static void drop(struct sj_arena *arena, struct held *held, struct oracle *oracle)
{
    if (draw() % 2 == 0)
        free(held->block);
    else
        sj_arena_free(arena, held->block);
    oracle[held->label].live_bytes -= held->bytes;
    oracle[held->label].live_blocks--;
    held->block = NULL;
}

/* realloc moves a block, or changes it where it is, but not its label; what it counts for after is what the arena's total says. */
static void resize(struct sj_arena *arena, struct held *held, struct oracle *oracle, size_t size)
{
    struct oracle *mine = &oracle[held->label];
    uint64_t rest = total(arena).live_bytes - held->bytes;
    uint64_t made = total(arena).allocated_blocks;
    void *block = draw() % 2 == 0 ? realloc(held->block, size) : sj_arena_realloc(arena, "other", held->block, size);
    REQUIRE(block != NULL);
    size_t bytes = (size_t)(total(arena).live_bytes - rest);
    bool was_copied = total(arena).allocated_blocks != made;
    if (was_copied) { /* for a moment both are live */
        gain(mine, bytes);
        mine->live_bytes -= held->bytes;
        mine->allocated_blocks++;
    } else {
        mine->live_bytes -= held->bytes;
        gain(mine, bytes);
    }
    held->block = block;
    held->bytes = bytes;
}

static size_t random_size(void)
{
    uint64_t kind = draw() % 20;
    return (size_t)(kind == 0 ? draw() % 300000 : kind < 4 ? draw() % 20000 : draw() % 300) + 1;
}

static void arenas_books__are_exact_for_each_label(void)
{
    static struct held held[BLOCKS];
    struct oracle oracle[LABELS] = { { 0 } };
    struct sj_arena *arena = sj_arena_create("books", NULL);
    REQUIRE(arena != NULL);
    for (int step = 0; step < STEPS; step++) {
        struct held *one = &held[draw() % BLOCKS];
        if (one->block == NULL)
            make(arena, one, oracle, random_size());
        else if (draw() % 3 == 0)
            resize(arena, one, oracle, random_size());
        else
            drop(arena, one, oracle);
    }
    for (unsigned i = 0; i < LABELS; i++) {
        struct sj_account_stats stats = account("books", label_names[i]);
        CHECK_EQ(stats.live_bytes, oracle[i].live_bytes);
        CHECK_EQ(stats.live_blocks, oracle[i].live_blocks);
        CHECK_EQ(stats.peak_bytes, oracle[i].peak_bytes);
        CHECK_EQ(stats.allocated_blocks, oracle[i].allocated_blocks);
    }
    CHECK_EQ(account("books", "other").allocated_blocks, 0);
    for (int i = 0; i < BLOCKS; i++)
        if (held[i].block != NULL) {
            CHECK_TEXT(account_of(held[i].block).arena, "books");
            CHECK_TEXT(account_of(held[i].block).label,
                       label_names[held[i].label] != NULL ? label_names[held[i].label] : "");
        }
    CHECK_EQ(sj_check(0), 1);
    sj_arena_reset(arena);
    for (unsigned i = 0; i < LABELS; i++)
        CHECK_EQ(account("books", label_names[i]).live_bytes + account("books", label_names[i]).live_blocks, 0);
    CHECK_EQ(total(arena).live_bytes, 0);
    sj_arena_destroy(arena);
    CHECK_EQ(sj_check(0), 1);
}

static void arenas_limit__holds_and_frees_make_room(void)
{
    struct sj_arena *arena = sj_arena_create("limited", "limit_bytes=256k");
    REQUIRE(arena != NULL);
    CHECK_EQ(total(arena).limit_bytes, 256 << 10);
    void *first = sj_arena_malloc(arena, NULL, 1000), *block = first;
    for (int i = 0; block != NULL && i < 10000; i++) {
        CHECK(total(arena).live_bytes <= 256 << 10);
        errno = 0;
        block = sj_arena_malloc(arena, NULL, 1000);
    }
    CHECK(block == NULL && errno == ENOMEM);
    CHECK(total(arena).live_bytes > 250 << 10);
    CHECK(sj_arena_malloc(arena, NULL, 300 << 10) == NULL && errno == ENOMEM);
    CHECK(realloc(first, 5000) == NULL && errno == ENOMEM);
    sj_arena_free(arena, first);
    CHECK(sj_arena_malloc(arena, NULL, 1000) != NULL);
    CHECK(sj_arena_malloc(arena, NULL, 1000) == NULL);
    sj_arena_reset(arena);
    char *large = sj_arena_malloc(arena, NULL, 100 << 10);
    REQUIRE(large != NULL);
    CHECK(realloc(large, 300 << 10) == NULL && errno == ENOMEM);
    large = realloc(large, 200 << 10);
    REQUIRE(large != NULL);
    CHECK(total(arena).live_bytes >= 200 << 10 && total(arena).live_bytes < 212 << 10);
    sj_arena_destroy(arena);
}

/* At level 3 large blocks begin within a page, to end at their guard. */
static void arenas_limit__holds_whatever_is_resized(void)
{
    enum { RESIZED = 8, TURNS = 2000, LIMIT = 1 << 20 };
    char options[64];
    for (unsigned level = 0; level <= 4; level++) {
        void *blocks[RESIZED] = { NULL };
        uint64_t random = unit_state.seed;
        (void)snprintf(options, sizeof options, "level=%u,limit_bytes=1m", level);
        struct sj_arena *arena = sj_arena_create("resized", options);
        REQUIRE(arena != NULL);
        for (unsigned i = 0; i < TURNS; i++) {
            void **block = &blocks[unit_random_below(&random, RESIZED)];
            void *resized = sj_arena_realloc(arena, NULL, *block, 33000 + unit_random_below(&random, 300000));
            *block = resized != NULL ? resized : *block;
            if (!CHECK(total(arena).live_bytes <= LIMIT))
                break;
        }
        sj_arena_destroy(arena);
    }
}

static void arenas_ledger__adds_up_with_mixed_policies(void)
{
    struct sj_stats stats;
    if (sj_stats_read(&stats) != 0 || stats.level < 2) /* without scrub nothing is promised */
        SKIP("needs a level that scrubs");
    for (int round = 0; round < 20; round++) {
        struct sj_arena *off = sj_arena_create("off", "level=0"), *on = sj_arena_create("on", "level=3");
        REQUIRE(off != NULL && on != NULL);
        for (int i = 0; i < 2000; i++) {
            void *a = sj_arena_malloc(off, NULL, 1 + (size_t)i % 700),
                 *b = sj_arena_malloc(on, NULL, 1 + (size_t)i % 700);
            if (i % 3 == 0)
                free(a);
            if (i % 5 == 0)
                free(b);
        }
        sj_arena_destroy(off);
        sj_arena_destroy(on);
    }
    CHECK_EQ(sj_stats_read(&stats), 0);
    CHECK(stats.forgone_bytes > 0);
    CHECK_EQ(stats.freed_bytes, stats.scrubbed_at_free + stats.scrubbed_at_reuse + stats.scrubbed_by_kernel +
                                    stats.owed_bytes + stats.forgone_bytes);
}

/* ---- Labels ------------------------------------------------------------------------------------------------------ */

static void *free_elsewhere(void *block)
{
    free(block);
    CHECK(account_of(malloc(10)).live_blocks == 0); /* the label is the other thread's */
    return NULL;
}

static void arenas_label__counts_what_the_thread_gets_from_malloc(void)
{
    pthread_t thread;
    void *before = malloc(100);
    CHECK_EQ(sj_label_push("outer"), 0);
    char *outer = malloc(100);
    CHECK_EQ(sj_label_push("inner"), 0);
    char *inner = calloc(10, 10);
    char *large = malloc(1 << 20);
    free(before); /* the thread's own, from before */
    outer = realloc(outer, 3000);
    sj_label_pop();
    char *again = strdup("outer again");
    CHECK_TEXT(account_of(outer).label, "outer");
    CHECK_TEXT(account_of(inner + 50).label, "inner");
    CHECK_TEXT(account_of(large + 70000).label, "inner");
    CHECK_TEXT(account_of(again).label, "outer");
    CHECK_TEXT(account_of(again).arena, "");
    CHECK_EQ(account("", "inner").live_blocks, 2);
    CHECK_EQ(account("", "outer").live_blocks, 2);
    struct sj_arena *arena = sj_arena_create("of labels", NULL);
    CHECK_TEXT(account_of(sj_arena_malloc(arena, NULL, 10)).label, "outer");
    sj_arena_destroy(arena);
    sj_label_pop();
    sj_label_pop();                                                    /* one too many: nothing */
    CHECK_EQ(pthread_create(&thread, NULL, free_elsewhere, inner), 0); /* which allocates */
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(account("", "inner").live_blocks, 1);
    void *after = malloc(100);
    CHECK_EQ(account_of(after).live_blocks, 0);
    free(after);
    free(outer);
    free(large);
    free(again);
    CHECK_EQ(account("", "inner").live_bytes + account("", "outer").live_bytes, 0);
}

static void arenas_label__nests_deeper_than_is_kept(void)
{
    char name[16];
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof name, "deep%d", i);
        CHECK_EQ(sj_label_push(name), 0);
    }
    void *block = malloc(10);
    CHECK_TEXT(account_of(block).label, "deep31");
    free(block);
    for (int i = 50; i-- > 0;) {
        block = malloc(10);
        (void)snprintf(name, sizeof name, "deep%d", i < 31 ? i : 31);
        CHECK_TEXT(account_of(block).label, name);
        free(block);
        sj_label_pop();
    }
}

/* ---- Threads and fork -------------------------------------------------------------------------------------------- */

static struct sj_arena *shared_arena;
static void *exchange[64]; /* atomic */

static void *churn(void *argument)
{
    uint64_t state = (uintptr_t)argument * 0x9e3779b97f4a7c15u + 1;
    bool is_labelled = (uintptr_t)argument % 2 != 0;
    if (is_labelled)
        (void)sj_label_push("churn");
    for (int round = 0; round < ROUNDS; round++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t size = (size_t)(state >> 33) % (round % 50 == 0 ? 100000 : 500);
        void *block = round % 3 == 0 ? malloc(size) : sj_arena_malloc(shared_arena, "threads", size);
        if (block != NULL && size > 0)
            memset(block, 5, size);
        free(__atomic_exchange_n(&exchange[(state >> 20) % 64], block, __ATOMIC_ACQ_REL));
    }
    return NULL; /* with its label in force */
}

static void arenas_threads__share_arenas_and_labels(void)
{
    pthread_t threads[THREADS];
    shared_arena = sj_arena_create("shared", "level=3");
    REQUIRE(shared_arena != NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < 64; i++)
        free(exchange[i]);
    CHECK_EQ(total(shared_arena).live_blocks + total(shared_arena).live_bytes, 0);
    CHECK_EQ(total(shared_arena).allocated_blocks, (uint64_t)THREADS * (ROUNDS - ROUNDS / 3));
    CHECK_EQ(account("", "churn").live_bytes, 0);
    CHECK_EQ(account("", "churn").allocated_blocks, (uint64_t)THREADS / 2 * (ROUNDS / 3));
    CHECK_EQ(sj_check(0), 1);
    sj_arena_destroy(shared_arena);
}

static void arenas_fork__leaves_them_usable(void)
{
    struct sj_arena *arena = sj_arena_create("forked", NULL);
    REQUIRE(arena != NULL);
    void *block = sj_arena_malloc(arena, "before", 100);
    (void)sj_label_push("at fork");
    pid_t child = fork();
    if (child == 0) {
        void *labelled = malloc(10);
        bool good = strcmp(account_of(labelled).label, "at_fork") == 0 && total(arena).live_blocks == 1;
        sj_arena_free(arena, block);
        good = good && sj_arena_malloc(arena, "after", 100000) != NULL && sj_arena_malloc(arena, "after", 10) != NULL;
        sj_arena_destroy(arena);
        sj_label_pop();
        free(labelled);
        _exit(good && sj_check(0) == 1 ? 0 : 1);
    }
    sj_label_pop();
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(total(arena).live_blocks, 1);
    sj_arena_destroy(arena);
}

static void arenas_many__come_and_go_without_growth(void)
{
    struct sj_stats before, after;
    for (int i = 0; i < 300; i++) {
        struct sj_arena *arena = sj_arena_create(i % 2 == 0 ? "even" : "odd", i % 3 == 0 ? "level=0" : "level=4");
        REQUIRE(arena != NULL);
        for (size_t size = 10; size < 100000; size *= 3)
            memset(sj_arena_malloc(arena, "many", size), 1, size);
        sj_arena_destroy(arena);
        if (i == 100)
            CHECK_EQ(sj_stats_read(&before), 0);
    }
    CHECK_EQ(sj_stats_read(&after), 0);
    CHECK_EQ(after.live_bytes, before.live_bytes);
    CHECK_EQ(after.heaps, before.heaps);
    CHECK(after.metadata_bytes <= before.metadata_bytes + 65536);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(arenas_create__says_what_is_wrong);
    RUN(arenas_malloc__gives_blocks_as_malloc_does);
    RUN(arenas_policy__is_the_arenas_own);
    RUN(arenas_books__are_exact_for_each_label);
    RUN(arenas_limit__holds_and_frees_make_room);
    RUN(arenas_limit__holds_whatever_is_resized);
    RUN(arenas_ledger__adds_up_with_mixed_policies);
    RUN(arenas_label__counts_what_the_thread_gets_from_malloc);
    RUN(arenas_label__nests_deeper_than_is_kept);
    RUN(arenas_threads__share_arenas_and_labels);
    RUN(arenas_fork__leaves_them_usable);
    RUN(arenas_many__come_and_go_without_growth);
    return unit_end();
}
