/* SPDX-License-Identifier: MIT
 *
 * What: reads a heap profile out of a process or a file; see profile.h.
 *
 * Why this way: a process goes on meanwhile, so it is read again until nothing has changed in between; after some tries what
 * there is will do: each number in it was true at one moment.
 *
 * Invariants, concurrency: see profile.h.
 */
#include "profile.h"

#include "bench/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { TRIES = 20, PATH_LINE = 4096 };
static const char no_memory[] = "there is no memory for it";

static bool is_profile(const struct sj_profile *head)
{
    return memcmp(head->magic, SJ_PROFILE_MAGIC, SJ_PROFILE_MAGIC_BYTES) == 0 && head->version == SJ_PROFILE_VERSION &&
           head->site_bytes == sizeof(struct sj_profile_site) && head->chunk_sites == SJ_PROFILE_CHUNK_SITES &&
           head->sites.value <= SJ_PROFILE_SITES_MAX;
}

static bool read_memory(const struct sj_remote *remote, uint64_t address, void *buffer, size_t bytes)
{
    const struct iovec local = { buffer, bytes };
    const struct iovec there = { (void *)(uintptr_t)address, bytes };
    return process_vm_readv(remote->target.process, &local, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* All that is left of a stream, with a NUL behind it; NULL if there is no memory. */
static char *read_rest(FILE *in)
{
    char *text = NULL;
    size_t room = 0;
    const ssize_t got = in != NULL ? getdelim(&text, &room, '\0', in) : -1;
    if (got < 0) {
        free(text);
        text = calloc(1, 1);
    }
    return text;
}

/* There is room for it. False if there is no memory for its name. */
static bool add_mapping(struct sj_profile_data *data, const char *line, size_t length)
{
    struct sj_profile_mapping *mapping = &data->mappings[data->mapping_count];
    char copy[PATH_LINE];
    int path_at = 0;
    if (length >= sizeof copy)
        return true;
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (sscanf(copy, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %*x:%*x %*u %n", &mapping->start, &mapping->end,
               &mapping->offset, &path_at) < 3 ||
        path_at == 0 || copy[path_at] != '/')
        return true;
    const bool goes_on = data->mapping_count > 0 && strcmp(mapping[-1].path, copy + path_at) == 0;
    mapping->base = goes_on ? mapping[-1].base : mapping->start;
    mapping->path = strdup(copy + path_at);
    data->mapping_count += mapping->path != NULL;
    return mapping->path != NULL;
}

/* What is left to do when all is read. */
static const char *finish(struct sj_profile_data *data)
{
    for (size_t i = 0; i < data->site_count; i++)
        if (data->sites[i].frames_count > SJ_PROFILE_FRAMES)
            data->sites[i].frames_count = SJ_PROFILE_FRAMES;
    size_t lines = 1;
    for (const char *c = data->maps; c != NULL && *c != '\0'; c++)
        lines += *c == '\n';
    data->mappings = calloc(lines, sizeof data->mappings[0]);
    if (data->maps == NULL || data->mappings == NULL)
        return no_memory;
    for (char *line = data->maps; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        const char end = line[length];
        line[length] = '\0';
        (void)bench_tame(line); /* names of files are anybody's, and `--output -` is a terminal */
        line[length] = end;
        if (!add_mapping(data, line, length))
            return no_memory;
        line += length + (line[length] == '\n');
    }
    return NULL;
}

static bool read_once(const struct sj_remote *remote, struct sj_profile_data *data)
{
    const uint64_t address = remote->control.profile;
    if (!read_memory(remote, address, &data->head, sizeof data->head) || !is_profile(&data->head))
        return false;
    data->site_count = data->head.sites.value;
    for (size_t i = 0; i < data->site_count; i += SJ_PROFILE_CHUNK_SITES) {
        const size_t left = data->site_count - i;
        const size_t count = left < SJ_PROFILE_CHUNK_SITES ? left : SJ_PROFILE_CHUNK_SITES;
        if (!read_memory(remote, data->head.chunks[i / SJ_PROFILE_CHUNK_SITES], &data->sites[i],
                         count * sizeof data->sites[0]))
            return false;
    }
    return true;
}

const char *sj__profile_read_process(const struct sj_remote *remote, struct sj_profile_data *data)
{
    char path[64];
    *data = (struct sj_profile_data){ 0 };
    if (remote->control.profile == 0)
        return "it keeps no profile: start it with profile=on";
    data->sites = calloc(SJ_PROFILE_SITES_MAX, sizeof data->sites[0]);
    if (data->sites == NULL)
        return no_memory;
    for (unsigned try = 0; try < TRIES; try++) {
        struct sj_profile after;
        if (!read_once(remote, data) || !read_memory(remote, remote->control.profile, &after, sizeof after))
            return "its profile can't be read";
        if (data->head.changes.value % 2 == 0 && after.changes.value == data->head.changes.value)
            break;
    }
    data->head.process = (uint64_t)remote->target.process;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)remote->target.process);
    FILE *in = fopen(path, "re");
    data->maps = read_rest(in);
    if (in != NULL)
        fclose(in);
    return finish(data);
}

const char *sj__profile_read_file(const char *path, struct sj_profile_data *data)
{
    const char *reason = NULL;
    *data = (struct sj_profile_data){ 0 };
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return strerror(errno);
    if (fread(&data->head, sizeof data->head, 1, in) != 1 || !is_profile(&data->head)) {
        reason = "it is no profile that profile_dump has written, or one of another version";
    } else {
        data->site_count = data->head.sites.value;
        data->sites = calloc(data->site_count + 1, sizeof data->sites[0]);
        if (data->sites == NULL)
            reason = no_memory;
        else if (fread(data->sites, sizeof data->sites[0], data->site_count, in) != data->site_count)
            reason = "it ends in the middle of the profile";
    }
    data->maps = reason == NULL ? read_rest(in) : NULL;
    fclose(in);
    return reason != NULL ? reason : finish(data);
}

void sj__profile_free(struct sj_profile_data *data)
{
    for (size_t i = 0; i < data->mapping_count; i++)
        free(data->mappings[i].path);
    free(data->mappings);
    free(data->sites);
    free(data->maps);
}

const struct sj_profile_mapping *sj__profile_mapping_of(const struct sj_profile_data *data, uint64_t address)
{
    for (size_t i = 0; i < data->mapping_count; i++)
        if (address >= data->mappings[i].start && address < data->mappings[i].end)
            return &data->mappings[i];
    return NULL;
}

const struct sj_profile_tally *sj__profile_tally(const struct sj_profile_site *site, enum sj_profile_part part)
{
    switch (part) {
    case SJ_PROFILE_ALLOCATED: return &site->allocated;
    case SJ_PROFILE_PEAK: return &site->peak;
    case SJ_PROFILE_LIVE: break;
    }
    return &site->live;
}

uint64_t sj__profile_objects(const struct sj_profile_tally *tally)
{
    const uint64_t one = (uint64_t)1 << SJ_PROFILE_OBJECT_SHIFT;
    return (tally->objects + one / 2) / one;
}
