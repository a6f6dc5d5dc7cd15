/* SPDX-License-Identifier: MIT
 *
 * What: the heap profile as it lies in memory, and in the file that profile_dump names.
 *
 * Why this way: the process only counts; another process, or the command that reads the file, knows names and formats. What a
 * sample stands for is added up where it is taken, so a reader needs no statistics. doc/control-block.md is for those who
 * write another reader.
 *
 * Invariants: the layout of a version never changes. Sites are only added; the first one, without frames, has what found no
 * place in the table, so that sums stay right. While `changes` is odd something is being written.
 *
 * Concurrency: written under a lock; readers in other processes look at `changes` before and after.
 */
#ifndef SJ_POLICY_PROFILE_H
#define SJ_POLICY_PROFILE_H

#include "base/atomic.h"

#define SJ_PROFILE_MAGIC "scrubjay profile" /* 16 bytes, without its NUL */

enum {
    SJ_PROFILE_VERSION = 1,
    SJ_PROFILE_MAGIC_BYTES = 16,
    SJ_PROFILE_FRAMES = 47,
    SJ_PROFILE_CHUNK_SITES = 128,
    SJ_PROFILE_CHUNKS = 64,
    SJ_PROFILE_SITES_MAX = SJ_PROFILE_CHUNK_SITES * SJ_PROFILE_CHUNKS,
    SJ_PROFILE_OBJECT_SHIFT = 16
};

/* What samples stand for: estimates without bias. */
struct sj_profile_tally {
    uint64_t bytes;   /* as asked for */
    uint64_t objects; /* times 2^SJ_PROFILE_OBJECT_SHIFT */
};

/* A stack that samples were allocated from. */
struct sj_profile_site {
    uint64_t hash;
    uint32_t frames_count;
    uint32_t samples;
    struct sj_profile_tally allocated; /* since the start */
    struct sj_profile_tally live;
    struct sj_profile_tally peak;       /* live, when all together were most */
    uint64_t frames[SJ_PROFILE_FRAMES]; /* return addresses, the innermost first */
};

struct sj_profile {
    char magic[SJ_PROFILE_MAGIC_BYTES];
    uint32_t version; /* SJ_PROFILE_VERSION */
    uint32_t bytes;   /* sizeof(struct sj_profile) */
    uint64_t self;    /* the address of this in its process */
    uint64_t process;
    uint64_t rate_bytes; /* a byte in so many is sampled, on the average */
    uint32_t site_bytes;
    uint32_t chunk_sites;
    struct sj_atomic_u32 sites; /* used */
    struct sj_atomic_u32 changes;
    uint64_t live_samples;
    uint64_t lost_stacks; /* samples without a site of their own: there were too many */
    uint64_t lost_blocks; /* samples that were not followed to their free, and do not count as live: too many lived */
    struct sj_profile_tally allocated;
    struct sj_profile_tally live;
    struct sj_profile_tally peak;
    uint64_t chunks[SJ_PROFILE_CHUNKS]; /* addresses of `chunk_sites` sites each; in a file 0: the sites follow */
};

#endif
