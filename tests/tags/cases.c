/* SPDX-License-Identifier: MIT */
/*
 * What: the misuse that tags find, each in a process of its own, and what a program may do, which they must not find.
 * Why this way: a case is chosen by the first argument; run.sh knows what each must say. Every misuse has a twin, which does the
 * same within its bounds and must end with status 0. Options are those of the environment.
 */
#include <malloc.h>
#include <pthread.h>
#include <scrubjay.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL = 48, MIDDLE = 3000, LARGE = 200000, HUGE_BYTES = 8 << 20, BLOCKS = 4000, THREADS = 4, ROUNDS = 3000 };

static char *volatile keep; /* what the compiler may not follow */
static volatile char sink;

static char *make(size_t bytes)
{
    keep = malloc(bytes);
    if (keep == NULL)
        exit(3);
    memset(keep, 1, bytes);
    return keep;
}

static unsigned tag_of(const void *pointer)
{
    return (unsigned)((uintptr_t)pointer >> 56) & 15;
}

static uintptr_t address_of(const void *pointer)
{
    return (uintptr_t)pointer & (UINTPTR_MAX >> 8);
}

/* Two neighbours, both live: the first of many blocks that has one right behind it. */
static char *make_neighbours(char **behind)
{
    static char *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = make(SMALL);
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t j = 0; j < BLOCKS; j++) {
            size_t apart = address_of(blocks[j]) - address_of(blocks[i]);
            if (apart >= SMALL && apart < 2 * SMALL) {
                *behind = blocks[j];
                return blocks[i];
            }
        }
    exit(3);
}

static int overflow(int bad)
{
    char *behind, *block = make_neighbours(&behind);
    keep = block;
    keep[bad ? address_of(behind) - address_of(block) : SMALL - 1] = 2;
    return 0;
}

static int overread(int bad)
{
    char *behind, *block = make_neighbours(&behind);
    keep = block;
    sink = keep[bad ? address_of(behind) - address_of(block) : SMALL - 1];
    return 0;
}

static int underflow(int bad)
{
    char *behind;
    (void)make_neighbours(&behind);
    keep = behind;
    keep[bad ? -1 - (int)(malloc_usable_size(behind) - SMALL) - 16 : 0] = 2;
    return 0;
}

/* The compiler must not see the free. */
static void give(void *block)
{
    void (*volatile free_it)(void *) = free;
    free_it(block);
}

static int write_freed(int bad)
{
    char *block = make(SMALL);
    if (bad)
        give(block);
    keep = block;
    keep[8] = 2;
    return 0;
}

static int read_freed(int bad)
{
    char *block = make(MIDDLE);
    if (bad)
        give(block);
    keep = block;
    sink = keep[MIDDLE - 1];
    return 0;
}

/* Frees a block, and returns the next one in its slot; others are freed meanwhile, so that a quarantine lets it out. */
static char *make_again(char *old)
{
    give(old);
    for (size_t i = 0; i < 200000; i++) {
        char *block = make(SMALL);
        if (address_of(block) == address_of(old))
            return block;
        if (i % 2 != 0)
            give(block);
    }
    exit(3);
}

/* The slot has its next block. */
static int read_reused(int bad)
{
    char *old = make(SMALL), *block = make_again(old);
    keep = bad ? old : block;
    sink = keep[0];
    return 0;
}

static int free_twice(int bad)
{
    char *block = make(SMALL);
    give(block);
    if (bad)
        give(block);
    return 0;
}

/* A second free that would take the next block with it. */
static int free_reused(int bad)
{
    char *old = make(SMALL), *block = make_again(old);
    give(bad ? old : block);
    return 0;
}

static int realloc_freed(int bad)
{
    void *(*volatile resize)(void *, size_t) = realloc;
    char *block = make(SMALL);
    if (bad)
        give(block);
    keep = resize(block, MIDDLE);
    return keep == NULL;
}

static int write_moved(int bad)
{
    void *(*volatile resize)(void *, size_t) = realloc;
    char *block = make(SMALL), *moved = resize(block, MIDDLE);
    if (moved == NULL || moved[SMALL - 1] != 1)
        return 3;
    keep = bad ? block : moved;
    keep[0] = 2;
    return 0;
}

static int large_overflow(int bad)
{
    char *block = make(LARGE);
    keep = block;
    keep[bad ? malloc_usable_size(block) : LARGE - 1] = 2;
    return 0;
}

static int large_underflow(int bad)
{
    keep = make(LARGE);
    keep[bad ? -1 : 0] = 2;
    return 0;
}

static int large_freed(int bad)
{
    char *block = make(LARGE);
    if (bad)
        give(block);
    keep = block;
    keep[100] = 2;
    return 0;
}

static int huge_freed(int bad)
{
    char *block = make(HUGE_BYTES);
    if (bad)
        give(block);
    keep = block;
    keep[HUGE_BYTES / 2] = 2;
    return 0;
}

static int huge_overflow(int bad)
{
    char *block = make(HUGE_BYTES);
    keep = block;
    keep[bad ? malloc_usable_size(block) : HUGE_BYTES - 1] = 2;
    return 0;
}

static int arena_freed(int bad)
{
    struct sj_arena *arena = sj_arena_create("tags", "");
    char *block = arena != NULL ? sj_arena_malloc(arena, NULL, SMALL) : NULL;
    if (block == NULL)
        return 3;
    memset(block, 1, SMALL);
    block = sj_arena_realloc(arena, NULL, block, MIDDLE);
    if (block == NULL || block[SMALL - 1] != 1)
        return 3;
    block[MIDDLE - 1] = 1;
    if (bad)
        sj_arena_reset(arena);
    keep = block;
    keep[8] = 2;
    return 0;
}

static void *freed_by_another(void *block)
{
    give(block);
    return NULL;
}

static int thread_freed(int bad)
{
    pthread_t thread;
    char *block = make(SMALL), *other = make(SMALL);
    if (pthread_create(&thread, NULL, freed_by_another, bad ? block : other) != 0)
        return 3;
    (void)pthread_join(thread, NULL);
    keep = block;
    keep[0] = 2;
    return 0;
}

static void *write_there(void *block)
{
    *(volatile char *)block = 2;
    return NULL;
}

static int thread_writes(int bad)
{
    pthread_t thread;
    char *block = make(SMALL);
    if (bad)
        give(block);
    if (pthread_create(&thread, NULL, write_there, block) != 0)
        return 3;
    (void)pthread_join(thread, NULL);
    return 0;
}

static int child_writes(int bad)
{
    char *block = make(SMALL);
    if (bad)
        give(block);
    pid_t child = fork();
    if (child == 0) {
        keep = malloc(SMALL);
        *(volatile char *)block = 2;
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 3;
    if (WIFSIGNALED(status)) {
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

static void own_handler(int number, siginfo_t *info, void *context)
{
    (void)context;
    _exit(number == SIGSEGV && info->si_code == SEGV_ACCERR ? 0 : 4);
}

/* A program's own fault goes to its handler, as ever; with `bad` it is a fault of tags, which is reported before that. */
static int handler(int bad)
{
    struct sigaction ours = { .sa_sigaction = own_handler, .sa_flags = SA_SIGINFO };
    volatile char *target = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bad)
        return write_freed(bad);
    (void)sigemptyset(&ours.sa_mask);
    if (sigaction(SIGSEGV, &ours, NULL) != 0)
        return 3;
    *target = 1;
    return 3;
}

/* ---- What a program may do --------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static size_t some_size(uint64_t *state)
{
    switch (next_random(state) % 40) {
    case 0: return next_random(state) % (3 << 20);
    case 1:
    case 2: return next_random(state) % 200000;
    case 3:
    case 4:
    case 5: return next_random(state) % 30000;
    default: return next_random(state) % 600;
    }
}

static int fill(unsigned char *block, size_t bytes, unsigned char with)
{
    if (bytes > 0)
        memset(block, with, bytes);
    return block != NULL || bytes == 0;
}

static int holds(const unsigned char *block, size_t bytes, unsigned char with)
{
    for (size_t i = 0; i < bytes; i += bytes / 64 + 1)
        if (block[i] != with)
            return 0;
    return bytes == 0 || block[bytes - 1] == with;
}

/* Random calls of all kinds over a table of blocks, each filled to its usable end. */
static void *churn(void *argument)
{
    enum { HELD = 64 };
    unsigned char *blocks[HELD] = { 0 };
    size_t sizes[HELD] = { 0 };
    uint64_t state = (uintptr_t)argument;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned)(next_random(&state) % HELD);
        unsigned char with = (unsigned char)i;
        if (blocks[i] != NULL && !holds(blocks[i], sizes[i], with))
            return (void *)1;
        size_t bytes = some_size(&state);
        unsigned what = (unsigned)(next_random(&state) % 8);
        if (what < 3) {
            free(blocks[i]);
            blocks[i] = malloc(bytes);
        } else if (what == 3) {
            free(blocks[i]);
            blocks[i] = calloc(1, bytes);
            if (blocks[i] == NULL || !holds(blocks[i], bytes, 0))
                return (void *)2;
        } else if (what == 4) {
            free(blocks[i]);
            blocks[i] = memalign((size_t)16 << next_random(&state) % 10, bytes);
        } else {
            size_t before = sizes[i] < bytes ? sizes[i] : bytes;
            unsigned char *resized = realloc(blocks[i], bytes);
            if (bytes == 0 && blocks[i] != NULL) {
                blocks[i] = NULL;
                sizes[i] = 0;
                continue;
            }
            blocks[i] = resized;
            if (resized == NULL || !holds(resized, before, with))
                return (void *)3;
        }
        if (blocks[i] == NULL)
            return (void *)4;
        sizes[i] = malloc_usable_size(blocks[i]);
        if (sizes[i] < bytes || !fill(blocks[i], sizes[i], with))
            return (void *)5;
    }
    for (unsigned i = 0; i < HELD; i++)
        free(blocks[i]);
    return NULL;
}

static int churn_many(int bad)
{
    pthread_t threads[THREADS];
    int failed = 0;
    (void)bad;
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) != 0)
            return 3;
    for (unsigned i = 0; i < THREADS; i++) {
        void *result;
        (void)pthread_join(threads[i], &result);
        if (result != NULL)
            fprintf(stderr, "churn: %d\n", (int)(uintptr_t)result);
        failed |= result != NULL;
    }
    (void)sj_purge(1);
    failed |= sj_check(0) < 0;
    pid_t child = fork();
    if (child == 0)
        _exit(churn((void *)77) != NULL);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 3;
    return failed || status != 0;
}

/* Every two blocks that lie side by side have different tags, and none has 0; a system call takes them. */
static int colours(int bad)
{
    static char *blocks[BLOCKS];
    unsigned pairs = 0;
    (void)bad;
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = make(SMALL);
        if (tag_of(blocks[i]) == 0)
            return 1;
    }
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t j = 0; j < BLOCKS; j++)
            if (address_of(blocks[j]) - address_of(blocks[i]) - 1 < 2 * SMALL - 1) {
                pairs++;
                if (tag_of(blocks[j]) == tag_of(blocks[i]))
                    return 2;
            }
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], blocks[0], SMALL) != SMALL || read(ends[0], blocks[1], SMALL) != SMALL)
        return 4;
    return pairs < BLOCKS / 2 ? 5 : 0;
}

static int bounds(int bad)
{
    char *block = make(SMALL);
    void *start;
    size_t size;
    (void)bad;
    if (!sj_object_bounds(block + 7, &start, &size) || start != block || size < SMALL)
        return 1;
    sj_freezero(block, SMALL);
    block = sj_mallocx(SMALL, 0);
    block = sj_rallocx(block, MIDDLE, 64);
    if (block == NULL || block[MIDDLE - 1] != 0)
        return 2;
    sj_free_sized(block, MIDDLE);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(int bad);
} cases[] = {
    { "overflow", overflow },
    { "overread", overread },
    { "underflow", underflow },
    { "write_freed", write_freed },
    { "read_freed", read_freed },
    { "read_reused", read_reused },
    { "free_twice", free_twice },
    { "free_reused", free_reused },
    { "realloc_freed", realloc_freed },
    { "write_moved", write_moved },
    { "large_overflow", large_overflow },
    { "large_underflow", large_underflow },
    { "large_freed", large_freed },
    { "huge_overflow", huge_overflow },
    { "huge_freed", huge_freed },
    { "arena_freed", arena_freed },
    { "thread_freed", thread_freed },
    { "thread_writes", thread_writes },
    { "child_writes", child_writes },
    { "handler", handler },
    { "churn", churn_many },
    { "colours", colours },
    { "bounds", bounds },
};

int main(int count, char **arguments)
{
    for (size_t i = 0; count == 3 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(arguments[1], cases[i].name) == 0) {
            int status = cases[i].run(strcmp(arguments[2], "bad") == 0);
            (void)getpid(); /* an entry of the kernel, for tag=async */
            return status;
        }
    fprintf(stderr, "usage: cases CASE bad|good\n");
    return 64;
}
