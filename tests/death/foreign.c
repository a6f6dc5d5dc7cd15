/* SPDX-License-Identifier: MIT */
/*
 * What: pointers that no allocation of ours contains, given to each call of the family; SJ-001.
 *
 * Why this way: each kind of memory is named by itself (stack, global, code, a mapping, a wild number), and comes
 * twice: after the allocator has run, and as the very first call of the process, when nothing may be set up yet.
 *
 * Invariants: the pointers are aligned to 16 unless the misalignment is the case.
 *
 * Concurrency: thread_stack starts one thread and joins it.
 */
#include "death.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static _Alignas(64) char global_bytes[256];
static const _Alignas(64) char literal_like[64] = "constant";
static _Thread_local _Alignas(64) char thread_local_bytes[64];

/* The bad call, or for the twin a good one of the same function. */
static void give_after_warm_up(bool misuse, enum death_call call, const void *pointer)
{
    void *other = death_new(100);
    if (misuse)
        death_give(call, death_hide(pointer), 64);
    else
        death_give_valid(call, 64);
    free(other);
}

static void give_first(bool misuse, enum death_call call, const void *pointer)
{
    death_give(call, misuse ? death_hide(pointer) : NULL, 64);
}

/* Defines NAME and NAME_first over an expression that yields the pointer. */
#define FOREIGN(name, expression)                                                      \
    static void name(bool misuse, size_t call)                                         \
    {                                                                                  \
        give_after_warm_up(misuse, (enum death_call)call, (const void *)(expression)); \
    }                                                                                  \
    static void name##_first(bool misuse, size_t call)                                 \
    {                                                                                  \
        give_first(misuse, (enum death_call)call, (const void *)(expression));         \
    }

FOREIGN(global, global_bytes + 64)
FOREIGN(literal, literal_like)
FOREIGN(code, (uintptr_t)&give_first & ~(uintptr_t)15)
FOREIGN(code_of_libc, (uintptr_t)&getpid & ~(uintptr_t)15)
FOREIGN(thread_local_variable, thread_local_bytes)
FOREIGN(stdio_object, stdout)
FOREIGN(environment, environ[0])
FOREIGN(vdso, getauxval(AT_SYSINFO_EHDR))
FOREIGN(small_1, 0x1)
FOREIGN(small_8, 0x8)
FOREIGN(small_16, 0x10)
FOREIGN(small_4095, 0xfff)
FOREIGN(first_page_end, 0x1000)
FOREIGN(minus_1, UINTPTR_MAX)
FOREIGN(minus_16, UINTPTR_MAX - 15)
FOREIGN(non_canonical_low, (uintptr_t)1 << 47)
FOREIGN(non_canonical_middle, 0x4141414141414140)
FOREIGN(non_canonical_high, 0x8000000000000000)
FOREIGN(kernel_half, 0xffff888000000000)
FOREIGN(end_of_user_space, 0x00007fffffffffe0)
FOREIGN(four_gigabytes, 0x100000000)
FOREIGN(debug_pattern, 0xdeadbeefdeadbee0)

static void on_stack(bool misuse, size_t call)
{
    _Alignas(64) char bytes[256];
    give_after_warm_up(misuse, (enum death_call)call, death_hide(bytes + 64));
}

static void on_stack_first(bool misuse, size_t call)
{
    _Alignas(64) char bytes[256];
    give_first(misuse, (enum death_call)call, death_hide(bytes + 64));
}

static void on_heap_of_brk(bool misuse, size_t call)
{
    void *bytes = sbrk(65536);
    give_after_warm_up(misuse, (enum death_call)call, (char *)bytes + 4096);
}

static void *map_pages(int flags, int file)
{
    void *pages = mmap(NULL, 65536, PROT_READ | PROT_WRITE, flags, file, 0);
    if (pages == MAP_FAILED)
        death_cannot("mmap failed");
    return pages;
}

static void mapping(bool misuse, size_t call)
{
    give_after_warm_up(misuse, (enum death_call)call, map_pages(MAP_PRIVATE | MAP_ANONYMOUS, -1));
}

static void mapping_first(bool misuse, size_t call)
{
    give_first(misuse, (enum death_call)call, map_pages(MAP_PRIVATE | MAP_ANONYMOUS, -1));
}

static void mapping_shared(bool misuse, size_t call)
{
    give_after_warm_up(misuse, (enum death_call)call, (char *)map_pages(MAP_SHARED | MAP_ANONYMOUS, -1) + 4096);
}

static void mapping_of_file(bool misuse, size_t call)
{
    FILE *self = fopen("/proc/self/exe", "re");
    void *pages = self != NULL ? mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(self), 0) : MAP_FAILED;
    if (pages == MAP_FAILED)
        death_cannot("mmap of the program failed");
    fclose(self);
    give_after_warm_up(misuse, (enum death_call)call, pages);
}

static void unmapped(bool misuse, size_t call)
{
    char *pages = map_pages(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    munmap(pages, 65536);
    if (misuse)
        death_give((enum death_call)call, pages + 4096, 64);
    else
        death_give((enum death_call)call, NULL, 64);
}

static void inaccessible(bool misuse, size_t call)
{
    char *pages = map_pages(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    mprotect(pages, 65536, PROT_NONE);
    give_after_warm_up(misuse, (enum death_call)call, pages + 4096);
}

/* A live pointer of ours with high bits on: a tag that was not taken off. */
static void own_with_tag(bool misuse, size_t call)
{
    uintptr_t own = (uintptr_t)death_new(64);
    give_after_warm_up(misuse, (enum death_call)call, (const void *)(own | (uintptr_t)0xb7 << 56));
}

static void own_with_flipped_bit(bool misuse, size_t call)
{
    uintptr_t own = (uintptr_t)death_new(64);
    give_after_warm_up(misuse, (enum death_call)call, (const void *)(own ^ (uintptr_t)1 << 45));
}

struct handed_over {
    _Alignas(64) char bytes[64];
    bool misuse;
    enum death_call call;
};

static void *give_pointer_of_other_thread(void *argument)
{
    _Alignas(64) char bytes[256];
    struct handed_over *over = argument;
    give_after_warm_up(over->misuse, over->call, death_hide(bytes + 64));
    return NULL;
}

static void thread_stack(bool misuse, size_t call)
{
    struct handed_over over = { .misuse = misuse, .call = (enum death_call)call };
    pthread_t thread;
    if (pthread_create(&thread, NULL, give_pointer_of_other_thread, &over) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
}

static void *give_stack_of_main(void *argument)
{
    struct handed_over *over = argument;
    give_after_warm_up(over->misuse, over->call, over->bytes);
    return NULL;
}

static void stack_of_main_in_thread(bool misuse, size_t call)
{
    struct handed_over over = { .misuse = misuse, .call = (enum death_call)call };
    pthread_t thread;
    if (pthread_create(&thread, NULL, give_stack_of_main, &over) != 0)
        death_cannot("no thread");
    pthread_join(thread, NULL);
}

#define BOTH(name)                                                                               \
    { "foreign_" #name, "SJ-001", "0,1,2", DEATH_CALL, DEATH_MAIN_CALLS, NULL, name },           \
    {                                                                                            \
        "first_call_" #name, "SJ-001", "0,1,2", DEATH_CALL, DEATH_MAIN_CALLS, NULL, name##_first \
    }
#define LATER(name)                                                                   \
    {                                                                                 \
        "foreign_" #name, "SJ-001", "0,1,2", DEATH_CALL, DEATH_MAIN_CALLS, NULL, name \
    }

const struct death_family death_foreign[] = {
    { "foreign_global", "SJ-001", "0,1,2", DEATH_CALL, DEATH_ALL_CALLS, NULL, global },
    { "first_call_global", "SJ-001", "0,1,2", DEATH_CALL, DEATH_ALL_CALLS, NULL, global_first },
    { "foreign_on_stack", "SJ-001", "0,1,2", DEATH_CALL, DEATH_ALL_CALLS, NULL, on_stack },
    { "first_call_on_stack", "SJ-001", "0,1,2", DEATH_CALL, DEATH_ALL_CALLS, NULL, on_stack_first },
    BOTH(literal),
    BOTH(code),
    BOTH(code_of_libc),
    BOTH(thread_local_variable),
    BOTH(stdio_object),
    BOTH(environment),
    BOTH(vdso),
    BOTH(small_1),
    BOTH(small_8),
    BOTH(small_16),
    BOTH(small_4095),
    BOTH(first_page_end),
    BOTH(minus_1),
    BOTH(minus_16),
    BOTH(non_canonical_low),
    BOTH(non_canonical_middle),
    BOTH(non_canonical_high),
    BOTH(kernel_half),
    BOTH(end_of_user_space),
    BOTH(four_gigabytes),
    BOTH(debug_pattern),
    BOTH(mapping),
    LATER(mapping_shared),
    LATER(mapping_of_file),
    LATER(unmapped),
    LATER(inaccessible),
    LATER(on_heap_of_brk),
    LATER(own_with_tag),
    { "foreign_own_with_flipped_bit", "SJ-001|SJ-003", "0,1,2", DEATH_CALL, DEATH_MAIN_CALLS, NULL,
      own_with_flipped_bit },
    LATER(thread_stack),
    LATER(stack_of_main_in_thread),
    { NULL, NULL, NULL, DEATH_NO_PARAMETER, 0, NULL, NULL },
};
