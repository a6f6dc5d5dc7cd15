/* SPDX-License-Identifier: MIT
 *
 * What: entropy, with and without the kernel's help; and the clock.
 *
 * Why this way: a seccomp filter in a child refuses getrandom as sandboxes do.
 *
 * Invariants: none.
 *
 * Concurrency: none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "unit/unit.h"

#include "platform/clock.h"
#include "platform/entropy.h"

#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The few pieces of linux/seccomp.h and linux/filter.h that are needed, which not every libc brings along. */
struct filter_step {
    uint16_t code;
    uint8_t if_true;
    uint8_t if_false;
    uint32_t value;
};
struct filter {
    unsigned short steps;
    struct filter_step *first;
};
enum {
    FILTER_LOAD_WORD = 0x20,
    FILTER_JUMP_IF_EQUAL = 0x15,
    FILTER_RETURN = 0x06,
    FILTER_MODE = 2 /* SECCOMP_MODE_FILTER */
};
#define FILTER_ALLOW  0x7fff0000u
#define FILTER_REFUSE (0x00050000u | EPERM)

static bool refuse_getrandom(void)
{
    struct filter_step steps[] = {
        { FILTER_LOAD_WORD, 0, 0, 0 }, /* the number of the call */
        { FILTER_JUMP_IF_EQUAL, 0, 1, SYS_getrandom },
        { FILTER_RETURN, 0, 0, FILTER_REFUSE },
        { FILTER_RETURN, 0, 0, FILTER_ALLOW },
    };
    struct filter filter = { sizeof steps / sizeof steps[0], steps };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, FILTER_MODE, &filter) == 0;
}

/* Fills of all lengths: whole, inside their bounds, and no two alike. */
static void check_fills(bool from_kernel)
{
    unsigned char bytes[300];
    unsigned char before[32] = { 0 };
    uint64_t weak = sj__entropy_weak_count();
    unsigned fills = 0;

    errno = 4242;
    for (size_t length = 0; length <= sizeof bytes - 2; length += 7, fills++) {
        memset(bytes, 0, sizeof bytes);
        bool strong = sj__entropy_fill(bytes + 1, length);

        CHECK_EQ(strong, from_kernel || length == 0);
        CHECK(bytes[0] == 0 && bytes[length + 1] == 0);
        if (length >= 64) {
            unsigned zeros = 0;
            for (size_t i = 1; i <= length; i++)
                zeros += bytes[i] == 0;
            CHECK(zeros < length / 8);
            CHECK(memcmp(before, bytes + 1, sizeof before) != 0);
            memcpy(before, bytes + 1, sizeof before);
        }
    }
    CHECK_EQ(errno, 4242);
    CHECK_EQ(sj__entropy_weak_count() - weak, from_kernel ? 0 : fills - 1);
}

static void platform_entropy__fills_from_the_kernel(void)
{
    check_fills(true);
}

static void platform_entropy__fills_and_counts_when_getrandom_is_refused(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        if (!refuse_getrandom())
            _exit(77);
        check_fills(false);
        _exit((int)unit_failed());
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("no seccomp here");
    CHECK_EQ(status, 0);
}

static void platform_clock__does_not_go_back(void)
{
    uint64_t start = sj__clock_ms();
    uint64_t last = start;

    (void)usleep(30000);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t now = sj__clock_ms();
        CHECK(now >= last);
        last = now;
    }
    CHECK(last - start >= 10 && last - start < 10000);
}

static uint64_t fixed_clock(void)
{
    return 123456789;
}

static void platform_clock__returns_the_tests_time_when_set(void)
{
    sj__clock_set_source(fixed_clock);
    CHECK_EQ(sj__clock_ms(), 123456789);
    sj__clock_set_source(NULL);
    CHECK(sj__clock_ms() != 123456789);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(platform_entropy__fills_from_the_kernel);
    RUN(platform_entropy__fills_and_counts_when_getrandom_is_refused);
    RUN(platform_clock__does_not_go_back);
    RUN(platform_clock__returns_the_tests_time_when_set);
    return unit_end();
}
