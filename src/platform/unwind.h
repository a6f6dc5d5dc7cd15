/* SPDX-License-Identifier: MIT
 *
 * What: one step up a stack: the caller's registers, from a function's own and what the compiler wrote down about it.
 *
 * Why this way: programs are built without frame pointers, so the return addresses have to be found by the tables in
 * .eh_frame. libgcc_s reads them too, but would have to be loaded into every process for it, which allocates; its way to
 * them was a lock before glibc 2.35. What a backtrace needs of the format is small: integer registers, the usual rules, a
 * handful of expressions. doc/adr/0105 has the options.
 *
 * Samples of a profile come from few places: for them the rules found last are remembered, by place and table. Then a step
 * is some 350 instructions, not 2,200. Reports do without, since they must be right even where a file has been unloaded and another,
 * with its table at the same address, has taken its place.
 *
 * Invariants: no word of a stack is read on a page that the kernel has not just said to be readable, so that a stack that
 * is overwritten ends the walk, not the process. Tables are believed: they are read-only pages of loaded files.
 *
 * Concurrency: async-signal-safe. Nobody waits for what is remembered: whoever finds it taken does without.
 */
#ifndef SJ_PLATFORM_UNWIND_H
#define SJ_PLATFORM_UNWIND_H

#include "base/compiler.h"

/* DWARF's numbers on x86-64; on other processors these three are all that is used. */
enum { SJ_UNWIND_FP = 6, SJ_UNWIND_SP = 7, SJ_UNWIND_PC = 16, SJ_UNWIND_REGISTERS = 17 };

struct sj_unwinder {
    uintptr_t at[SJ_UNWIND_REGISTERS];
    uintptr_t page; /* the last page that was found readable */
    bool is_exact;  /* the PC is the instruction that was interrupted, not the one after a call */
    bool remembers; /* rules found before may be used again */
};

/* Is the page at this address readable? Asks the kernel; may set errno. */
bool sj__unwind_is_readable(uintptr_t address);

/* Reads a word of the stack; false if there is none. */
bool sj__unwind_read(struct sj_unwinder *unwinder, uintptr_t address, uintptr_t *value);

/* Goes to the caller. False at the end of the stack, or if nothing is known about this function: then nothing is changed. */
bool sj__unwind_step(struct sj_unwinder *unwinder);

#endif
