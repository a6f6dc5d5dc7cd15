/* SPDX-License-Identifier: MIT
 *
 * What: what a pointer is, and the report if it is not what the program takes it for.
 *
 * Why this way: the slow side of every check that the fast paths make in passing. It re-derives everything from the map
 * and the records and never follows the pointer, so it gives an answer for any bit pattern.
 *
 * Invariants: a verdict SJ_IS_LIVE means: exact start of a slot or block that the program has.
 *
 * Concurrency: any thread. For a pointer that the program holds legitimately the verdict is exact; one that another
 * thread is freeing at the same moment may be judged either way.
 */
#ifndef SJ_FRONT_JUDGE_H
#define SJ_FRONT_JUDGE_H

#include "span/family.h"
#include "span/large.h"
#include "span/sampled.h"
#include "span/slab.h"

enum sj_verdict {
    SJ_IS_LIVE,
    SJ_IS_FREED,     /* was handed out once */
    SJ_IS_INTERIOR,  /* inside a slot or live block */
    SJ_IS_UNTOUCHED, /* ours, and never handed out */
    SJ_IS_FOREIGN
};

struct sj_judgement {
    enum sj_verdict verdict;
    struct sj_slab *slab;       /* NULL if it is no slab's */
    struct sj_large *large;     /* NULL if it is no live large block's */
    struct sj_sampled *sampled; /* NULL if it is no sampled block's */
    unsigned slot_index;
    uint32_t account;    /* of a live block, see heap/account.h; 0: none */
    const char *block;   /* start of the slot or block, if known */
    size_t usable_bytes; /* its size, if known */
};

struct sj_judgement sj__judge(const void *pointer);

/* Who asks: the entry point's name and the return address in the program. */
struct sj_asker {
    const char *function;
    const void *caller;
};

/* What a report has to say about a judged pointer; `facts` without the pointer's own. */
struct sj_report_facts sj__judge_facts(const struct sj_judgement *judgement, const void *pointer,
                                       struct sj_asker asker);

/* Reports a pointer whose verdict is not SJ_IS_LIVE. Returns only if the call is to be refused: by onerror=report, or it is
 * foreign and the settings say to ignore that.
 * `freeing`: the program wanted to free it; else to use it. */
void sj__judge_report(const struct sj_judgement *judgement, const void *pointer, struct sj_asker asker, bool freeing);

/* Reports a second free that was found by the bitmaps. Returns if it is to be refused. */
void sj__judge_report_double_free(const struct sj_judgement *judgement, const void *pointer, struct sj_asker asker,
                                  const char *note);

/* Reports that `changed`, behind a block of `usable_bytes`, is not as it was left. */
_Noreturn void sj__judge_report_overrun(const char *block, size_t usable_bytes, const char *changed,
                                        struct sj_asker asker);

/* Checks that a block was allocated with this size and alignment (1: none stated), and reports if not. Returns if the block may
 * be freed: always under onerror=report. */
void sj__judge_size(const struct sj_judgement *judgement, size_t size_bytes, size_t alignment, struct sj_asker asker);

/* Reports a live block that another family of functions made, unless operators have been replaced. Returns if it may be given back:
 * always under onerror=report. It is malloc's from then on. */
void sj__judge_family(const struct sj_judgement *judgement, enum sj_family family, struct sj_asker asker);

/* A new block is of this family, if that is kept of it. */
void sj__judge_mark(const struct sj_judgement *judgement, enum sj_family family);

#endif
