/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see stats_out.h.
 */
#include "front/stats_out.h"

#include "front/entry.h"
#include "front/summary.h"
#include "platform/descriptor.h"
#include "platform/lock.h"
#include "platform/process.h"
#include "report/report.h"
#include "report/target.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { DOCUMENT_BYTES = 1 << 16, PATH_BYTES = 512, REASON_BYTES = PATH_BYTES + 64, PATIENCE_MS = 100 };

static struct sj_lock file_lock; /* unranked: it is only tried */
static char document[DOCUMENT_BYTES];
static bool has_warned;

/* What follows the form in the option, and the form; NULL if it names no file. */
static const char *path_of(const char *stats, enum sj_form *form)
{
    static const struct {
        const char *prefix;
        enum sj_form form;
    } forms[] = { { "file:", SJ_FORM_TEXT }, { "json:", SJ_FORM_JSON }, { "openmetrics:", SJ_FORM_OPENMETRICS } };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t length = strlen(forms[i].prefix);
        if (strncmp(stats, forms[i].prefix, length) != 0)
            continue;
        *form = forms[i].form;
        return stats + length;
    }
    return NULL;
}

static void write_text(struct sj_writer *writer, enum sj_form form, char *buffer, size_t bytes, bool with_resident)
{
    sj__writer_start(writer, form, buffer, bytes, NULL);
    sj__summary_write(writer, with_resident);
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static void warn_once(const char *path, int error)
{
    char reason[REASON_BYTES];
    struct sj_text text;
    if (has_warned)
        return;
    has_warned = true;
    sj__format_start(&text, reason, sizeof reason);
    sj__format_char(&text, ' ');
    sj__format_printable(&text, path, PATH_BYTES);
    sj__format_string(&text, ": ");
    sj__format_string(&text, sj__target_reason(error, "it can't be made, or did not take all of it"));
    sj__report_warn("stats not written:", reason);
}

/* Makes the file beside the path. One that is left over from a process of the same number that was killed goes. */
static int create(const char *path)
{
    int fd = sj__descriptor_create_for_all(path);
    if (fd != -EEXIST)
        return fd;
    sj__descriptor_unlink(path);
    return sj__descriptor_create_for_all(path);
}

static int write_beside(const char *path, const struct sj_text *text)
{
    int fd = create(path);
    if (fd < 0)
        return fd;
    int error = sj__descriptor_write(fd, text->start, text->length);
    sj__descriptor_close(fd);
    return error;
}

/* Under the lock. */
static void write_file(const char *pattern, enum sj_form form, bool with_resident)
{
    static char path[PATH_BYTES], beside[PATH_BYTES];
    struct sj_writer writer;
    struct sj_text text;
    write_text(&writer, form, document, sizeof document, with_resident);
    sj__format_start(&text, path, sizeof path);
    sj__target_expand(&text, pattern);
    sj__format_start(&text, beside, sizeof beside);
    sj__format_string(&text, path);
    sj__format_char(&text, '.');
    sj__format_decimal(&text, sj__process_id());
    sj__format_string(&text, ".tmp");
    int error = text.truncated || writer.text.truncated ? -ENAMETOOLONG : write_beside(beside, &writer.text);
    if (error == 0)
        error = sj__descriptor_rename(beside, path);
    if (error == 0)
        return;
    sj__descriptor_unlink(beside);
    warn_once(path, error);
}

void sj__stats_out_start(const struct sj_settings *settings)
{
    enum sj_form form;
    if (settings->stats_ms == 0 || path_of(settings->stats, &form) == NULL)
        return;
    uint64_t due_ms = sj__clock_ms() + settings->stats_ms;
    sj_store_relaxed_u64(&sj__release_alarm_ms, due_ms);
    sj__release_lower_due(due_ms);
}

void sj__stats_out_write(void)
{
    enum sj_form form;
    const char *pattern = path_of(sj__sealed.settings.stats, &form);
    sj__stats_out_start(&sj__sealed.settings); /* when it is due next, whatever comes of this */
    if (pattern == NULL || !sj__try_lock(&file_lock))
        return;
    write_file(pattern, form, false);
    sj__unlock(&file_lock);
}

/* ---- At exit, and on request ------------------------------------------------------------------------------------- */

void sj__stats_out_at_exit(void)
{
    enum sj_form form = strcmp(sj__sealed.settings.stats, "json") == 0 ? SJ_FORM_JSON : SJ_FORM_TEXT;
    const char *pattern = path_of(sj__sealed.settings.stats, &form);
    unsigned patience_ms = PATIENCE_MS;
    struct sj_writer writer;
    if (sj__sealed.settings.stats[0] == '\0' || !sj__lock_in_time(&file_lock, &patience_ms))
        return;
    if (pattern != NULL) {
        write_file(pattern, form, true);
    } else {
        write_text(&writer, form, document, sizeof document, true);
        sj__report_write(writer.text.start, writer.text.length);
    }
    sj__unlock(&file_lock);
}

void sj__stats_out_print(void)
{
    struct sj_writer writer;
    unsigned patience_ms = PATIENCE_MS;
    if (!sj__lock_in_time(&file_lock, &patience_ms))
        return;
    write_text(&writer, SJ_FORM_TEXT, document, sizeof document, true);
    (void)sj__descriptor_write(STDERR_FILENO, writer.text.start, writer.text.length);
    sj__unlock(&file_lock);
}
