/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see profile_dump.h.
 */
#include "front/profile_dump.h"

#include "front/entry.h"
#include "heap/heap.h"
#include "heap/profile.h"
#include "platform/descriptor.h"
#include "platform/lock.h"
#include "platform/process.h"
#include "platform/thread.h"
#include "report/report.h"
#include "report/target.h"

#include <errno.h>
#include <string.h>

enum { PATH_BYTES = 512, BUFFER_BYTES = 4096, PATIENCE_MS = 100 };

static struct sj_lock dump_lock;    /* unranked: it is only tried */
static struct sj_file_identity own; /* of the file written last */
static uint32_t own_process;        /* that wrote it */
static bool failed;                 /* it has been said */

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

static int create(const char *path)
{
    const int fd = sj__descriptor_create(path);
    if (fd < 0)
        return fd;
    const int error = write_profile(fd);
    if (!sj__descriptor_identify(fd, &own))
        own.inode = 0;
    sj__descriptor_close(fd);
    return error;
}

/* Is the file still the one that this process has written? 0, or a negative errno; -ENOENT if there is none any more. */
static int check_own(const char *path)
{
    struct sj_file_identity now;
    const int fd = sj__descriptor_open_append(path);
    if (fd < 0)
        return fd;
    const bool is_own = sj__descriptor_identify(fd, &now) && now.device == own.device && now.inode == own.inode;
    sj__descriptor_close(fd);
    return is_own ? 0 : -EEXIST;
}

/* Writes a file beside the path, whole, and then gives it the name: who is killed meanwhile leaves no half of one there. A first
 * one takes no other's place. */
static int put(const char *path, bool is_first)
{
    char beside[PATH_BYTES];
    struct sj_text text;
    sj__format_start(&text, beside, sizeof beside);
    sj__format_string(&text, path);
    sj__format_char(&text, '.');
    sj__format_decimal(&text, sj__process_id());
    sj__format_string(&text, ".tmp");
    if (text.truncated)
        return -ENAMETOOLONG;
    int error = create(beside);
    if (error == -EEXIST) { /* left by a process of this number that was killed */
        sj__descriptor_unlink(beside);
        error = create(beside);
    }
    if (error == 0)
        error = is_first ? sj__descriptor_rename_new(beside, path) : sj__descriptor_rename(beside, path);
    if (error != 0)
        sj__descriptor_unlink(beside);
    return error == -EINVAL && is_first ? create(path) : error; /* a file system that can't give a name so */
}

/* Under the lock. After a failure there is no second. */
static void write_dump(void)
{
    char path[PATH_BYTES];
    struct sj_text text;
    if (failed)
        return;
    sj__format_start(&text, path, sizeof path);
    sj__target_expand(&text, sj__sealed.settings.profile_dump + strlen("file:"));
    int error = own_process == sj__process_id() ? check_own(path) : -ENOENT;
    if (text.truncated)
        error = -ENAMETOOLONG;
    else if (error == 0)
        error = put(path, false);
    else if (error == -ENOENT)
        error = put(path, true);
    own_process = sj__process_id();
    failed = error != 0;
    if (failed)
        sj__report_warn("profile_dump not written: ", sj__target_reason(error, "the file can't be made or written"));
}

/* Another thread may just be writing it; then this peak is left out. */
static void dump_at_peak(void)
{
    if (sj__sealed.settings.profile_dump[0] == '\0' || sj__heap_inside != SJ_OUTSIDE || !sj__try_lock(&dump_lock))
        return;
    write_dump();
    sj__unlock(&dump_lock);
}

void sj__profile_sample(const void *block, size_t size_bytes, size_t chance_bytes, const void *caller)
{
    if (sj_unlikely(sj__profile_note_malloc(block, size_bytes, chance_bytes, caller)))
        dump_at_peak();
}

void sj__profile_dump_at_exit(void)
{
    if (sj__sealed.settings.profile_dump[0] == '\0')
        return;
    for (unsigned turn = 0; !sj__try_lock(&dump_lock); turn++)
        if (turn == PATIENCE_MS || !sj__thread_sleep(1))
            return;
    write_dump();
    sj__unlock(&dump_lock);
}
