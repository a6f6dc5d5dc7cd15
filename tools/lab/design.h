/* SPDX-License-Identifier: MIT
 *
 * What: the design of a session: the order of the arms in each block, and how many blocks are run.
 *
 * Why this way: a block is a random permutation of the arms followed by its reverse, so within it each arm stands before
 * and after each other one equally often and a steady drift cancels. With two arms that is ABBA or BAAB. The number of
 * blocks is fixed before the first measured one: looking and stopping when it looks good has 17 % false alarms.
 *
 * Invariants: a block names each arm once in its first half and once in its second; the plan never asks for fewer than
 * the given least number of blocks by itself.
 *
 * Concurrency: the generator is the caller's.
 */
#ifndef SJ_LAB_DESIGN_H
#define SJ_LAB_DESIGN_H

#include <stddef.h>

#include "lab/random.h"

enum { LAB_BLOCKS_MIN = 10, LAB_BLOCKS_MAX = 2000 };

/* Fills order[0 ... 2 * arms - 1] with arm numbers. */
void lab_design_block(struct lab_random *random, size_t arms, size_t *order);

struct lab_plan_facts {
    double spread;         /* of the log ratio of a block, from the warm-up */
    double freedom;        /* number of values that spread comes from */
    double wanted_effect;  /* log units: seeing this is enough; no more blocks are run than it takes */
    double block_seconds;  /* duration of one block */
    double budget_seconds; /* for all blocks */
    size_t asked_blocks;   /* 0, or what the user fixed */
    size_t least_blocks;   /* at least LAB_BLOCKS_MIN is taken */
    double confidence;
};

struct lab_plan {
    size_t blocks;
    double visible_effect; /* log units: the smallest effect these blocks would show with 80 % power */
    int over_budget;       /* the least number of blocks takes longer than the budget */
};

struct lab_plan lab_plan_session(const struct lab_plan_facts *facts);

#endif
