/* SPDX-License-Identifier: MIT
 *
 * What: a heap profile in the hands of the command: read from a process or a file, and written for other tools.
 *
 * Why this way: three readers cover what there is: pprof's protobuf (go tool pprof, speedscope, Grafana and others), the text of
 * gperftools (google-pprof, jeprof), and folded stacks (flame graphs). Numbers are the library's estimates; what is left
 * to do here is names.
 *
 * Invariants: what was read is not trusted: counts are bounded before they are used.
 *
 * Concurrency: one thread.
 */
#ifndef SJ_TOOLS_PROFILE_H
#define SJ_TOOLS_PROFILE_H

#include "control.h"
#include "policy/profile.h"

#include <stdio.h>

struct sj_profile_mapping {
    uint64_t start, end, offset;
    uint64_t base; /* where the file is mapped first */
    char *path;
};

struct sj_profile_data {
    struct sj_profile head;
    struct sj_profile_site *sites;
    size_t site_count;
    char *maps; /* the text of /proc/PID/maps */
    struct sj_profile_mapping *mappings;
    size_t mapping_count;
};

/* Which of a site's tallies. */
enum sj_profile_part { SJ_PROFILE_LIVE, SJ_PROFILE_ALLOCATED, SJ_PROFILE_PEAK };

const struct sj_profile_tally *sj__profile_tally(const struct sj_profile_site *site, enum sj_profile_part part);

/* A tally's objects, rounded. */
uint64_t sj__profile_objects(const struct sj_profile_tally *tally);

/* Read a profile. NULL, or a reason why not. */
const char *sj__profile_read_process(const struct sj_remote *remote, struct sj_profile_data *data);
const char *sj__profile_read_file(const char *path, struct sj_profile_data *data);
void sj__profile_free(struct sj_profile_data *data);

/* The mapping of a file that `address` lies in; NULL if there is none. */
const struct sj_profile_mapping *sj__profile_mapping_of(const struct sj_profile_data *data, uint64_t address);

/* Write a profile; false, with errno set, if `out` did not take it. */
bool sj__profile_write_pprof(FILE *out, const struct sj_profile_data *data, enum sj_profile_part part);
bool sj__profile_write_gperftools(FILE *out, const struct sj_profile_data *data, enum sj_profile_part part);
bool sj__profile_write_folded(FILE *out, const struct sj_profile_data *data, enum sj_profile_part part);

/* `scrubjay ctl PID profile ARGUMENT...`; argv[0] is "profile". */
int sj__profile_of_process(const struct sj_remote *remote, int argc, char **argv);

#endif
