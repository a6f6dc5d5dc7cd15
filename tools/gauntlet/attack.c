/* SPDX-License-Identifier: MIT
 *
 * What: see attack.h.
 *
 * Why this way: see attack.h.
 *
 * Invariants: see attack.h.
 *
 * Concurrency: see attack.h.
 */
#include "gauntlet/attack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SECONDS = 10, OVERLAP_BLOCKS = 2048, WORK_BLOCKS = 128, WORK_STEPS = 20000 };

static volatile uint32_t *stage;

static const struct attack *const tables[] = { attack_frees, attack_chains, attack_forgeries, attack_writes,
                                               attack_reads, attack_copies, attack_mismatches };

const struct attack *attack_at(size_t index)
{
    for (size_t table = 0; table < sizeof tables / sizeof tables[0]; table++)
        for (const struct attack *attack = tables[table]; attack->name != NULL; attack++)
            if (index-- == 0)
                return attack;
    return NULL;
}

int attack_main(size_t index, bool misuse, int descriptor)
{
    const struct attack *attack = attack_at(index);
    const struct rlimit none = { 0, 0 };
    stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (attack == NULL || stage == MAP_FAILED)
        return ATTACK_UNABLE;
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)alarm(SECONDS);
    enum attack_result result = attack->run(misuse, attack->parameter);
    if (result == ATTACK_HARMLESS || result == ATTACK_HARM)
        attack_go_on();
    *stage = ATTACK_STAGE_END;
    _exit((int)result);
}

void attack_arm(void)
{
    *stage = ATTACK_STAGE_ACT;
}

void attack_past(void)
{
    *stage = ATTACK_STAGE_AFTER;
}

void *attack_hide(const void *pointer)
{
    void *hidden = (void *)(uintptr_t)pointer;
    __asm__ volatile("" : "+r"(hidden) : : "memory");
    return hidden;
}

char *attack_offset(const void *pointer, ptrdiff_t bytes)
{
    return attack_hide((void *)((uintptr_t)pointer + (uintptr_t)bytes));
}

char *attack_new(size_t bytes)
{
    char *block = malloc(bytes);
    if (block == NULL)
        _exit(ATTACK_UNABLE);
    return attack_hide(block);
}

static unsigned char mark_of(size_t index)
{
    return (unsigned char)(index * 37 + 11);
}

void attack_crowd_make(struct attack_crowd *crowd, size_t count, size_t bytes)
{
    crowd->count = count;
    crowd->bytes = bytes;
    for (size_t i = 0; i < count; i++)
        crowd->blocks[i] = attack_new(bytes);
    for (size_t i = 0; i < count; i++)
        memset(crowd->blocks[i], mark_of(i), bytes);
}

bool attack_crowd_is_whole(const struct attack_crowd *crowd, size_t except)
{
    for (size_t i = 0; i < crowd->count; i++) {
        const unsigned char *bytes = attack_hide(crowd->blocks[i]);
        for (size_t at = 0; at < crowd->bytes && i != except; at++)
            if (bytes[at] != mark_of(i))
                return false;
    }
    return true;
}

void attack_crowd_free(struct attack_crowd *crowd, size_t except)
{
    for (size_t i = 0; i < crowd->count; i++)
        if (i != except)
            free(crowd->blocks[i]);
}

static int compare_addresses(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (char *const *)a, y = (uintptr_t) * (char *const *)b;
    return (x > y) - (x < y);
}

bool attack_new_blocks_overlap(size_t size, const void *start, size_t bytes)
{
    static char *blocks[OVERLAP_BLOCKS];
    const size_t count = size < 65536 ? OVERLAP_BLOCKS : 16;
    bool overlap = false;
    for (size_t i = 0; i < count; i++) {
        blocks[i] = malloc(size);
        if (blocks[i] == NULL)
            return true;
        const uintptr_t from = (uintptr_t)blocks[i], other = (uintptr_t)start;
        overlap = overlap || (bytes != 0 && from < other + bytes && other < from + size);
    }
    qsort(blocks, count, sizeof *blocks, compare_addresses);
    for (size_t i = 1; i < count; i++)
        overlap = overlap || (uintptr_t)blocks[i] - (uintptr_t)blocks[i - 1] < size;
    for (size_t i = 0; i < count && !overlap; i++)
        free(blocks[i]);
    return overlap;
}

void attack_go_on(void)
{
    static char *blocks[WORK_BLOCKS];
    for (size_t step = 0; step < WORK_STEPS; step++) {
        char **block = &blocks[step * 31 % WORK_BLOCKS];
        const size_t size = 16 + step * 7919 % 3000 * (step % 50 == 0 ? 40 : 1);
        if (step % 3 == 0 && *block != NULL) {
            *block = realloc(*block, size);
        } else {
            free(*block);
            *block = malloc(size);
        }
        if (*block != NULL)
            (*block)[0] = 1;
    }
    for (size_t i = 0; i < WORK_BLOCKS; i++)
        free(blocks[i]);
    int (*trim)(size_t) = (int (*)(size_t))dlsym(RTLD_DEFAULT, "malloc_trim"); /* musl has none, some allocators do */
    if (trim != NULL)
        (void)trim(0);
}

void attack_in_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, argument) != 0)
        _exit(ATTACK_UNABLE);
    (void)pthread_join(thread, NULL);
}
