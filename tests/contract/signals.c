/* SPDX-License-Identifier: MIT */
/*
 * What: allocation in signal handlers that come a thousand times a second.
 * Why this way: it may work, or the process may end with a report; it may neither hang nor corrupt. So each try is a
 * child with an alarm, whose stderr is read, and all blocks carry contents that are checked.
 */
#include "unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { HELD = 64 };

static atomic_ulong handled;
static atomic_bool corrupt;

static void check_filled(const unsigned char *bytes, size_t size, unsigned char mark)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != mark)
            atomic_store(&corrupt, true);
}

static void handler(int number)
{
    static unsigned long turn;
    (void)number;
    int saved = errno;
    size_t size = 16 + turn++ % 40 * 16;
    unsigned char *block = malloc(size), *other = malloc(size);
    if (block != NULL && other != NULL) {
        memset(block, 0xd1, size);
        memset(other, 0xd2, size);
        check_filled(block, size, 0xd1);
        check_filled(other, size, 0xd2);
    }
    free(block);
    free(other);
    atomic_fetch_add(&handled, 1);
    errno = saved;
}

static void *send_signals(void *target)
{
    for (;;) {
        usleep(1000);
        pthread_kill(*(pthread_t *)target, SIGUSR1);
    }
    return NULL;
}

/* In the child: allocates and frees, with the contents checked, while signals come; 0 if all was well. */
static int work_under_fire(double seconds)
{
    static unsigned char *held[HELD];
    static size_t sizes[HELD];
    uint64_t random = (uint64_t)getpid();
    pthread_t self = pthread_self(), sender;
    struct sigaction action = { .sa_handler = handler };
    sigaction(SIGUSR1, &action, NULL);
    alarm((unsigned)seconds + 20);
    if (pthread_create(&sender, NULL, send_signals, &self) != 0)
        return 3;
    double end = unit_now_seconds() + seconds;
    while (unit_now_seconds() < end)
        for (int i = 0; i < 500; i++) {
            size_t slot = unit_random_below(&random, HELD);
            if (held[slot] != NULL)
                check_filled(held[slot], sizes[slot], (unsigned char)(slot + 1));
            free(held[slot]);
            sizes[slot] = 16 + unit_random_below(&random, 40) * 16;
            held[slot] = malloc(sizes[slot]);
            if (held[slot] == NULL)
                return 4;
            memset(held[slot], (int)slot + 1, sizes[slot]);
        }
    return atomic_load(&corrupt) ? 5 : atomic_load(&handled) < 10 ? 6 : 0;
}

/* SJ-009 is what a report may say; any other id would blame the program for what it did not do. */
static bool says_recursion(int file)
{
    char text[4096] = "";
    lseek(file, 0, SEEK_SET);
    ssize_t length = read(file, text, sizeof text - 1);
    (void)length;
    bool good = strncmp(text, "scrubjay: SJ-009 ", 17) == 0;
    if (!good)
        unit_print("# it said: %.200s\n", text);
    return good;
}

static void signals_handler__works_or_reports_when_it_allocates(void)
{
    double seconds = unit_budget_seconds(2) / 2;
    int worked = 0, reported = 0;
    for (int round = 0; round < 4; round++) {
        int file = memfd_create("stderr", MFD_CLOEXEC);
        pid_t child = fork();
        if (child == 0) {
            /* A fresh program, so that fd 2 is the file it was at start. */
            char text[32];
            dup2(file, STDERR_FILENO);
            snprintf(text, sizeof text, "%g", seconds);
            setenv("SJ_SIGNALS_CHILD", text, 1);
            execl("/proc/self/exe", "signals", (char *)NULL);
            _exit(9);
        }
        int status = -1;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) {
            reported++;
            CHECK(says_recursion(file));
        } else {
            worked += status == 0;
            CHECK_EQ(status, 0);
        }
        close(file);
    }
    unit_print("# %d worked, %d reported\n", worked, reported);
}

static volatile sig_atomic_t woken;

static void wake(int number)
{
    (void)number;
    woken = 1;
    free(malloc(100));
    free(calloc(10, 30));
}

static void signals_handler__works_when_program_is_not_in_the_allocator(void)
{
    struct sigaction action = { .sa_handler = wake };
    sigaction(SIGUSR2, &action, NULL);
    for (int i = 0; i < 1000; i++) {
        woken = 0;
        raise(SIGUSR2);
        CHECK(woken);
    }
}

int main(int argc, char **argv)
{
    const char *child = getenv("SJ_SIGNALS_CHILD");
    if (child != NULL)
        return work_under_fire(strtod(child, NULL));
    unit_begin(argc, argv);
    RUN(signals_handler__works_when_program_is_not_in_the_allocator);
    RUN(signals_handler__works_or_reports_when_it_allocates);
    return unit_end();
}
