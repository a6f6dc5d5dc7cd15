/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see record.h.
 */
#include "front/record.h"

#include "front/summary.h"
#include "platform/descriptor.h"
#include "platform/process.h"
#include "policy/record.h"
#include "report/status.h"

#include <string.h>

enum { PATH_BYTES = 512 };

static char record_path[PATH_BYTES]; /* the program may change its environment; "" if none is wanted */

static void append(const void *bytes, size_t count)
{
    const int fd = sj__descriptor_open_append(record_path);
    if (fd < 0)
        return;
    (void)sj__descriptor_write(fd, bytes, count);
    sj__descriptor_close(fd);
}

static void fill(struct sj_record *record, enum sj_record_moment moment)
{
    const struct sj_status *status = sj__status_read();
    *record = (struct sj_record){ .magic = SJ_RECORD_MAGIC,
                                  .version = SJ_RECORD_VERSION,
                                  .bytes = sizeof *record,
                                  .moment = moment,
                                  .process = sj__process_id(),
                                  .state = status->state };
    memcpy(record->build_id, status->build_id, sizeof record->build_id);
    memcpy(record->options, status->options, sizeof record->options);
}

void sj__record_start(void)
{
    if (sj__process_is_secure())
        return;
    char buffer[PATH_BYTES];
    const char *path = sj__process_environment(SJ_RECORD_VARIABLE, buffer, sizeof buffer);
    if (path == NULL || strnlen(path, sizeof record_path) == sizeof record_path)
        return;
    memcpy(record_path, path, strlen(path) + 1);
    struct sj_record record;
    fill(&record, SJ_RECORD_STARTED);
    append(&record, sizeof record);
}

void sj__record_at_exit(void)
{
    if (record_path[0] == '\0')
        return;
    struct {
        struct sj_record head;
        struct sj_stats counters;
    } both;
    size_t resident_bytes, peak_bytes;
    fill(&both.head, SJ_RECORD_ENDED);
    sj__process_resident(&resident_bytes, &peak_bytes);
    both.head.peak_rss_bytes = peak_bytes;
    both.head.counters_bytes = sizeof both.counters;
    sj__summary_fill(&both.counters);
    append(&both, sizeof both);
}
