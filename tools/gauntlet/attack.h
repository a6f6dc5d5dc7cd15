/* SPDX-License-Identifier: MIT
 *
 * What: an attack, what it tells while it runs, and what attacks share.
 *
 * Why this way: an attack is a function that misuses the heap once, or does everything but that (its twin). It runs in a
 * process of its own, under any malloc, and says in shared memory how far it has come, so that whoever waits for it can tell a
 * process that was stopped at the act from one that was stopped later. An attack that is not stopped must show itself
 * whether it changed anything: it never takes silence for a defence.
 *
 * Invariants: between attack_arm and attack_past there is the misuse and nothing else. What the twin does before and
 * after is the same.
 *
 * Concurrency: an attack may start threads; it joins them.
 */
#ifndef SJ_GAUNTLET_ATTACK_H
#define SJ_GAUNTLET_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attack_result {
    ATTACK_HARMLESS = 10, /* looked: nothing was changed or read that is another's */
    ATTACK_HARM,
    ATTACK_REFUSED, /* the program was told: EFAULT */
    ATTACK_UNABLE   /* the situation could not be made here */
};

enum attack_stage { ATTACK_STAGE_BEFORE, ATTACK_STAGE_ACT, ATTACK_STAGE_AFTER, ATTACK_STAGE_END };

struct attack {
    const char *kind;
    const char *name;
    const char *text; /* what the attacker does, in a phrase */
    enum attack_result (*run)(bool misuse, size_t parameter);
    size_t parameter;
};

/* The tables; each ends with an attack without a name. */
extern const struct attack attack_frees[];
extern const struct attack attack_forgeries[];
extern const struct attack attack_chains[];
extern const struct attack attack_writes[];
extern const struct attack attack_reads[];
extern const struct attack attack_copies[];
extern const struct attack attack_mismatches[];

/* The index-th of all attacks, or NULL. */
const struct attack *attack_at(size_t index);

/* Runs the attack of this index in this process; `descriptor` is the shared memory. Returns the exit status. */
int attack_main(size_t index, bool misuse, int descriptor);

/* Marks where the misuse begins and where it is over. */
void attack_arm(void);
void attack_past(void);

/* Hides from the compiler where a pointer comes from. */
void *attack_hide(const void *pointer);
char *attack_offset(const void *pointer, ptrdiff_t bytes);

/* malloc; ends the process as unable if there is no memory. */
char *attack_new(size_t bytes);

/* A crowd of blocks of one size, each full of its own number: whose bytes change, or who shares an address, shows. */
enum { ATTACK_CROWD_MAX = 512 };
struct attack_crowd {
    char *blocks[ATTACK_CROWD_MAX];
    size_t count;
    size_t bytes; /* of each, usable */
};
void attack_crowd_make(struct attack_crowd *crowd, size_t count, size_t bytes);
/* True if every block but the one numbered `except` still has its own bytes. */
bool attack_crowd_is_whole(const struct attack_crowd *crowd, size_t except);
void attack_crowd_free(struct attack_crowd *crowd, size_t except);

/* True if new blocks of this size overlap one another, or any byte of [start, start + bytes), or are not to be had. */
bool attack_new_blocks_overlap(size_t size, const void *start, size_t bytes);

/* Works the heap as a program goes on to: many sizes, reallocations, frees; what is only found later is found here. */
void attack_go_on(void);

/* Runs a function in a thread and waits for its end. */
void attack_in_thread(void *(*function)(void *), void *argument);

#endif
