/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see profile_dump.h.
 */
#include "front/profile_dump.h"

#include "front/entry.h"
#include "heap/profile.h"
#include "platform/descriptor.h"
#include "platform/process.h"
#include "report/report.h"
#include "report/target.h"

#include <errno.h>
#include <string.h>

enum { PATH_BYTES = 512, BUFFER_BYTES = 4096 };

static int write_maps(int fd)
{
    char buffer[BUFFER_BYTES];
    const int maps = sj__descriptor_open("/proc/self/maps");
    int error = maps < 0 ? maps : 0;
    for (long got; error == 0 && (got = sj__descriptor_read(maps, buffer, sizeof buffer)) > 0;)
        error = sj__descriptor_write(fd, buffer, (size_t)got);
    if (maps >= 0)
        sj__descriptor_close(maps);
    return error;
}

static int write_profile(int fd)
{
    struct sj_profile head = sj__profile;
    size_t left = sj_load_relaxed_u32(&head.sites);
    memset(head.chunks, 0, sizeof head.chunks);
    head.process = sj__process_id();
    int error = sj__descriptor_write(fd, (const char *)&head, sizeof head);
    for (size_t i = 0; error == 0 && left > 0; i++) {
        const size_t count = left < SJ_PROFILE_CHUNK_SITES ? left : SJ_PROFILE_CHUNK_SITES;
        error = sj__descriptor_write(fd, (const char *)(uintptr_t)sj__profile.chunks[i],
                                     count * sizeof(struct sj_profile_site));
        left -= count;
    }
    return error != 0 ? error : write_maps(fd);
}

void sj__profile_dump_at_exit(void)
{
    const char *target = sj__sealed.settings.profile_dump;
    char path[PATH_BYTES];
    struct sj_text text;
    if (target[0] == '\0')
        return;
    sj__format_start(&text, path, sizeof path);
    sj__target_expand(&text, target + strlen("file:"));
    const int fd = text.truncated ? -ENAMETOOLONG : sj__descriptor_create(path);
    const int error = fd < 0 ? fd : write_profile(fd);
    if (fd >= 0)
        sj__descriptor_close(fd);
    if (error != 0)
        sj__report_warn("profile_dump not written: ", sj__target_reason(error, "the file can't be made or written"));
}
