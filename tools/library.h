/* SPDX-License-Identifier: MIT
 *
 * What: finds libscrubjay.so and puts it, and options, into an environment.
 *
 * Why this way: a build tree and an installed one both work without configuration: the library is looked for from where
 * the command itself lies.
 *
 * Invariants: what LD_PRELOAD and SCRUBJAY_OPTIONS held is kept: the library goes in front, the options behind, where
 * they win.
 *
 * Concurrency: one thread; the environment of this process is changed.
 */
#ifndef SJ_TOOLS_LIBRARY_H
#define SJ_TOOLS_LIBRARY_H

#include "elf_file.h"

/* What the user asked for; `run` and `verify --run` share it. */
struct sj_launch {
    const char *library; /* --lib, or NULL */
    const char *level;   /* --level, or NULL */
    const char *options; /* -o, or NULL; several are joined by commas */
};

/* Finds the library and reads its facts; says why not, and returns false, if there is none that can be preloaded. */
bool sj__library_find(const struct sj_launch *launch, char *path, size_t bytes, struct sj_elf_facts *facts);

/* Checks --level and -o; says what is wrong with them, and returns false, if something is. */
bool sj__library_check_options(const struct sj_launch *launch);

/* Sets LD_PRELOAD and SCRUBJAY_OPTIONS; false with a message if memory is out. */
bool sj__library_set_environment(const char *path, const struct sj_launch *launch);

/* Adds the options of one more -o. */
bool sj__library_add_options(struct sj_launch *launch, const char *options);

#endif
