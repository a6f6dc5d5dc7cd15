/* SPDX-License-Identifier: MIT
 *
 * What: facts about this process that the kernel or the loader knows: environment, privileges, name, exit, thread id.
 *
 * Why this way: the first call may come before libc has set `environ`, and the environment must not be believed in a
 * set-user-id program; both are decided here, once.
 *
 * Invariants: nothing here allocates. errno is preserved.
 *
 * Concurrency: all are safe from any thread.
 */
#ifndef SJ_PLATFORM_PROCESS_H
#define SJ_PLATFORM_PROCESS_H

#include "base/compiler.h"

/* True in a set-user-id, set-group-id or capability-raised program (AT_SECURE). */
bool sj__process_is_secure(void);

/* The value of an environment variable, or NULL. Works before libc has set `environ`: reads `environ` if set, else the
 * vector above __libc_stack_end, else /proc/self/environ into `buffer`. The result may point into `buffer`; a value in
 * the file that does not fit is NULL. Does not look at sj__process_is_secure(): that is the caller's to do. */
const char *sj__process_environment(const char *name, char *buffer, size_t buffer_bytes);

/* Writes the base name of /proc/self/exe, NUL-terminated, without the kernel's " (deleted)"; "" if it can't be read. */
void sj__process_name(char *buffer, size_t bytes);

/* Reads a file whole, NUL-terminates, returns the count or -errno; -EFBIG if it has more than bytes-1 bytes. On failure
 * the buffer is empty. With `trusted_only` the file must be a regular file owned by root and writable by nobody else
 * (fstat on the open descriptor), else -EPERM; and it must be no link (-ELOOP): a link may lead through a folder in
 * which somebody else chooses the file. */
long sj__process_read_file(const char *path, bool trusted_only, char *buffer, size_t bytes);

/* Bytes of RLIMIT_AS, or SIZE_MAX if unlimited. */
size_t sj__process_address_space_limit(void);

/* Resident bytes and peak resident bytes as /proc/self/status has them (VmRSS, VmHWM); 0 if unreadable. */
void sj__process_resident(size_t *now_bytes, size_t *peak_bytes);

/* Resident bytes of the mappings that lie in any of the stretches, as /proc/self/smaps has them (Rss); 0 if unreadable. The
 * kernel looks at every page of the process for it: some milliseconds a GiB. */
struct sj_stretch {
    uintptr_t start, end;
};
size_t sj__process_resident_within(const struct sj_stretch *stretches, unsigned count);

/* The kernel's id of this thread, cached: in a child of a fork call sj__process_forked() first. A child of a raw clone or
 * vfork sees its parent's. */
uint32_t sj__process_thread_id(void);
void sj__process_forked(void);

uint32_t sj__process_id(void);

/* True if the system charges each process for all it has mapped (vm.overcommit_memory=2), touched or not. */
bool sj__process_pays_for_addresses(void);

/* How many CPUs the calling thread may run on now; UINT32_MAX if the system does not tell. */
uint32_t sj__process_cpus(void);

#endif
