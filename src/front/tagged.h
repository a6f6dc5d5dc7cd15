/* SPDX-License-Identifier: MIT
 *
 * What: the door between the program's pointers, which have tags with tag=async and tag=sync, and the allocator, which goes by
 * addresses.
 *
 * Why this way: a table of functions before the one of the level in force. Each has the processor look away, takes the tag off
 * what comes in, calls the level's function, and tags what goes out. So the variants, the slow paths and all below them are the
 * same with tags and without, and a process without them does not come by here. Blocks are looked up as reports
 * look them up: that is dearer than it need be, and never wrong.
 *
 * A slot's colour decides which tags it may have, and neighbours have different colours, so an access that runs over
 * from one block into the next always faults. At free a slot gets another tag of its colour, which the next block there keeps.
 * So an old pointer never fits before the slot has been freed once more. Of large blocks up to SJ_TAGGED_MAX_BYTES all memory is tagged;
 * larger ones have the tag 0, since a tag would touch every page, and stand between guard pages, and are trapped when freed.
 *
 * Invariants: what the program has, has its pointer's tag from start to end, rounded up to 16 bytes; the rest of the slot
 * has 0. Calls from within the library (the processor looks away already) are not judged by their pointers' tags.
 *
 * Concurrency: any thread; a signal handler begins with the processor looking again.
 */
#ifndef SJ_FRONT_TAGGED_H
#define SJ_FRONT_TAGGED_H

#include "front/entry.h"
#include "front/judge.h"
#include "platform/tags.h"

enum { SJ_TAGGED_MAX_BYTES = 1 << 20 };

extern const struct sj_dispatch sj__tagged_table;

/* Does what the option asks for, as far as the machine can; before the window is opened. */
void sj__tagged_start(struct sj_settings *settings);

/* The table that has the level in force: the one behind this if there are tags. */
struct sj_dispatch *sj__tagged_level_table(void);

/* The return address in the program of the call that is being served; else `caller`. */
const void *sj__tagged_caller(const void *caller);

/* Tags a live block that the program is about to get. NULL stays NULL. */
void *sj__tagged_hand_out(void *block);

/* A block that the program wants to free (then it gets another tag), or to use: its address. NULL: the report was refused. */
void *sj__tagged_admit(void *block, bool freeing, struct sj_asker asker);

/* A live block, by its address, that is about to be freed by the library itself: as sj__tagged_admit. */
void sj__tagged_retire(const void *block);

/* A block from before and after its resize: `before` was judged then. Returns what the program gets. `cleared`: what was copied to
 * came through sj__tagged_hand_out. */
void *sj__tagged_resized(const struct sj_judgement *before, unsigned tag, void *after, bool cleared);

/* In front of what returns an address in the program, and for the rooms that serve the program without the table. */
SJ_ALWAYS_INLINE const void *sj_tagged_caller(const void *caller)
{
    return sj_tags_are_on() ? sj__tagged_caller(caller) : caller;
}

SJ_ALWAYS_INLINE void *sj_tagged_hand_out(void *block)
{
    return sj_tags_are_on() ? sj__tagged_hand_out(block) : block;
}

SJ_ALWAYS_INLINE void *sj_tagged_admit(void *block, bool freeing, struct sj_asker asker)
{
    return sj_tags_are_on() ? sj__tagged_admit(block, freeing, asker) : block;
}

#endif
