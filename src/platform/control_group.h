/* SPDX-License-Identifier: MIT
 *
 * What: how much memory the control groups of this process allow.
 *
 * Why this way: a container's limit is nowhere else to be had, and the kernel ends a process that goes beyond it. Both versions
 * of the kernel's interface are in use; a machine mounts one of them, or the first with an empty second beside it.
 *
 * Invariants: what can't be read allows everything.
 *
 * Concurrency: none; called once at start. Allocates nothing.
 */
#ifndef SJ_PLATFORM_CONTROL_GROUP_H
#define SJ_PLATFORM_CONTROL_GROUP_H

#include "base/compiler.h"

/* Bytes of memory that the process may have: the least limit of its own group and those above it, up to the root. Version 2:
 * memory.max and memory.high; version 1: memory.limit_in_bytes. SIZE_MAX if there is none. `mount` is where the groups are
 * ("/sys/fs/cgroup"), `groups` tells which are ours ("/proc/self/cgroup"). */
size_t sj__control_group_memory(const char *mount, const char *groups);

#endif
