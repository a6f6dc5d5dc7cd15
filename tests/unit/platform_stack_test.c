/* SPDX-License-Identifier: MIT
 *
 * What: tests of platform/stack.h and unwind.h: the frames are those that libgcc's unwinder finds, from every kind of stack, and
 * a stack that is overwritten ends the walk.
 *
 * Why this way: glibc's backtrace() is the oracle; it is called at the same place, so only the innermost frame may differ.
 */
#include "platform/stack.h"

#include "unit/unit.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

enum { MOST = 128 };

static const void *ours[MOST];
static void *theirs[MOST];
static const void *again[2][MOST];
static size_t again_count[2];
static size_t our_count;
static size_t their_count;
static volatile unsigned sink;

/* Walks by both ways. The frame of this function is in both: at different calls. */
static __attribute__((noinline)) void look(void)
{
    our_count = sj__stack_walk(ours, MOST);
    for (unsigned i = 0; i < 2; i++) /* what the first remembers the second uses */
        again_count[i] = sj__stack_walk_often(again[i], MOST);
    their_count = (size_t)backtrace(theirs, MOST);
    sink++;
}

/* Aligned at the outermost frame: under AddressSanitizer backtrace() has a frame of its own. */
static void check_same(void)
{
    const size_t more = SJ_UNDER_ASAN;
    CHECK(our_count > 2);
    if (!CHECK_EQ(our_count + more, their_count))
        return;
    for (size_t i = 1; i < our_count; i++)
        CHECK_EQ((uintptr_t)ours[i], (uintptr_t)theirs[i + more]);
    for (unsigned turn = 0; turn < 2; turn++) {
        REQUIRE(again_count[turn] == our_count);
        for (size_t i = 1; i < our_count; i++)
            CHECK_EQ((uintptr_t)again[turn][i], (uintptr_t)ours[i]);
    }
}

static __attribute__((noinline)) void recurse(unsigned depth)
{
    if (depth == 0)
        look();
    else
        recurse(depth - 1);
    sink++;
}

static void stack_walk__finds_frames_of_libgcc_when_called_deep(void)
{
    recurse(20);
    check_same();
    CHECK(our_count > 20);
}

/* A stack realigned beyond what the ABI gives, and of a length found at run time. */
static __attribute__((noinline)) void realigned(unsigned bytes)
{
    _Alignas(128) volatile char aligned[256];
    volatile char *variable = __builtin_alloca(bytes);
    aligned[sink % 256] = 1;
    variable[sink % bytes] = 1;
    recurse(2);
    sink += (unsigned)aligned[0] + (unsigned)variable[0];
}

static void stack_walk__finds_frames_when_a_stack_is_realigned(void)
{
    realigned(1000);
    check_same();
}

static int compare(const void *a, const void *b)
{
    look();
    return *(const int *)a - *(const int *)b;
}

static void stack_walk__finds_frames_when_called_back_by_libc(void)
{
    int numbers[] = { 3, 1, 2 };
    qsort(numbers, 3, sizeof *numbers, compare);
    check_same();
}

static void *in_thread(void *unused)
{
    recurse(3);
    return unused;
}

static void stack_walk__finds_frames_when_in_a_thread(void)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, in_thread, NULL) == 0);
    pthread_join(thread, NULL);
    check_same();
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

static const void *by_context[MOST];
static size_t by_context_count;
static const void *interrupted;
static char alternate[64 << 10];

static void handle(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    look();
    by_context_count = sj__stack_walk_context(context, by_context, MOST);
    interrupted = by_context_count > 0 ? by_context[0] : NULL;
}

static void raise_on(int flags)
{
    const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
    struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | flags }, before;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
}

/* The frames from the context are the last of those from the handler, after its own and the kernel's. */
static void check_context(void)
{
    REQUIRE(by_context_count > 2 && by_context_count < our_count);
    const size_t skipped = our_count - by_context_count;
    for (size_t i = 0; i < by_context_count; i++)
        CHECK_EQ((uintptr_t)by_context[i], (uintptr_t)ours[skipped + i]);
}

static void stack_walk__crosses_the_signal_when_in_a_handler(void)
{
    raise_on(0);
    check_same();
    check_context();
}

static void stack_walk__crosses_the_signal_when_on_another_stack(void)
{
    raise_on(SA_ONSTACK);
    check_same();
    check_context();
}

/* ---- Stacks nobody knows the bounds of ---------------------------------------------------------------------------- */

static ucontext_t outside, inside;

static void coroutine(void)
{
    our_count = sj__stack_walk(ours, MOST);
    swapcontext(&inside, &outside);
}

static void stack_walk__ends_when_a_coroutine_begins(void)
{
    char *stack = mmap(NULL, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(stack != MAP_FAILED);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = 64 << 10;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    swapcontext(&outside, &inside);
    munmap(stack, 64 << 10);
#if defined(__SANITIZE_ADDRESS__)
    SKIP("a sanitizer has frames of its own there");
#else
    CHECK(our_count >= 1 && our_count <= 3);
#endif
}

/* ---- Stacks that are overwritten ---------------------------------------------------------------------------------- */

/* Overwrites what lies above this frame with a pattern, walks, and ends this process: there is nowhere to return to. */
static __attribute__((noinline)) void smash(uintptr_t pattern)
{
    volatile uintptr_t *words = __builtin_frame_address(0);
    for (unsigned i = 0; i < 64; i++)
        words[i] = pattern;
    our_count = sj__stack_walk(ours, MOST);
    _exit(our_count >= 1 && our_count < MOST ? 42 : 1);
}

static void stack_walk__ends_when_the_stack_is_overwritten(void)
{
    static uintptr_t self;
    self = (uintptr_t)&self;
    const uintptr_t patterns[] = {
        0, 1, 0x4141414141414141, (uintptr_t)&self, (uintptr_t)smash, (uintptr_t)abort, UINTPTR_MAX, 0xffffffffff600000
    };
    for (unsigned i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0)
            smash(patterns[i]);
        waitpid(child, &status, 0);
        if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42))
            unit_print("# pattern %#lx: status %#x\n", (unsigned long)patterns[i], (unsigned)status);
    }
}

static __attribute__((noinline)) size_t walk_few(size_t most)
{
    memset(ours, 0, sizeof ours);
    return sj__stack_walk(ours, most);
}

static void stack_walk__gives_no_more_than_asked_for(void)
{
    errno = 77;
    for (size_t most = 0; most < 3; most++) {
        CHECK_EQ(walk_few(most), most);
        CHECK(ours[most] == NULL);
    }
    CHECK_EQ(errno, 77);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(stack_walk__finds_frames_of_libgcc_when_called_deep);
    RUN(stack_walk__finds_frames_when_a_stack_is_realigned);
    RUN(stack_walk__finds_frames_when_called_back_by_libc);
    RUN(stack_walk__finds_frames_when_in_a_thread);
    RUN(stack_walk__crosses_the_signal_when_in_a_handler);
    RUN(stack_walk__crosses_the_signal_when_on_another_stack);
    RUN(stack_walk__ends_when_a_coroutine_begins);
    RUN(stack_walk__ends_when_the_stack_is_overwritten);
    RUN(stack_walk__gives_no_more_than_asked_for);
    return unit_end();
}
