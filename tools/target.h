/* SPDX-License-Identifier: MIT
 *
 * What: another process, looked at from outside: its mappings, its environment, and the status block in it.
 *
 * Why this way: all by the kernel's own permission check (the one that guards ptrace); nothing happens in the target.
 *
 * Invariants: what is read is not trusted: texts, names of files too, are cut at their field's end and made printable ASCII.
 *
 * Concurrency: the target may change or end at any time; then reading fails.
 */
#ifndef SJ_TOOLS_TARGET_H
#define SJ_TOOLS_TARGET_H

#include "policy/status.h"

#include <limits.h>
#include <sys/types.h>

struct sj_target {
    pid_t process;
    char program[PATH_MAX];      /* what /proc/PID/exe names */
    bool found;                  /* a status block was found */
    struct sj_status status;     /* a copy of it; of another version only what is before `state` means anything */
    char holder[PATH_MAX];       /* the file whose data holds it */
    bool is_replaced;            /* that file has been deleted or replaced since */
    bool is_privileged;          /* the kernel gave it AT_SECURE */
    char preload[PATH_MAX];      /* its LD_PRELOAD when it started; "" if it had none */
    char other_malloc[PATH_MAX]; /* a mapped file, neither the libc nor ours, that exports a malloc; "" if none */
};

/* "1234" and nothing else; 0 if it is no process id. */
pid_t sj__target_parse(const char *word);

/* Looks at a process; 0, or errno: ESRCH no such process, EACCES or EPERM not allowed. */
int sj__target_read(pid_t process, struct sj_target *target);

#endif
