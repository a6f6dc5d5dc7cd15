/* SPDX-License-Identifier: MIT
 *
 * What: what an executable file or a library says about itself.
 *
 * Why this way: whether LD_PRELOAD can work is written in the file; a program that is started without looking would just
 * run unprotected. Only what the verdict needs is read.
 *
 * Invariants: the file is not trusted: every offset is checked against its length. The details below `machine` are
 * for 64-bit files of this machine's byte order only, and false or empty for others.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_TOOLS_ELF_FILE_H
#define SJ_TOOLS_ELF_FILE_H

#include "base/compiler.h"

enum { SJ_INTERPRETER_BYTES = 256 };

struct sj_elf_facts {
    bool is_script; /* begins with #! */
    bool is_elf;
    uint8_t bits;                           /* 32 or 64 */
    uint16_t machine;                       /* EM_X86_64, ... */
    bool is_program;                        /* may be executed: ET_EXEC, or ET_DYN that is a program or a library */
    bool has_loader;                        /* has a PT_INTERP: not static */
    bool is_dynamic;                        /* has a dynamic section */
    bool defines_malloc;                    /* exports a malloc of its own */
    bool needs_scrubjay;                    /* is linked with libscrubjay.so */
    bool needs_glibc;                       /* is linked with libc.so.6 */
    bool holds_status;                      /* has a status block inside: Scrubjay is linked in */
    char interpreter[SJ_INTERPRETER_BYTES]; /* of a script: the words after #!; of a program: its loader */
};

/* Reads a file's facts; false with errno if it cannot be read. */
bool sj__elf_read(const char *path, struct sj_elf_facts *facts);

/* The name of a machine for a message: "x86-64", "AArch64", "machine 243". `buffer` holds the latter. */
const char *sj__elf_machine_name(uint16_t machine, char *buffer, size_t bytes);

/* Finds the status block, of any version, in bytes as they lie in a file or a process; its offset, or SIZE_MAX. One of
 * SJ_STATUS_VERSION is there whole. */
size_t sj__elf_find_status(const unsigned char *bytes, size_t count);

#endif
