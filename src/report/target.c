/* SPDX-License-Identifier: MIT
 *
 * What, why, invariants, concurrency: see target.h.
 */
#include "report/target.h"

#include "platform/descriptor.h"
#include "platform/process.h"

#include <errno.h>

enum { PATH_BYTES = 512, NO_FD = -1 };
#define FORM_PATH "json:"
#define FORM_FD   "json:fd:"

static const char *target = "";          /* in the sealed settings */
static int target_fd = NO_FD;            /* of json:fd:N */
static struct sj_file_identity identity; /* of that descriptor at start, or of the file that was made; zeros: none */
static bool is_cut;                      /* the document written last is not whole */
static char path[PATH_BYTES];

/* What follows `prefix`, or NULL if it is not there. */
static const char *after(const char *text, const char *prefix)
{
    for (; *prefix != '\0'; text++, prefix++)
        if (*text != *prefix)
            return NULL;
    return text;
}

static bool same_file(int fd)
{
    struct sj_file_identity now;
    return identity.inode != 0 && sj__descriptor_identify(fd, &now) && now.device == identity.device &&
           now.inode == identity.inode;
}

void sj__target_start(const char *value)
{
    const char *digits = after(value, FORM_FD);
    target = value;
    if (digits == NULL)
        return;
    target_fd = 0;
    for (; *digits >= '0' && *digits <= '9'; digits++) /* the parser has let a number pass */
        target_fd = target_fd * 10 + (*digits - '0');
    if (!sj__descriptor_identify(target_fd, &identity))
        identity.inode = 0;
}

void sj__target_expand(struct sj_text *text, const char *from)
{
    for (; *from != '\0'; from++) {
        if (from[0] == '%' && from[1] == 'p') {
            sj__format_decimal(text, sj__process_id());
            from++;
        } else {
            sj__format_char(text, *from);
        }
    }
}

/* False if it is too long. */
static bool expand(const char *from)
{
    struct sj_text text;
    sj__format_start(&text, path, sizeof path);
    sj__target_expand(&text, from);
    return !text.truncated;
}

/* Writes the document; behind one that is not whole, on a line of its own. 0 or a negative errno. */
static int write_document(int fd, const char *bytes, size_t count)
{
    int error = is_cut ? sj__descriptor_write(fd, "\n", 1) : 0;
    if (error == 0)
        error = sj__descriptor_write(fd, bytes, count);
    is_cut = error != 0;
    return error;
}

const char *sj__target_reason(int error, const char *otherwise)
{
    switch (error) {
    case -EEXIST: return "a file or link of this name exists";
    case -ENOENT: return "there is no such folder";
    case -EACCES: return "permission denied";
    case -EROFS: return "the file system is read-only";
    case -ENOSPC:
    case -EDQUOT: return "no space is left";
    case -EFBIG: return "the file may not be that large";
    case -EMFILE:
    case -ENFILE: return "too many open files";
    default: return otherwise;
    }
}

/* Opens the file that is to be written; negative errno if it is not to be. */
static int open_file(void)
{
    int fd = sj__descriptor_create(path);
    if (fd >= 0) {
        if (!sj__descriptor_identify(fd, &identity))
            identity.inode = 0;
        return fd;
    }
    if (fd != -EEXIST || identity.inode == 0)
        return fd;
    fd = sj__descriptor_open_append(path);
    if (fd >= 0 && !same_file(fd)) {
        sj__descriptor_close(fd);
        fd = -EEXIST;
    }
    return fd;
}

bool sj__target_write(const char *bytes, size_t count, struct sj_text *reason)
{
    const char *name = after(target, FORM_PATH);
    if (name == NULL)
        return true;
    sj__format_printable(reason, name, PATH_BYTES);
    sj__format_string(reason, ": ");
    if (target_fd != NO_FD && !same_file(target_fd)) {
        sj__format_string(reason, "not open, or not the file it was when the program started");
        return false;
    }
    const int fd = target_fd != NO_FD ? target_fd : expand(name) ? open_file() : -ENAMETOOLONG;
    if (fd < 0) {
        sj__format_string(reason, sj__target_reason(fd, "it can't be made"));
        return false;
    }
    const int error = write_document(fd, bytes, count);
    if (target_fd == NO_FD)
        sj__descriptor_close(fd);
    if (error != 0)
        sj__format_string(reason, sj__target_reason(error, "it did not take all of it"));
    return error == 0;
}
