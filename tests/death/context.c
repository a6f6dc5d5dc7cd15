/* SPDX-License-Identifier: MIT */
/*
 * What: the surroundings of a report: signal handlers, forked children, an abort handler that forks and allocates,
 * an fd 2 that has become somebody's file, closed standard streams, ignored SIGABRT, atexit and constructors.
 *
 * Why this way: the report path must work in the worst places and must never write where it should not. The file
 * that takes the place of fd 2 is named by the driver in SJ_DEATH_FILE, and the driver looks that it stays empty.
 *
 * Invariants: a process that hangs is ended by SIGALRM, and so fails the case.
 *
 * Concurrency: the cases with threads say so.
 */
#include "death.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile bool misuse_in_handler;

static void double_free(bool misuse, size_t size)
{
    void *block = death_new(size);
    death_free(block);
    if (misuse)
        death_free(block);
}

static void install(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(number, &action, NULL);
}

static void handler_misuse(int number)
{
    (void)number;
    static _Alignas(64) char bytes[64];
    if (misuse_in_handler)
        death_free(bytes);
}

static void in_signal_handler(bool misuse, size_t unused)
{
    (void)unused;
    misuse_in_handler = misuse;
    install(SIGUSR1, handler_misuse);
    raise(SIGUSR1);
}

static void in_signal_handler_after_work(bool misuse, size_t unused)
{
    free(death_new(100));
    in_signal_handler(misuse, unused);
}

static void *alternate_stack_bytes(size_t size)
{
    static char stack[65536];
    (void)size;
    return stack;
}

static void on_alternate_stack(bool misuse, size_t unused)
{
    (void)unused;
    stack_t stack = { .ss_sp = alternate_stack_bytes(65536), .ss_size = 65536 };
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler_misuse;
    action.sa_flags = SA_ONSTACK;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    misuse_in_handler = misuse;
    raise(SIGUSR1);
}

/* The handler of SIGSEGV frees a wild pointer: the fatal path of the program meets ours. */
static void fault_handler(int number)
{
    (void)number;
    if (misuse_in_handler)
        death_free((void *)(uintptr_t)0x10);
    _exit(0);
}

static void in_fault_handler(bool misuse, size_t unused)
{
    (void)unused;
    misuse_in_handler = misuse;
    install(SIGSEGV, fault_handler);
    free(death_new(10));
    raise(SIGSEGV);
}

static void abort_handler_allocates(int number)
{
    (void)number;
    char *bytes = malloc(1000);
    if (bytes == NULL)
        _exit(4);
    memset(bytes, 1, 1000);
    free(bytes);
}

static void abort_handler_mallocs(bool misuse, size_t unused)
{
    (void)unused;
    install(SIGABRT, abort_handler_allocates);
    double_free(misuse, 100);
}

static void abort_handler_forks(int number)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(5);
        abort_handler_allocates(number);
        for (int i = 0; i < 100; i++)
            free(malloc((size_t)i * 50));
        _exit(0);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        _exit(5);
}

static void abort_handler_fork(bool misuse, size_t size)
{
    install(SIGABRT, abort_handler_forks);
    double_free(misuse, size);
}

static void abort_handler_fork_of_foreign(bool misuse, size_t unused)
{
    (void)unused;
    static _Alignas(64) char bytes[64];
    install(SIGABRT, abort_handler_forks);
    free(death_new(10));
    if (misuse)
        death_free(bytes);
}

static void *free_twice_in_thread(void *block)
{
    death_free(block);
    death_free(block);
    return NULL;
}

static void abort_handler_fork_in_thread(bool misuse, size_t size)
{
    pthread_t thread;
    install(SIGABRT, abort_handler_forks);
    void *block = death_new(size);
    if (!misuse) {
        free(block);
        return;
    }
    if (pthread_create(&thread, NULL, free_twice_in_thread, block) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
}

static void abort_ignored(bool misuse, size_t size)
{
    signal(SIGABRT, SIG_IGN);
    double_free(misuse, size);
}

static void abort_blocked(bool misuse, size_t size)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    sigprocmask(SIG_BLOCK, &all, NULL);
    double_free(misuse, size);
}

static void in_forked_child(bool misuse, size_t size)
{
    void *block = death_new(size);
    death_free(block);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        double_free(false, size);
        if (misuse)
            death_free(block);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) {
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
    }
}

/* Freed by the parent before the fork, and again by the child. */
static void of_parent_in_child(bool misuse, size_t size)
{
    void *block = death_new(size);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        death_free(block);
        if (misuse)
            death_free(block);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    death_free(block);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) {
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
    }
}

/* Puts the file named by the driver in the place of fd 2. */
static void take_fd_2(void)
{
    const char *path = getenv("SJ_DEATH_FILE");
    close(STDERR_FILENO);
    int file = open(path != NULL ? path : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file != STDERR_FILENO)
        _exit(3);
}

static void fd_2_reopened(bool misuse, size_t size)
{
    free(death_new(10));
    take_fd_2();
    double_free(misuse, size);
}

static void fd_2_reopened_before_first_call(bool misuse, size_t size)
{
    take_fd_2();
    double_free(misuse, size);
}

static void fd_2_closed(bool misuse, size_t size)
{
    close(STDERR_FILENO);
    double_free(misuse, size);
}

static void fd_2_reopened_by_dup2(bool misuse, size_t size)
{
    const char *path = getenv("SJ_DEATH_FILE");
    int file = open(path != NULL ? path : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDERR_FILENO);
    double_free(misuse, size);
}

static bool misuse_at_exit;

static void at_exit(void)
{
    double_free(misuse_at_exit, 100);
}

static void in_atexit(bool misuse, size_t unused)
{
    (void)unused;
    misuse_at_exit = misuse;
    atexit(at_exit);
    exit(0);
}

__attribute__((destructor)) static void in_destructor_of_program(void)
{
    if (misuse_at_exit)
        death_free((void *)(uintptr_t)0x10);
}

static void in_destructor(bool misuse, size_t unused)
{
    (void)unused;
    misuse_at_exit = misuse;
}

static void *spin_with_frees(void *argument)
{
    static volatile bool on = true;
    while (on)
        free(malloc((size_t)(uintptr_t)argument));
    return NULL;
}

/* Other threads keep allocating while one reports. */
static void with_busy_threads(bool misuse, size_t size)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, spin_with_frees, (void *)(uintptr_t)size) != 0)
            death_cannot("no thread");
    }
    usleep(1000);
    double_free(misuse, size);
    _exit(0);
}

static void *free_wild(void *argument)
{
    death_free(argument);
    return NULL;
}

/* Several threads report at once: one report, one end. */
static void many_reports(bool misuse, size_t unused)
{
    (void)unused;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, free_wild, misuse ? (void *)(uintptr_t)0x10 : NULL) != 0)
            death_cannot("no thread");
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

/* With little stack left the report must still come out. */
static void with_little_stack(bool misuse, size_t unused)
{
    (void)unused;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    void *block = death_new(48);
    if (misuse)
        death_free(block);
    if (pthread_create(&thread, &attributes, free_wild, block) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
}

static const size_t two_sizes[] = { 100, 1048576, SIZE_MAX };

#define PLAIN(name, expect, function)                                \
    {                                                                \
        name, expect, "0,1,2", DEATH_NO_PARAMETER, 0, NULL, function \
    }
#define BY_SIZE(name, expect, function)                           \
    {                                                             \
        name, expect, "0,1,2", DEATH_SIZE, 0, two_sizes, function \
    }

const struct death_family death_context[] = {
    PLAIN("context_signal_handler", "SJ-001", in_signal_handler),
    PLAIN("context_signal_handler_after_work", "SJ-001", in_signal_handler_after_work),
    PLAIN("context_alternate_stack", "SJ-001", on_alternate_stack),
    PLAIN("context_fault_handler", "SJ-001", in_fault_handler),
    PLAIN("context_abort_handler_mallocs", "SJ-004", abort_handler_mallocs),
    BY_SIZE("context_abort_handler_fork", "SJ-004", abort_handler_fork),
    BY_SIZE("context_abort_handler_fork_in_thread", "SJ-004", abort_handler_fork_in_thread),
    PLAIN("context_abort_handler_fork_of_foreign", "SJ-001", abort_handler_fork_of_foreign),
    BY_SIZE("context_abort_ignored", "SJ-004", abort_ignored),
    BY_SIZE("context_abort_blocked", "SJ-004", abort_blocked),
    BY_SIZE("context_forked_child", "SJ-004", in_forked_child),
    BY_SIZE("context_of_parent_in_child", "SJ-004", of_parent_in_child),
    BY_SIZE("context_fd_2_reopened", DEATH_SILENT, fd_2_reopened),
    BY_SIZE("context_fd_2_reopened_before_first_call", DEATH_SILENT, fd_2_reopened_before_first_call),
    BY_SIZE("context_fd_2_reopened_by_dup2", DEATH_SILENT, fd_2_reopened_by_dup2),
    BY_SIZE("context_fd_2_closed", DEATH_SILENT, fd_2_closed),
    PLAIN("context_atexit", "SJ-004", in_atexit),
    PLAIN("context_destructor", "SJ-001", in_destructor),
    BY_SIZE("context_busy_threads", "SJ-004", with_busy_threads),
    PLAIN("context_many_reports", "SJ-001", many_reports),
    PLAIN("context_little_stack", "SJ-004", with_little_stack),
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
