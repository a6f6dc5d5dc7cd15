/* SPDX-License-Identifier: MIT
 *
 * What: finds the file that a command word means and the file that will really run, and judges whether a preloaded
 * library can get into it.
 *
 * Why this way: the loader drops LD_PRELOAD without a word where it can't be obeyed; the user must hear it before, not
 * find out after an attack. The judgement follows the kernel: scripts to their interpreter, `env` to its operand.
 *
 * Invariants: nothing is executed here.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_TOOLS_PROGRAM_H
#define SJ_TOOLS_PROGRAM_H

#include "elf_file.h"

#include <limits.h>

enum { SJ_REASON_BYTES = 512 };

struct sj_program {
    char path[PATH_MAX];       /* the file the command word means */
    char target[PATH_MAX];     /* the file that will run: path, or the interpreter of a script */
    struct sj_elf_facts facts; /* of target */
    bool is_privileged;        /* set-user-id and the like for this user: the loader ignores LD_PRELOAD */
};

/* Finds `word` as execvp does. 0, or errno: ENOENT, EACCES, ... */
int sj__program_find(const char *word, char *path, size_t bytes);

/* Finds and reads a program. 0, or errno, with a line about it in `reason`. */
int sj__program_read(const char *word, struct sj_program *program, char *reason, size_t bytes);

/* Why a library like `library` can't be preloaded into `program`, in `reason`; true if it can. */
bool sj__program_takes_preload(const struct sj_program *program, const struct sj_elf_facts *library, char *reason,
                               size_t bytes);

#endif
