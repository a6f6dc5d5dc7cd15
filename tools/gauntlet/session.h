/* SPDX-License-Identifier: MIT
 *
 * What: all attacks against all arms: the verdicts.
 *
 * Why this way: each attack and each twin is a process. Placement is random under some allocators, so each is run several
 * times, and the worst verdict stands.
 *
 * Invariants: a verdict is never better than what was seen: a process that ends without having looked for harm counts
 * as not caught.
 *
 * Concurrency: one process at a time.
 */
#ifndef SJ_GAUNTLET_SESSION_H
#define SJ_GAUNTLET_SESSION_H

#include "bench/arms.h"
#include "gauntlet/attack.h"

/* From the best to the worst. */
enum gauntlet_verdict {
    GAUNTLET_AT_ACT,      /* the process was ended by the misuse itself, or was told of it */
    GAUNTLET_HARMLESS,    /* it went on, and nothing was changed */
    GAUNTLET_LATER,       /* it was ended afterwards */
    GAUNTLET_NOT_CAUGHT,  /* it went on, with harm done */
    GAUNTLET_FALSE_ALARM, /* the twin without the misuse was ended */
    GAUNTLET_UNABLE,      /* the situation could not be made */
    GAUNTLET_VERDICTS
};

enum { GAUNTLET_ATTACKS_MAX = 128 };

struct gauntlet_session {
    struct bench_arms *arms;
    const char *pattern; /* of kinds and names; NULL: all */
    unsigned runs;
    const struct attack *attacks[GAUNTLET_ATTACKS_MAX];
    size_t indices[GAUNTLET_ATTACKS_MAX];
    size_t count;
    enum gauntlet_verdict verdicts[GAUNTLET_ATTACKS_MAX][BENCH_ARMS_MAX + 1];
};

/* Picks the attacks that match. */
void gauntlet_choose(struct gauntlet_session *session);

void gauntlet_run(struct gauntlet_session *session);

/* In how many attacks an arm was given this verdict. */
size_t gauntlet_total(const struct gauntlet_session *session, size_t arm, enum gauntlet_verdict verdict);

const char *gauntlet_word(enum gauntlet_verdict verdict);

/* The table for a terminal, which is Markdown too. */
void gauntlet_print(const struct gauntlet_session *session);

/* Whole documents; false with errno. */
bool gauntlet_write_json(const struct gauntlet_session *session, const char *path);
bool gauntlet_write_html(const struct gauntlet_session *session, const char *path);

#endif
