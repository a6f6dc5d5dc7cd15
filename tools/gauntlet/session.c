/* SPDX-License-Identifier: MIT
 *
 * What: see session.h.
 *
 * Why this way: see session.h.
 *
 * Invariants: see session.h.
 *
 * Concurrency: see session.h.
 */
#include "gauntlet/session.h"

#include "bench/text.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHARED_BYTES = 4096 };

void gauntlet_choose(struct gauntlet_session *session)
{
    const struct attack *attack;
    for (size_t i = 0; (attack = attack_at(i)) != NULL && session->count < GAUNTLET_ATTACKS_MAX; i++) {
        char *whole = bench_format("%s: %s", attack->kind, attack->name);
        if (session->pattern == NULL || fnmatch(session->pattern, whole, 0) == 0) {
            session->attacks[session->count] = attack;
            session->indices[session->count++] = i;
        }
        free(whole);
    }
}

/* Becomes the attack: never returns. */
static void become(const struct bench_arm *arm, size_t index, bool misuse, int shared)
{
    char number[32], descriptor[32];
    const int nowhere = open("/dev/null", O_RDWR);
    (void)snprintf(number, sizeof number, "%zu", index);
    (void)snprintf(descriptor, sizeof descriptor, "%d", shared);
    if (nowhere >= 0)
        for (int fd = 0; fd < 3; fd++)
            (void)dup2(nowhere, fd);
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("SCRUBJAY_OPTIONS");
    (void)unsetenv("SCRUBJAY_DISABLE");
    if (arm->library[0] != '\0')
        (void)setenv("LD_PRELOAD", arm->library, 1);
    for (size_t i = 0; i < arm->variable_count; i++)
        (void)putenv(arm->variables[i]);
    (void)execl("/proc/self/exe", "scrubjay", "gauntlet", "--attack", number, "--shared", descriptor,
                misuse ? "--misuse" : "--twin", (char *)NULL);
    _exit(ATTACK_UNABLE);
}

static enum gauntlet_verdict judge(int status, uint32_t stage, bool misuse)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return GAUNTLET_NOT_CAUGHT; /* it hangs: the attacker has stopped the service */
    if (code == ATTACK_UNABLE)
        return GAUNTLET_UNABLE;
    if (stage == ATTACK_STAGE_BEFORE) /* ended although nothing had been done yet */
        return misuse ? GAUNTLET_UNABLE : GAUNTLET_LATER;
    if (stage == ATTACK_STAGE_ACT)
        return GAUNTLET_AT_ACT;
    if (stage == ATTACK_STAGE_AFTER)
        return GAUNTLET_LATER;
    if (code == ATTACK_REFUSED)
        return GAUNTLET_AT_ACT;
    return code == ATTACK_HARMLESS ? GAUNTLET_HARMLESS : GAUNTLET_NOT_CAUGHT;
}

static enum gauntlet_verdict run_once(const struct bench_arm *arm, size_t index, bool misuse)
{
    const int shared = memfd_create("gauntlet", 0);
    if (shared < 0 || ftruncate(shared, SHARED_BYTES) != 0)
        bench_die("no shared memory: %s", strerror(errno));
    volatile uint32_t *stage = mmap(NULL, SHARED_BYTES, PROT_READ, MAP_SHARED, shared, 0);
    const pid_t child = fork();
    if (child == 0)
        become(arm, index, misuse, shared);
    int status = 0;
    if (stage == MAP_FAILED || child < 0 || waitpid(child, &status, 0) != child)
        bench_die("no process for an attack: %s", strerror(errno));
    const enum gauntlet_verdict verdict = judge(status, *stage, misuse);
    (void)munmap((void *)(uintptr_t)stage, SHARED_BYTES);
    (void)close(shared);
    return verdict;
}

static enum gauntlet_verdict run_attack(const struct gauntlet_session *session, size_t arm, size_t attack)
{
    enum gauntlet_verdict worst = GAUNTLET_AT_ACT;
    for (unsigned run = 0; run < session->runs; run++) {
        const enum gauntlet_verdict twin = run_once(&session->arms->items[arm], session->indices[attack], false);
        if (twin == GAUNTLET_AT_ACT || twin == GAUNTLET_LATER)
            return GAUNTLET_FALSE_ALARM;
        if (twin != GAUNTLET_HARMLESS)
            return GAUNTLET_UNABLE;
        const enum gauntlet_verdict verdict = run_once(&session->arms->items[arm], session->indices[attack], true);
        worst = verdict > worst ? verdict : worst;
    }
    return worst;
}

void gauntlet_run(struct gauntlet_session *session)
{
    for (size_t arm = 0; arm < session->arms->count; arm++) {
        bench_say("%s: %zu attacks", session->arms->items[arm].name, session->count);
        for (size_t attack = 0; attack < session->count; attack++)
            session->verdicts[attack][arm] = run_attack(session, arm, attack);
    }
}

size_t gauntlet_total(const struct gauntlet_session *session, size_t arm, enum gauntlet_verdict verdict)
{
    size_t total = 0;
    for (size_t attack = 0; attack < session->count; attack++)
        total += session->verdicts[attack][arm] == verdict;
    return total;
}
