/* SPDX-License-Identifier: MIT
 *
 * What: which file a command runs, and whether a preloaded library can get into it; see program.h.
 *
 * Why this way: see program.h. A text without #! is run by /bin/sh, as execvp does it.
 *
 * Invariants: at most SCRIPT_DEPTH_MAX interpreters are followed, as many as the kernel follows.
 *
 * Concurrency: one thread.
 */
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SCRIPT_DEPTH_MAX = 5 };

/* 0 if `path` is a file this user may execute. */
static int judge_file(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

int sj__program_find(const char *word, char *path, size_t bytes)
{
    if (strchr(word, '/') != NULL) {
        snprintf(path, bytes, "%s", word);
        return judge_file(word);
    }
    const char *directories = getenv("PATH");
    int error = ENOENT;
    if (directories == NULL)
        directories = "/bin:/usr/bin";
    while (word[0] != '\0') {
        const size_t length = strcspn(directories, ":");
        snprintf(path, bytes, "%.*s%s%s", (int)length, directories, length > 0 ? "/" : "", word);
        const int found = judge_file(path);
        if (found == 0)
            return 0;
        if (found == EACCES)
            error = EACCES;
        if (directories[length] == '\0')
            break;
        directories += length + 1;
    }
    return error;
}

/* The kernel's own rule, as far as it can be seen from here. */
static bool is_privileged(const char *path)
{
    struct stat status;
    struct statvfs mount;
    if (stat(path, &status) != 0 || (statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0))
        return false;
    if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid())
        return true;
    if ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status.st_gid != getgid())
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* The program that `env` will start: the first word after it that is neither an option nor an assignment. */
static bool env_operand(char *words, char *path, size_t bytes)
{
    char *rest = NULL;
    for (char *word = strtok_r(words, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest)) {
        if (word[0] != '-' && strchr(word, '=') == NULL)
            return sj__program_find(word, path, bytes) == 0;
    }
    return false;
}

/* One step from a script to what runs it. */
static void follow_script(struct sj_program *program)
{
    char words[SJ_INTERPRETER_BYTES];
    memcpy(words, program->facts.interpreter, sizeof words);
    const size_t length = strcspn(words, " \t");
    char *arguments = words[length] == '\0' ? words + length : words + length + 1;
    words[length] = '\0';
    const char *base = strrchr(words, '/');
    if (base != NULL && strcmp(base, "/env") == 0 && env_operand(arguments, program->target, sizeof program->target))
        return;
    snprintf(program->target, sizeof program->target, "%s", words);
}

static void describe_failure(const char *word, int error, char *reason, size_t bytes)
{
    if (error == ENOENT && strchr(word, '/') == NULL)
        snprintf(reason, bytes, "%s: not found in PATH", word);
    else
        snprintf(reason, bytes, "%s: %s", word, error == EACCES ? "not an executable file" : strerror(error));
}

int sj__program_read(const char *word, struct sj_program *program, char *reason, size_t bytes)
{
    *program = (struct sj_program){ 0 };
    int error = sj__program_find(word, program->path, sizeof program->path);
    if (error != 0) {
        describe_failure(word, error, reason, bytes);
        return error;
    }
    memcpy(program->target, program->path, sizeof program->target);
    for (unsigned depth = 0; depth < SCRIPT_DEPTH_MAX; depth++) {
        if (!sj__elf_read(program->target, &program->facts)) {
            error = errno;
            if (depth == 0)
                snprintf(reason, bytes, "%s: %s", program->target, strerror(error));
            else
                snprintf(reason, bytes, "%s: its interpreter %s: %s", program->path, program->target, strerror(error));
            return error;
        }
        if (program->facts.is_script)
            follow_script(program);
        else if (!program->facts.is_elf && depth == 0)
            snprintf(program->target, sizeof program->target, "/bin/sh");
        else
            break;
    }
    program->is_privileged = is_privileged(program->target);
    return 0;
}

/* musl's loader can't load a library made for glibc, nor the other way round. */
static bool other_libc(const struct sj_elf_facts *program, const struct sj_elf_facts *library)
{
    const bool program_is_musl = strstr(program->interpreter, "ld-musl") != NULL;
    return program_is_musl == library->needs_glibc;
}

bool sj__program_takes_preload(const struct sj_program *program, const struct sj_elf_facts *library, char *reason,
                               size_t bytes)
{
    char program_machine[32], library_machine[32];
    const struct sj_elf_facts *facts = &program->facts;
    if (!facts->is_elf || !facts->is_program) {
        snprintf(reason, bytes, "%s is neither a program nor a script", program->target);
    } else if (facts->machine != library->machine || facts->bits != library->bits) {
        snprintf(reason, bytes, "%s is a %u-bit program for %s, the library is %u-bit for %s", program->target,
                 facts->bits, sj__elf_machine_name(facts->machine, program_machine, sizeof program_machine),
                 library->bits, sj__elf_machine_name(library->machine, library_machine, sizeof library_machine));
    } else if (!facts->has_loader) {
        snprintf(reason, bytes,
                 "%s is static: no loader runs, so nothing can be preloaded; link it with libscrubjay.a instead",
                 program->target);
    } else if (program->is_privileged) {
        snprintf(reason, bytes,
                 "%s is set-user-id (or set-group-id, or has capabilities): the loader ignores LD_PRELOAD there; name "
                 "the library in /etc/ld.so.preload or link the program with it, and set options in "
                 "/etc/scrubjay.conf",
                 program->target);
    } else if (other_libc(facts, library)) {
        snprintf(reason, bytes, "%s and the library are made for different C libraries (glibc, musl)", program->target);
    } else {
        return true;
    }
    return false;
}
