/* SPDX-License-Identifier: MIT */
/*
 * What: limit_bytes: what counts against it, how a request beyond it ends, and that all can be had again after it.
 * Why this way: the limit is set while the program runs, in a child process a case; resident memory is the kernel's
 * word. What a limit leaves out for guards and granules is bounded from below: it must not eat what it allows.
 */
#define SJ_TEST_PLAIN
#include "scrubjay.h"
#include "support/calls.h"
#include "support/process.h"
#include "unit/unit.h"

#include <pthread.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, LIMIT_MIB = 64, HELD = 1 << 20, OUTSIDE = 4 * MIB /* what the process has besides */ };

static void *held[HELD];

/* Takes blocks until there are no more; how many bytes that were. */
static size_t fill(size_t each)
{
    size_t count = 0;
    errno = 0;
    while (count < HELD && (held[count] = malloc(each)) != NULL)
        memset(held[count++], 1, each);
    CHECK(count < HELD);
    CHECK_EQ(errno, ENOMEM);
    size_t taken = count * each;
    while (count > 0)
        free(held[--count]);
    return taken;
}

static void in_child(void (*measure)(void))
{
    pid_t child = fork();
    if (child == 0) {
        alarm(100);
        CHECK_EQ(sj_ctl("limit_bytes", "64m", NULL, 0), 0);
        measure();
        _exit((int)unit_failed());
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}

static void sizes_in_turn(void)
{
    static const size_t sizes[] = { 100, 3000, 1000000, 300, 40000, 5000000, 100 };
    memset(held, 1, sizeof held); /* the test's own memory, not to be counted */
    long before = resident_bytes();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t taken = fill(sizes[i]);
        unit_print("# blocks of %zu: %zu MiB\n", sizes[i], taken / MIB);
        CHECK(taken <= (size_t)LIMIT_MIB * MIB);
        CHECK(taken >= (size_t)LIMIT_MIB * MIB / 2);
    }
    CHECK(status_bytes("VmHWM:") - before <= (long)LIMIT_MIB * MIB + OUTSIDE);
}

static void limits_bytes__end_in_null_for_every_size_and_again_after_free(void)
{
    in_child(sizes_in_turn);
}

static void every_call(void)
{
    char *block = malloc(40 * MIB);
    void *out = &held;
    if (!CHECK(block != NULL))
        return;
    memset(block, 7, 40 * MIB);
    errno = 0;
    CHECK(realloc(block, 80 * MIB) == NULL && errno == ENOMEM);
    CHECK(block[0] == 7 && memcmp(block, block + 1, 40 * MIB - 1) == 0);
    errno = 0;
    CHECK(calloc(1, 40 * MIB) == NULL && errno == ENOMEM); /* untouched memory counts */
    errno = 0;
    CHECK(memalign(4096, 40 * MIB) == NULL && errno == ENOMEM);
    CHECK(posix_memalign(&out, 64, 40 * MIB) == ENOMEM && out == &held);
    block = realloc(block, 50 * MIB);
    CHECK(block != NULL);
    block = realloc(block, MIB);
    CHECK(block != NULL && block[MIB - 1] == 7);
    void *again = calloc(1, 50 * MIB);
    CHECK(again != NULL);
    free(again);
    free(block);
}

static void limits_bytes__hold_for_every_call_and_leave_blocks_as_they_were(void)
{
    in_child(every_call);
}

static pthread_barrier_t barrier;

static void *fill_and_idle(void *unused)
{
    CHECK(fill(500) > 0);
    CHECK(fill(20000) > 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void another_thread(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    if (!CHECK(pthread_create(&thread, NULL, fill_and_idle, NULL) == 0))
        return;
    pthread_barrier_wait(&barrier);
    CHECK(fill(3000) >= (size_t)LIMIT_MIB * MIB * 9 / 16);
    CHECK(fill(MIB) >= (size_t)LIMIT_MIB * MIB * 9 / 16);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
}

static void limits_bytes__leave_to_one_thread_what_another_has_freed(void)
{
    in_child(another_thread);
}

static void changed(void)
{
    char value[32];
    void *block = malloc(50 * MIB);
    CHECK(block != NULL);
    CHECK_EQ(sj_ctl("limit_bytes", "16m", value, sizeof value), 0);
    CHECK(strcmp(value, "67108864") == 0);
    CHECK(malloc(MIB) == NULL);
    CHECK_EQ(sj_ctl("limit_bytes", "0", NULL, 0), 0);
    void *large = malloc(500 * MIB);
    CHECK(large != NULL);
    free(large);
    CHECK_EQ(sj_ctl("limit_bytes", "16m", NULL, 0), 0);
    free(block);
    CHECK(fill(MIB) >= 10 * MIB);
}

static void limits_bytes__can_be_changed_while_memory_is_in_use(void)
{
    in_child(changed);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(limits_bytes__end_in_null_for_every_size_and_again_after_free);
    RUN(limits_bytes__hold_for_every_call_and_leave_blocks_as_they_were);
    RUN(limits_bytes__leave_to_one_thread_what_another_has_freed);
    RUN(limits_bytes__can_be_changed_while_memory_is_in_use);
    return unit_end();
}
