/* SPDX-License-Identifier: MIT */
/*
 * What: the level raised while the program runs, by sj_ctl: what holds at once, what is refused, threads meanwhile.
 * Why this way: a raise can't be undone, so each test is a child process that starts at the level of the environment. ctest
 * runs it at several; what needs scrub to be off first is left out at those where it is on.
 */
#include "scrubjay.h"
#include "unit/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { LEVEL_MAX = 4, THREADS = 3, BLOCKS = 200, SECONDS_MOST = 60 };

static unsigned level_now(void)
{
    char text[16] = "";
    CHECK_EQ(sj_ctl("level", NULL, text, sizeof text), 0);
    return (unsigned)strtoul(text, NULL, 10);
}

static int raise_to(unsigned level)
{
    const char text[] = { (char)('0' + level), '\0' };
    return sj_ctl("level", text, NULL, 0);
}

static void in_child(void (*test)(void))
{
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_MOST);
        test();
        _exit((int)unit_failed());
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Sizes of every kind of scrub: inline, at free, at reuse, large. */
static const size_t sizes[] = { 16, 48, 128, 256, 320, 1000, 5000, 30000, 40000, 300000, 3000000 };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Leaves old bytes in all that this thread will get next. */
static void make_dirty(void)
{
    static _Thread_local void *blocks[BLOCKS];
    for (size_t s = 0; s < SIZES; s++) {
        size_t count = sizes[s] > 4096 ? 3 : BLOCKS;
        for (size_t i = 0; i < count; i++) {
            blocks[i] = malloc(sizes[s]);
            if (CHECK(blocks[i] != NULL))
                memset(blocks[i], 0xee, sizes[s]);
        }
        for (size_t i = 0; i < count; i++)
            free(blocks[i]);
    }
}

/* `kind` is the call that comes first: each of them must see to it by itself. */
static unsigned char *allocate(size_t kind, size_t size)
{
    return kind % 3 == 0 ? malloc(size) : kind % 3 == 1 ? realloc(NULL, size) : aligned_alloc(16, size);
}

static void check_clean(size_t kind)
{
    static _Thread_local unsigned char *blocks[BLOCKS];
    for (size_t s = 0; s < SIZES; s++) {
        size_t count = sizes[s] > 4096 ? 3 : BLOCKS;
        for (size_t i = 0; i < count; i++) {
            blocks[i] = allocate(kind + i, sizes[s]);
            if (!CHECK(blocks[i] != NULL && is_zero(blocks[i], sizes[s])))
                unit_print("# size %zu, block %zu is not clean\n", sizes[s], i);
        }
        for (size_t i = 0; i < count; i++)
            free(blocks[i]);
    }
}

static void refuse(void)
{
    unsigned level = level_now();
    if (level > 0) {
        errno = 0;
        CHECK(raise_to(level - 1) == -1 && errno == EPERM);
    }
    CHECK_EQ(raise_to(level), 0);
    errno = 0;
    CHECK(sj_ctl("level", "9", NULL, 0) == -1 && errno == EINVAL);
    CHECK_EQ(level_now(), level);
}

static void raise_ctl__refuses_what_would_lower(void)
{
    in_child(refuse);
}

static void climb(void)
{
    char text[512];
    for (unsigned level = level_now() + 1; level <= LEVEL_MAX; level++) {
        make_dirty();
        CHECK_EQ(raise_to(level), 0);
        CHECK_EQ(level_now(), level);
        sj_policy_text(text, sizeof text);
        const char wanted[] = { 'l', 'e', 'v', 'e', 'l', '=', (char)('0' + level), ',', '\0' };
        CHECK(strstr(text, wanted) == text);
        if (level >= 2)
            check_clean(0);
        void *block = malloc(100);
        free(block);
        CHECK_EQ(sj_object_bounds(block, NULL, NULL), 0);
    }
}

static void raise_climb__is_clean_from_the_first_block_on(void)
{
    in_child(climb);
}

/* Blocks made before are freed, resized and measured after. */
static void carry_over(void)
{
    enum { COUNT = 2000 };
    static unsigned char *blocks[COUNT];
    static size_t kept[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        kept[i] = i % 50 == 0 ? 40000 + i * 300 : 1 + i * 37 % 3000;
        blocks[i] = malloc(kept[i]);
        REQUIRE(blocks[i] != NULL);
        memset(blocks[i], (int)(i & 0xff), kept[i]);
    }
    if (level_now() < LEVEL_MAX)
        CHECK_EQ(raise_to(LEVEL_MAX), 0);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(malloc_usable_size(blocks[i]) >= kept[i]);
        size_t size = i % 3 == 0 ? kept[i] * 2 : kept[i] / 2 + 1;
        if (i % 5 == 0)
            blocks[i] = realloc(blocks[i], size);
        REQUIRE(blocks[i] != NULL);
        size_t same = i % 5 == 0 && size < kept[i] ? size : kept[i];
        for (size_t k = 0; k < same; k++)
            if (!CHECK(blocks[i][k] == (unsigned char)i))
                break;
        free(blocks[i]);
    }
}

static void raise_blocks__made_before_serve_on(void)
{
    in_child(carry_over);
}

/* Of the last of these; one may be sampled, and then has as many as were asked for. */
static size_t most_usable(unsigned char **blocks, size_t count)
{
    size_t most = 0;
    for (size_t i = count - 10; i < count; i++) {
        size_t usable = malloc_usable_size(blocks[i]);
        most = usable > most ? usable : most;
    }
    return most;
}

/* Slabs from before have no canaries, later ones those of the level they were opened at; all blocks are filled to the brim. */
static void canaries(void)
{
    enum { STEPS = 3, SIZE = 41, EACH = 5000 };
    static unsigned char *blocks[STEPS][EACH];
    unsigned start = level_now();
    for (unsigned step = 0; step < STEPS; step++) {
        if (step > 0 && level_now() < step + 2)
            CHECK_EQ(raise_to(step + 2), 0);
        for (size_t i = 0; i < EACH; i++) {
            unsigned char *block = malloc(SIZE);
            REQUIRE(block != NULL);
            memset(block, 0xff, malloc_usable_size(block));
            blocks[step][i] = block;
        }
    }
    if (start < 3)
        CHECK_EQ(most_usable(blocks[0], EACH), 48);
    if (start < 4)
        CHECK_EQ(most_usable(blocks[1], EACH), 56);
    CHECK_EQ(most_usable(blocks[2], EACH), SIZE);
    for (unsigned step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < EACH; i++) {
            if (i % 2 == 0)
                blocks[step][i] = realloc(blocks[step][i], SIZE + i % 16);
            memset(blocks[step][i], 0xee, malloc_usable_size(blocks[step][i]));
            free(blocks[step][i]);
        }
    }
}

static void raise_canaries__are_those_of_the_level_a_slab_was_opened_at(void)
{
    in_child(canaries);
}

static void raise_0_to_2(void)
{
    struct sj_stats stats;
    make_dirty();
    CHECK_EQ(raise_to(2), 0);
    for (int i = 0; i < 5; i++) {
        make_dirty();
        CHECK_EQ(sj_stats_read(&stats), 0);
        CHECK_EQ(stats.freed_bytes, stats.scrubbed_at_free + stats.scrubbed_at_reuse + stats.scrubbed_by_kernel +
                                        stats.owed_bytes + stats.forgone_bytes);
        CHECK(stats.scrubbed_at_free > 0);
    }
    CHECK_EQ(stats.level, 2);
}

static void raise_ledger__adds_up(void)
{
    if (level_now() > 1)
        SKIP("it starts with scrub on");
    in_child(raise_0_to_2);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static atomic_uint ready, raised, stop;

static void *check_after_raise(void *argument)
{
    make_dirty();
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&raised) == 0)
        ;
    check_clean((size_t)(uintptr_t)argument);
    return argument;
}

static void raise_under_threads(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, check_after_raise, (void *)i) == 0);
    while (atomic_load(&ready) < THREADS)
        ;
    if (level_now() < 2)
        CHECK_EQ(raise_to(2), 0);
    atomic_store(&raised, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void raise_threads__get_clean_blocks_at_once(void)
{
    in_child(raise_under_threads);
}

enum { SHELVES = 512 };
static _Atomic(unsigned char *) shelves[SHELVES]; /* blocks that go from thread to thread */

static void fill(unsigned char *block, size_t size, unsigned char byte)
{
    block[0] = byte;
    memset(block + 1, byte, size - 1);
}

extern void *_Znwm(size_t);
extern void *_Znam(size_t);
extern void _ZdlPv(void *);
extern void _ZdaPv(void *);

/* A shelf has blocks of one family of functions: malloc's, new's or new[]'s. */
static unsigned char *make(size_t shelf, size_t size)
{
    return shelf % 3 == 0 ? malloc(size) : shelf % 3 == 1 ? _Znwm(size) : _Znam(size);
}

static void give_back(size_t shelf, unsigned char *block)
{
    void (*const givers[])(void *) = { free, _ZdlPv, _ZdaPv };
    givers[shelf % 3](block);
}

/* Puts blocks on shelves and frees what others have put there, so that frees are local and remote. Each block begins with its
 * byte, repeated in the next. */
static void *trade(void *argument)
{
    uint64_t random = (uintptr_t)argument * 0x9e3779b97f4a7c15u + 1;
    while (atomic_load(&stop) == 0) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t size = random >> 60 == 0 ? 33000 + (random >> 40) % 200000 : 2 + (random >> 40) % 900;
        size_t shelf = (random >> 50) % SHELVES;
        bool zeroed = shelf % 3 == 0 && (random >> 30 & 1) != 0;
        unsigned char *block = zeroed ? calloc(1, size) : make(shelf, size);
        if (!CHECK(block != NULL))
            break;
        if (zeroed && !CHECK(is_zero(block, size)))
            break;
        fill(block, size, (unsigned char)(random >> 33));
        if (shelf % 3 == 0 && (random >> 20 & 7) == 0) {
            block = realloc(block, size + 100);
            if (!CHECK(block != NULL))
                break;
        }
        unsigned char *other = atomic_exchange(&shelves[shelf], block);
        if (other != NULL && !CHECK(other[0] == other[1]))
            break;
        give_back(shelf, other);
    }
    return argument;
}

static void raise_under_load(void)
{
    pthread_t threads[THREADS];
    struct timespec pause = { .tv_nsec = 60000000 };
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, trade, (void *)(i + 1)) == 0);
    for (unsigned level = level_now() + 1; level <= LEVEL_MAX; level++) {
        nanosleep(&pause, NULL);
        CHECK_EQ(raise_to(level), 0);
    }
    nanosleep(&pause, NULL);
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < SHELVES; i++)
        give_back(i, shelves[i]);
    check_clean(0);
}

static void raise_threads__trade_blocks_through_it(void)
{
    in_child(raise_under_load);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    if (sj_policy_text(NULL, 0) == 0)
        return 77;
    RUN(raise_ctl__refuses_what_would_lower);
    RUN(raise_climb__is_clean_from_the_first_block_on);
    RUN(raise_blocks__made_before_serve_on);
    RUN(raise_canaries__are_those_of_the_level_a_slab_was_opened_at);
    RUN(raise_ledger__adds_up);
    RUN(raise_threads__get_clean_blocks_at_once);
    RUN(raise_threads__trade_blocks_through_it);
    return unit_end();
}
